#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/diagnose.h"
#include "diagnose/rule.h"
#include "diagnose/visible_devices.h"
#include "machine/machine.h"

namespace gpuwright {

/// "tensorflow 2.21.0", or the bare name when the version is not known. Subject of its findings.
std::string label_of(const Framework& framework);

/// GPUs that a process of this user can reach, in the order of the driver's list: those the loaded
/// driver lists whose device node is there. `count_known` is false where neither the list nor the
/// nodes tell (WSL2).
struct ReachableGpus {
  std::vector<DriverGpu> gpus;
  bool count_known = false;
};
ReachableGpus reachable_gpus(const Machine& machine);

/// What CUDA_VISIBLE_DEVICES leaves of them.
VisibleDevices visible_gpus(const Machine& machine);

/// Name of a GPU for people: the driver's, or the catalogue's by PCI id, or its address.
std::string gpu_name(const Machine& machine, const Catalog& catalog, const DriverGpu& gpu);

/// Compute capability of a GPU, from the catalogue by the PCI id at its address.
std::optional<Version> gpu_capability(const Machine& machine, const Catalog& catalog,
                                      const std::string& address);

/// CUDA that a build was made with: its own record, or the catalogue's row of the release.
std::optional<Version> cuda_of_build(const Framework& framework, const Catalog& catalog);

/// How a build's code fits a GPU.
enum class CodeFit {
  kMachineCode,  ///< Same major, minor not above the GPU's.
  kPtxOnly,      ///< The driver compiles it at start.
  kNone,         ///< Every kernel fails (error 209).
};
/// `targets` as Framework::targets: "sm_80", "sm_90a" (that GPU alone), "compute_90".
CodeFit code_fit(const std::vector<std::string>& targets, const Version& capability);

/// Whether each framework will use the GPU, by the order of the judgement table of
/// docs/judgement.md: what ends the question for one framework first, then the lowest broken rung,
/// then its libraries; an unknown on that way is "cannot tell", never "uses".
std::vector<FrameworkAnswer> judge_frameworks(const Machine& machine, const Catalog& catalog,
                                              const std::vector<Finding>& findings);

}  // namespace gpuwright
