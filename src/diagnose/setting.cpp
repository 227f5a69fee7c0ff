#include "diagnose/setting.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {
namespace {

bool is_gpu_node(const DeviceNode& node) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  return node.path.starts_with(kPrefix) &&
         parse_unsigned(std::string_view(node.path).substr(kPrefix.size())).has_value();
}

bool is_of_the_driver(const std::string& package) {
  return package.starts_with("nvidia-driver") || package.starts_with("nvidia-dkms") ||
         package.starts_with("nvidia-kernel") || package.starts_with("nvidia-open") ||
         package.starts_with("libnvidia-compute") || package.starts_with("libcuda1");
}

}  // namespace

Setting setting_of(const Machine& machine) {
  const Host& host = machine.host;
  if (host.sandbox.is("gvisor")) return Setting::kGvisor;
  if (host.container.is_known()) return Setting::kContainer;
  if (is_wsl(machine)) return Setting::kWsl;
  if (host.container.is_unknown() || host.wsl.is_unknown()) return Setting::kUnknown;
  return Setting::kHost;
}

bool is_wsl(const Machine& machine) { return machine.host.wsl.is(2); }

bool is_jetson(const Machine& machine) {
  return machine.host.kernel_release.value_or("").find("-tegra") != std::string::npos;
}

Tristate has_module(const Machine& machine, std::string_view name) {
  const auto& modules = machine.driver.loaded_modules;
  if (modules.is_absent()) return Tristate::kNo;
  if (!modules.is_known()) return Tristate::kUnknown;
  const bool found = std::find(modules->begin(), modules->end(), name) != modules->end();
  return found ? Tristate::kYes : Tristate::kNo;
}

// The version files exist exactly while the module is loaded; the list of modules only helps where
// they could not be read.
Tristate module_loaded(const Machine& machine) {
  if (machine.driver.module_version.is_known()) return Tristate::kYes;
  if (machine.driver.module_version.is_absent()) return Tristate::kNo;
  return has_module(machine, "nvidia");
}

Tristate driver_installed(const Machine& machine) {
  const Driver& driver = machine.driver;
  if (module_loaded(machine) == Tristate::kYes) return Tristate::kYes;
  if (driver.module_files.is_known() && !driver.module_files->empty()) return Tristate::kYes;
  if (driver.dkms.is_known() && !driver.dkms->empty()) return Tristate::kYes;
  if (driver.packages.is_known() &&
      std::any_of(driver.packages->begin(), driver.packages->end(), is_of_the_driver))
    return Tristate::kYes;
  if (driver.libraries.is_known()) {
    for (const auto& library : *driver.libraries)
      if (library.kind == "driver") return Tristate::kYes;
  }
  const bool all_looked_at = module_loaded(machine) == Tristate::kNo &&
                             !driver.module_files.is_unknown() && !driver.libraries.is_unknown();
  return all_looked_at ? Tristate::kNo : Tristate::kUnknown;
}

Tristate has_gpu_node(const Machine& machine) {
  const auto& nodes = machine.driver.nodes;
  if (nodes.is_absent()) return Tristate::kNo;
  if (!nodes.is_known()) return Tristate::kUnknown;
  return std::any_of(nodes->begin(), nodes->end(), is_gpu_node) ? Tristate::kYes : Tristate::kNo;
}

const ModuleFile* module_file(const Machine& machine, std::string_view kernel) {
  if (!machine.driver.module_files.is_known()) return nullptr;
  for (const auto& file : *machine.driver.module_files)
    if (file.kernel == kernel) return &file;
  return nullptr;
}

const DriverLibrary* chosen_library(const Machine& machine, std::string_view name) {
  if (!machine.driver.libraries.is_known()) return nullptr;
  for (const auto& library : *machine.driver.libraries)
    if (library.chosen && library.name == name) return &library;
  return nullptr;
}

std::vector<Evidence> log_lines(const Machine& machine,
                                std::initializer_list<std::string_view> needles,
                                std::size_t at_most) {
  std::vector<Evidence> found;
  const auto& log = machine.driver.kernel_log;
  if (!log.is_known()) return found;
  for (auto line = log->rbegin(); line != log->rend() && found.size() < at_most; ++line) {
    for (const auto needle : needles) {
      if (line->find(needle) == std::string::npos) continue;
      found.push_back({*line, log.source()});
      break;
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

bool makes_missing_nodes(const Machine& machine) {
  if (setting_of(machine) != Setting::kHost) return false;
  if (machine.driver.node_helper.is(true)) return true;
  // Root's libcuda makes nodes of modules that are there; it loads none.
  return machine.host.uid.is(0) && has_module(machine, "nvidia_uvm") == Tristate::kYes;
}

}  // namespace gpuwright
