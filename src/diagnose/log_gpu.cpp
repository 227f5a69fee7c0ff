#include "diagnose/log_gpu.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {

std::optional<ToldDriver> told_driver(const Machine& machine) {
  if (const auto* header = first_event(machine, "smi.header"))
    return ToldDriver{value_of(*header, "driver"), header};
  for (const auto* row : events_of(machine, "smi.row"))
    if (const auto version = value_of(*row, "driver_version"); !version.empty())
      return ToldDriver{version, row};
  if (const auto* event = event_with(machine, "smi.q", "key", "Driver Version"))
    return ToldDriver{value_of(*event, "value"), event};
  if (const auto* event = last_event(machine, "kernel.module-loaded"))
    return ToldDriver{value_of(*event, "version"), event};
  return std::nullopt;
}

std::vector<PciGpu> told_gpus(const Machine& machine) {
  std::vector<PciGpu> found;
  for (const auto& event : machine.events) {
    if (event.id != "pci.device" && event.id != "kernel.named-gpu") continue;
    PciGpu gpu;
    gpu.address = lower(value_of(event, "address"));
    gpu.device_id = lower(value_of(event, "device"));
    if (gpu.device_id.empty()) continue;
    const bool known = std::any_of(found.begin(), found.end(), [&](const PciGpu& other) {
      return other.address == gpu.address;
    });
    if (!known) found.push_back(std::move(gpu));
  }
  return found;
}

std::string told_gpu_name(const Machine& machine, const Catalog& catalog) {
  if (const auto* device = first_event(machine, "pci.device"))
    return value_of(*device, "name") + " at " + value_of(*device, "address");
  for (const auto& gpu : told_gpus(machine)) {
    const auto model = catalog.gpu(gpu.device_id);
    return (model && !model->name.empty() ? model->name : "10de:" + gpu.device_id) + " at " +
           gpu.address;
  }
  for (const auto& event : machine.events) {
    const auto name = value_of(event, "name");
    if ((event.id == "smi.gpu" || event.id == "smi.list" || event.id == "kernel.legacy-gpu" ||
         event.id == "smi.row") &&
        !name.empty())
      return name;
  }
  return "the GPU";
}

const Event* wsl_event(const Machine& machine) {
  for (const auto* event : events_of(machine, "host.kernel"))
    if (lower(value_of(*event, "release")).find("microsoft") != std::string::npos) return event;
  for (const auto* id : {"wsl.blocked", "wsl.no-adapter"})
    if (const auto* event = first_event(machine, id)) return event;
  return event_saying(machine, "loader.libcuda", "/usr/lib/wsl/lib");
}

const Event* smi_works(const Machine& machine) {
  for (const auto* id : {"smi.gpu", "smi.list", "smi.row", "smi.header"})
    if (const auto* event = first_event(machine, id)) return event;
  return nullptr;
}

Machine with_distribution(const Machine& machine) {
  Machine out;
  out.host = machine.host;
  out.driver = machine.driver;
  if (out.host.distribution.is_known()) return out;
  for (const auto* event : events_of(machine, "host.distribution")) {
    const auto name = lower(value_of(*event, "name") + value_of(*event, "release"));
    const std::string id = !value_of(*event, "ubuntu").empty()     ? "ubuntu"
                           : name.starts_with("red hat")           ? "rhel"
                           : name == "alma" || name == "almalinux" ? "almalinux"
                                                                   : name;
    out.host.distribution = Fact<std::string>::known(id, event->source);
    return out;
  }
  // An Ubuntu kernel says so.
  for (const auto* event : events_of(machine, "host.kernel"))
    if (value_of(*event, "release").find("-generic") != std::string::npos)
      out.host.distribution = Fact<std::string>::known("ubuntu", event->source);
  return out;
}

}  // namespace gpuwright
