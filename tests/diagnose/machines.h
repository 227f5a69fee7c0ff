#pragma once

#include <stdexcept>
#include <string>

#include "catalog/catalog.h"
#include "diagnose/diagnose.h"
#include "diagnose/rule.h"

// A healthy machine to spoil, and a way to ask one rule about it. Whole machines are in
// tests/cases/; here a test changes the one fact that it is about.

namespace gpuwright {

template <class T>
Fact<T> known(T value, const char* source = "test") {
  return Fact<T>::known(std::move(value), source);
}
inline Fact<std::string> text(const char* value) { return known(std::string(value)); }

inline DeviceNode healthy_node(const char* path) {
  DeviceNode node;
  node.path = path;
  node.mode = 0666;
  node.owner_group = "root";
  node.usable = known(true);
  return node;
}

inline DriverLibrary healthy_library(const char* name, const char* version) {
  DriverLibrary library;
  library.name = name;
  library.path = std::string("/usr/lib/x86_64-linux-gnu/") + name;
  library.real_path = std::string("/usr/lib/x86_64-linux-gnu/") + name + "." + version;
  library.kind = "driver";
  library.version = known(Version::of(version));
  library.found_by = "ld.so.cache";
  library.chosen = true;
  return library;
}

inline PciGpu healthy_gpu(const char* address, const char* device_id) {
  PciGpu gpu;
  gpu.address = address;
  gpu.device_id = device_id;
  gpu.class_code = "0x030000";
  gpu.link_width = known<std::uint64_t>(16);
  gpu.link_width_max = known<std::uint64_t>(16);
  gpu.driver = text("nvidia");
  return gpu;
}

/// Debian 12 on bare metal, one GeForce RTX 3090, driver 535.261.03 with the proprietary module.
inline Machine healthy_machine() {
  const std::string kernel = "6.1.0-27-amd64";
  const Version version = Version::of("535.261.03");
  Machine machine;
  Host& host = machine.host;
  host.distribution = text("debian");
  host.distribution_version = text("12");
  host.kernel_release = known(kernel);
  host.container = Fact<std::string>::absent("test");
  host.sandbox = Fact<std::string>::absent("test");
  host.hypervisor = Fact<std::string>::absent("test");
  host.wsl = Fact<std::uint64_t>::absent("test");
  host.uid = known<std::uint64_t>(1000);
  host.groups = known(std::vector<std::string>{"user"});
  machine.hardware.gpus = known(std::vector<PciGpu>{healthy_gpu("0000:01:00.0", "2204")});
  DriverGpu gpu;
  gpu.address = "0000:01:00.0";
  gpu.model = text("NVIDIA GeForce RTX 3090");
  machine.hardware.driver_gpus = known(std::vector<DriverGpu>{gpu});
  machine.hardware.nvswitch = known(false);
  machine.hardware.dxg = known(false);
  Driver& driver = machine.driver;
  driver.module_version = known(version, "/proc/driver/nvidia/version");
  driver.module_flavour = text("proprietary");
  driver.loaded_modules = known(std::vector<std::string>{"nvidia", "nvidia_uvm"});
  driver.newest_kernel = known(kernel);
  ModuleFile file;
  file.kernel = kernel;
  file.path = "/lib/modules/" + kernel + "/updates/dkms/nvidia-current.ko";
  file.version = known(version);
  file.flavour = text("proprietary");
  driver.module_files = known(std::vector<ModuleFile>{file});
  driver.dkms = Fact<std::vector<DkmsBuild>>::absent("test");
  driver.nouveau_blacklisted = known(true);
  driver.nodes =
      known(std::vector<DeviceNode>{healthy_node("/dev/nvidia0"), healthy_node("/dev/nvidia-uvm"),
                                    healthy_node("/dev/nvidiactl")});
  driver.node_helper = known(true);
  driver.libraries =
      known(std::vector<DriverLibrary>{healthy_library("libcuda.so.1", "535.261.03"),
                                       healthy_library("libnvidia-ml.so.1", "535.261.03")});
  driver.user_space_version = known(version);
  driver.persistence_daemon = known(true);
  driver.fabric_manager_running = Fact<bool>::absent("test");
  driver.fabric_manager_version = Fact<Version>::absent("test");
  driver.packages = known(std::vector<std::string>{"nvidia-driver 535.261.03-1~deb12u1"});
  driver.kernel_log = known(std::vector<std::string>{});
  machine.cuda.toolkits = known(std::vector<Toolkit>{});
  machine.cuda.library_path = Fact<std::vector<PathElement>>::absent("test");
  machine.cuda.environment = known(true);
  Interpreter python;
  python.path = "/usr/bin/python3";
  python.libc = text("glibc");
  machine.python.interpreter = known(python);
  return machine;
}

/// The same with the module not loaded, and what follows from that.
inline Machine machine_without_module() {
  Machine machine = healthy_machine();
  machine.hardware.gpus.edit()[0].driver = Fact<std::string>::absent("test");
  machine.hardware.driver_gpus = Fact<std::vector<DriverGpu>>::absent("test");
  machine.driver.module_version = Fact<Version>::absent("/proc/driver/nvidia/version");
  machine.driver.module_flavour = Fact<std::string>::absent("test");
  machine.driver.loaded_modules = known(std::vector<std::string>{});
  machine.driver.nodes = known(std::vector<DeviceNode>{});
  return machine;
}

inline Verdict judge(const std::string& id, const Machine& machine) {
  for (const auto& table : all_rules())
    for (const auto& rule : table.rules)
      if (rule.id == id) return rule.judge(machine, Catalog::built_in());
  throw std::logic_error("no rule " + id);
}

inline bool is_fine(const Verdict& verdict) { return std::holds_alternative<Fine>(verdict); }
inline bool is_undecided(const Verdict& verdict) {
  return std::holds_alternative<Undecided>(verdict);
}
inline bool does_not_apply(const Verdict& verdict) {
  return std::holds_alternative<NotApplicable>(verdict);
}

/// All findings of a verdict; empty for the other outcomes.
inline std::vector<Finding> findings_of(const Verdict& verdict) {
  if (const auto* one = std::get_if<Finding>(&verdict)) return {*one};
  if (const auto* several = std::get_if<std::vector<Finding>>(&verdict)) return *several;
  return {};
}

/// The only finding; a test that expects one and gets another outcome fails by this exception.
inline Finding finding_of(const Verdict& verdict) { return findings_of(verdict).at(0); }

inline bool has_command(const Finding& finding, const std::string& command) {
  for (const auto& step : finding.fix)
    if (step.command == command) return true;
  return false;
}

}  // namespace gpuwright
