#include "probe/hardware.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"
#include "probe/facts.h"
#include "probe/probe.h"

namespace gpuwright {

std::optional<double> parse_link_speed(std::string_view text) {
  const auto fields = words(text);
  if (fields.size() < 2 || !fields[1].starts_with("GT/s")) return std::nullopt;
  const auto pieces = split(fields[0], '.');
  const auto whole = parse_unsigned(pieces[0]);
  const auto tenths = pieces.size() == 2 ? parse_unsigned(pieces[1]) : 0;
  if (!whole || !tenths || *tenths > 9 || pieces.size() > 2) return std::nullopt;
  return static_cast<double>(*whole) + static_cast<double>(*tenths) / 10;
}

std::optional<std::uint64_t> parse_link_width(std::string_view text) {
  constexpr std::array<std::uint64_t, 7> kWidths = {1, 2, 4, 8, 12, 16, 32};
  const auto width = parse_unsigned(trim(text));
  if (!width || std::find(kWidths.begin(), kWidths.end(), *width) == kWidths.end())
    return std::nullopt;
  return width;
}

std::optional<std::string> parse_pci_id(std::string_view text) {
  text = trim(text);
  if (text.size() != 6 || !text.starts_with("0x") || !parse_unsigned(text.substr(2), 16))
    return std::nullopt;
  return lower(text.substr(2));
}

namespace {

Fact<bool> parse_excluded(std::string_view text, const std::string& source) {
  // "Blacklisted" until driver 455.
  auto answer = value_after(text, "GPU Excluded:");
  if (!answer) answer = value_after(text, "Blacklisted:");
  if (!answer) return Fact<bool>::absent(source);
  return Fact<bool>::known(*answer == "Yes", source);
}

Fact<std::string> parse_text(std::string_view text, std::string_view key,
                             const std::string& source) {
  const auto value = value_after(text, key);
  if (!value) return Fact<std::string>::absent(source);
  return Fact<std::string>::known(printable(*value), source);
}

}  // namespace

DriverGpu parse_gpu_information(const std::string& address, std::string_view text) {
  const std::string source = "/proc/driver/nvidia/gpus/" + address + "/information";
  DriverGpu gpu;
  gpu.address = address;
  gpu.model = parse_text(text, "Model:", source);
  gpu.uuid = parse_text(text, "GPU UUID:", source);
  gpu.excluded = parse_excluded(text, source);
  const auto minor = value_after(text, "Device Minor:");
  const auto number = parse_unsigned(minor.value_or(""));
  gpu.minor =
      number ? Fact<std::uint64_t>::known(*number, source) : Fact<std::uint64_t>::absent(source);
  return gpu;
}

namespace {

constexpr const char* kBus = "/sys/bus/pci/devices";
constexpr std::string_view kNvidia = "10de";

template <class T, class Parse>
Fact<T> parsed_fact(const System& system, const std::string& path, Parse parse) {
  const auto text = system.read(path, 4096);
  if (!text) return Fact<T>::from_error(path, text.error());
  const auto value = parse(*text);
  if (!value) return Fact<T>::unknown(path, "reads '" + printable(trim(*text)) + "'");
  return Fact<T>::known(*value, path);
}

Fact<std::uint64_t> read_numa_node(const System& system, const std::string& path) {
  const auto text = system.read(path, 64);
  if (text && trim(*text) == "-1") return Fact<std::uint64_t>::absent(path);
  return parsed_fact<std::uint64_t>(system, path,
                                    [](std::string_view t) { return parse_unsigned(trim(t)); });
}

Fact<std::string> read_bound_driver(const System& system, const std::string& link) {
  const auto target = system.read_link(link);
  if (!target) return Fact<std::string>::from_error(link, target.error());
  return Fact<std::string>::known(printable(path_name(*target)), link);
}

Fact<bool> read_enabled(const System& system, const std::string& path) {
  const auto count = parsed_fact<std::uint64_t>(
      system, path, [](std::string_view t) { return parse_unsigned(trim(t)); });
  if (count.is_known()) return Fact<bool>::known(*count > 0, path);
  return count.is_absent() ? Fact<bool>::absent(path) : Fact<bool>::unknown(path, count.reason());
}

std::string read_pci_id(const System& system, const std::string& path) {
  return parse_pci_id(system.read(path, 64).value_or("")).value_or("");
}

std::string read_subsystem(const System& system, const std::string& directory) {
  const auto vendor = read_pci_id(system, directory + "/subsystem_vendor");
  const auto device = read_pci_id(system, directory + "/subsystem_device");
  return vendor.empty() || device.empty() ? "" : vendor + ":" + device;
}

PciGpu read_gpu(const System& system, const std::string& address, const std::string& class_code) {
  const std::string directory = path_join(kBus, address);
  PciGpu gpu;
  gpu.address = address;
  gpu.class_code = class_code;
  gpu.device_id = read_pci_id(system, directory + "/device");
  gpu.subsystem_id = read_subsystem(system, directory);
  gpu.link_speed_gts =
      parsed_fact<double>(system, directory + "/current_link_speed", parse_link_speed);
  gpu.link_speed_max_gts =
      parsed_fact<double>(system, directory + "/max_link_speed", parse_link_speed);
  gpu.link_width =
      parsed_fact<std::uint64_t>(system, directory + "/current_link_width", parse_link_width);
  gpu.link_width_max =
      parsed_fact<std::uint64_t>(system, directory + "/max_link_width", parse_link_width);
  gpu.numa_node = read_numa_node(system, directory + "/numa_node");
  gpu.driver = read_bound_driver(system, directory + "/driver");
  gpu.enabled = read_enabled(system, directory + "/enable");
  return gpu;
}

// A virtual function beside its physical one is a slice that this host lends to a guest (vGPU with
// SR-IOV); CUDA never runs on it here. In the guest it has no such link and counts.
bool is_lent_to_guests(const System& system, const std::string& address) {
  return system.link_status(path_join(kBus, address) + "/physfn").has_value();
}

// One read for each function of the bus, and more for NVIDIA's only: large servers have hundreds.
void fill_bus(const System& system, Hardware& hardware) {
  const auto devices = system.list(kBus);
  if (!devices) {
    // Containers and gVisor may have no /sys, and a tree on disk has none: that says nothing about
    // the bus, so a missing directory is unknown as well.
    hardware.gpus = Fact<std::vector<PciGpu>>::unknown(kBus, devices.error().message);
    hardware.nvswitch = Fact<bool>::unknown(kBus, devices.error().message);
    return;
  }
  std::vector<PciGpu> gpus;
  bool nvswitch = false;
  for (const auto& device : *devices) {
    const std::string directory = path_join(kBus, device.name);
    if (read_pci_id(system, directory + "/vendor") != kNvidia) continue;
    const std::string class_code(trim(system.read(directory + "/class", 64).value_or("")));
    if (class_code.starts_with("0x0680")) nvswitch = true;
    if (!class_code.starts_with("0x0300") && !class_code.starts_with("0x0302")) continue;
    if (is_lent_to_guests(system, device.name)) continue;
    gpus.push_back(read_gpu(system, device.name, printable(class_code)));
  }
  hardware.gpus = Fact<std::vector<PciGpu>>::known(std::move(gpus), kBus);
  hardware.nvswitch = Fact<bool>::known(nvswitch, kBus);
}

// gVisor shows /proc/driver/nvidia without this list, which is no statement about the driver.
Fact<std::vector<DriverGpu>> read_driver_gpus(const System& system) {
  using Gpus = std::vector<DriverGpu>;
  const std::string directory = "/proc/driver/nvidia/gpus";
  const auto addresses = system.list(directory);
  if (!addresses) {
    if (exists(system, "/proc/driver/nvidia"))
      return Fact<Gpus>::unknown(directory, "the driver's list of GPUs is hidden here");
    return fact_of_proc_error<Gpus>(system, directory, addresses.error());
  }
  Gpus gpus;
  for (const auto& entry : *addresses) {
    const auto text = system.read(path_join(directory, entry.name) + "/information");
    gpus.push_back(parse_gpu_information(printable(entry.name), text.value_or("")));
  }
  return Fact<Gpus>::known(std::move(gpus), directory);
}

}  // namespace

// Sources: /sys/bus/pci/devices; /proc/driver/nvidia/gpus; for WSL2, whose GPU is on no bus,
// /dev/dxg.
Fill probe_hardware(const ProbeInput& input) {
  Hardware hardware;
  fill_bus(input.system, hardware);
  hardware.driver_gpus = read_driver_gpus(input.system);
  hardware.dxg = Fact<bool>::known(exists(input.system, "/dev/dxg"), "/dev/dxg");
  return [hardware = std::move(hardware)](Machine& machine) { machine.hardware = hardware; };
}

}  // namespace gpuwright
