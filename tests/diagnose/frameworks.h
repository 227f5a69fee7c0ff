#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "machines.h"

// Frameworks that use the GPU of healthy_machine(), for a test to spoil.

namespace gpuwright {

inline const std::string kSite = "/env/lib/python3.11/site-packages";

inline ResolvedLibrary found(const std::string& name, const std::string& role,
                             const std::string& directory) {
  ResolvedLibrary library;
  library.name = name;
  library.when = "device";
  library.role = role;
  library.opener = "/env/opener.so";
  library.rule = "DT_RUNPATH of /env/opener.so";
  library.state = "found";
  library.path = library.real_path = directory + "/" + name;
  library.version = Fact<Version>::unknown(library.real_path, "no installed package owns it");
  return library;
}

inline ResolvedLibrary found_driver() {
  auto library = found("libcuda.so.1", "driver", "/usr/lib/x86_64-linux-gnu");
  library.real_path += ".535.261.03";
  library.rule = "ld.so.cache";
  library.version = known(Version::of("535.261.03"));
  return library;
}

inline std::string wheel_directory(const std::string& folder) {
  return kSite + "/nvidia/" + folder + "/lib";
}

inline Framework sound_framework(const std::string& name, const std::string& version) {
  Framework framework;
  framework.name = name;
  framework.distribution = name;
  framework.owners = {name};
  framework.version = known(Version::of(version));
  framework.location = kSite + "/" + name;
  framework.build = text("cuda");
  framework.build_cuda = known(Version::of("12.2"));
  framework.targets = known(std::vector<std::string>{"sm_80", "sm_90", "compute_90"});
  framework.opener = text("/env/opener.so");
  framework.opener_tag = text("DT_RUNPATH");
  framework.needs_nvml = known(false);
  framework.libraries = {found_driver()};
  return framework;
}

/// TensorFlow 2.20 with all its wheels.
inline Framework sound_tensorflow() {
  auto framework = sound_framework("tensorflow", "2.20.0");
  const std::vector<std::pair<std::string, std::string>> libraries = {
      {"cuda_runtime", "libcudart.so.12"}, {"cublas", "libcublas.so.12"},
      {"cublas", "libcublasLt.so.12"},     {"cufft", "libcufft.so.11"},
      {"cusolver", "libcusolver.so.11"},   {"cusparse", "libcusparse.so.12"},
      {"cudnn", "libcudnn.so.9"}};
  for (const auto& [folder, name] : libraries)
    framework.libraries.push_back(found(name, "required", wheel_directory(folder)));
  framework.libraries.back().version = known(Version::of("9.3.0.75"));
  return framework;
}

inline Framework sound_torch() {
  auto framework = sound_framework("torch", "2.4.1+cu121");
  framework.libraries.push_back(found("libcudnn.so.9", "linked", wheel_directory("cudnn")));
  framework.libraries.back().version = known(Version::of("9.1.0.70"));
  return framework;
}

/// JAX 0.6.2 with the CUDA 12 plugin.
inline Framework sound_jax() {
  auto framework = sound_framework("jax", "0.6.2");
  framework.core_version = framework.plugin_version = framework.version;
  framework.plugin = text("jax-cuda12-plugin 0.6.2");
  framework.build_cudnn = known(Version::of("9.8"));
  framework.libraries.push_back(
      found("libcudart.so.12", "required", wheel_directory("cuda_runtime")));
  framework.libraries.push_back(found("libcudnn.so.9", "required", wheel_directory("cudnn")));
  framework.libraries.back().version = known(Version::of("9.8.0.87"));
  return framework;
}

inline ResolvedLibrary& library(Framework& framework, const std::string& name) {
  for (auto& each : framework.libraries)
    if (each.name == name) return each;
  throw std::logic_error("no library " + name);
}

/// The same framework whose search misses `name`.
inline Framework without(Framework framework, const std::string& name) {
  auto& missing = library(framework, name);
  missing.state = "missing";
  missing.path = missing.real_path = "";
  missing.error = name + ": cannot open shared object file: No such file or directory";
  return framework;
}

inline Machine machine_with(Framework framework) {
  Machine machine = healthy_machine();
  machine.hardware.driver_gpus.edit()[0].minor = known<std::uint64_t>(0);
  machine.frameworks = {std::move(framework)};
  return machine;
}

/// `count` GPUs at 0000:01:00.0, 0000:02:00.0, ...
inline Machine machine_with_gpus(std::size_t count) {
  Machine machine = healthy_machine();
  machine.hardware.gpus = known(std::vector<PciGpu>{});
  machine.hardware.driver_gpus = known(std::vector<DriverGpu>{});
  machine.driver.nodes = known(
      std::vector<DeviceNode>{healthy_node("/dev/nvidia-uvm"), healthy_node("/dev/nvidiactl")});
  for (std::size_t i = 0; i < count; ++i) {
    const std::string address = "0000:0" + std::to_string(i + 1) + ":00.0";
    machine.hardware.gpus.edit().push_back(healthy_gpu(address.c_str(), "2204"));
    DriverGpu gpu;
    gpu.address = address;
    gpu.model = text("NVIDIA GeForce RTX 3090");
    gpu.minor = known<std::uint64_t>(i);
    machine.hardware.driver_gpus.edit().push_back(gpu);
    machine.driver.nodes.edit().push_back(
        healthy_node(("/dev/nvidia" + std::to_string(i)).c_str()));
  }
  return machine;
}

}  // namespace gpuwright
