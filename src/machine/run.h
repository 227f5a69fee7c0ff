#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/version.h"
#include "machine/fact.h"

// What child processes saw under a deadline (`check --run`), to be held against the prediction. See
// machine/machine.h.

namespace gpuwright {

/// One GPU as NVML tells of it. What a GPU or a driver does not support is absent.
struct NvmlGpu {
  std::uint64_t index = 0;  ///< NVML's, in PCI order.
  std::string address;      ///< "0000:3b:00.0"; empty when the call failed.
  std::string name;         ///< "NVIDIA H200"
  std::string uuid;
  std::string
      error;  ///< Name of the first call's failure: "NVML_ERROR_GPU_IS_LOST"; empty if none.
  Fact<std::uint64_t> memory_total_bytes;
  Fact<std::uint64_t> memory_used_bytes;
  Fact<std::uint64_t> utilisation_percent;
  Fact<std::uint64_t> temperature_c;
  Fact<double> power_w;
  Fact<double> power_limit_w;
  Fact<std::uint64_t> link_generation;  ///< Now; rises under load.
  Fact<std::uint64_t> link_generation_max;
  Fact<std::uint64_t> link_width;
  Fact<std::uint64_t> link_width_max;
  Fact<std::vector<std::string>> clock_reasons;  ///< "hw_slowdown", "sw_power_cap", "idle", ...
  Fact<std::string> compute_mode;                ///< "default", "exclusive-process", "prohibited"
  Fact<bool> persistence;
  Fact<bool> ecc;                   ///< Enabled now.
  Fact<bool> mig;                   ///< MIG mode is on.
  Fact<std::uint64_t> mig_devices;  ///< Compute instances that a program can use.
  Fact<std::uint64_t> ecc_uncorrected_volatile;
  Fact<std::uint64_t> ecc_uncorrected_aggregate;
  Fact<std::uint64_t> remapped_rows_uncorrected;
  Fact<bool> remap_pending;
  Fact<bool> remap_failed;
  Fact<std::uint64_t> retired_pages;  ///< Single-bit and double-bit together.
  Fact<bool> retirement_pending;
  Fact<std::string> virtualisation;  ///< "none", "passthrough", "vgpu", "host-vgpu", "host-vsga"
  Fact<std::string> licence;  ///< "licensed", "unlicensed (restricted)"; absent when not a vGPU.
  Fact<std::string> fabric_state;  ///< "completed", "in progress", "not started"; absent without.
  friend bool operator==(const NvmlGpu&, const NvmlGpu&) = default;
};

/// What NVML said in a child process.
struct NvmlRun {
  std::string path;  ///< File that was loaded.
  std::string
      result;  ///< Name of nvmlInit's answer: "NVML_SUCCESS", "NVML_ERROR_DRIVER_NOT_LOADED";
               ///< else "cannot be loaded: ...", "no answer within 5 s", "died of SIGSEGV".
  Fact<Version> driver_version;
  std::vector<NvmlGpu> gpus;
  friend bool operator==(const NvmlRun&, const NvmlRun&) = default;
};

/// What the CUDA driver API said in a child process.
struct DriverRun {
  std::string path;    ///< File that was loaded as libcuda.so.1.
  std::string result;  ///< "CUDA_SUCCESS", "CUDA_ERROR_NO_DEVICE (100)", else as in NvmlRun.
  Fact<Version> cuda;  ///< cuDriverGetVersion.
  std::vector<std::string> devices;  ///< "NVIDIA H200 (0000:00:06.0)"
  friend bool operator==(const DriverRun&, const DriverRun&) = default;
};

/// What a framework did in a child process.
struct FrameworkRun {
  std::string framework;  ///< "tensorflow"
  std::string result;  ///< "imported", "import failed", "no answer within 60 s", "died of SIGILL"
  std::string error;   ///< Last line of the traceback.
  Fact<std::string> version;
  Fact<std::vector<std::string>>
      devices;  ///< As the framework names them: "/physical_device:GPU:0".
  Fact<std::string>
      matmul;  ///< "right", "wrong: ...", "failed: ..."; absent when there is no device.
  std::vector<std::string> libraries;  ///< GPU libraries of its maps at the end, real paths.
  std::vector<std::string>
      messages;  ///< Lines on standard error that name a GPU subject, at most 40.
  friend bool operator==(const FrameworkRun&, const FrameworkRun&) = default;
};

/// What `check --run` saw. Everything is "not looked at" without --run.
struct Run {
  Fact<DriverRun> driver;
  Fact<NvmlRun> nvml;
  std::vector<FrameworkRun> frameworks;
  friend bool operator==(const Run&, const Run&) = default;
};

}  // namespace gpuwright
