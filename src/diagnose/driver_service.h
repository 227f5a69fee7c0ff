#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/finding.h"
#include "diagnose/rule.h"
#include "machine/machine.h"

// What the rules about services and modes of the GPU share: the GPUs as NVML told of them.

namespace gpuwright {

/// Null where NVML was not asked.
const std::vector<NvmlGpu>* nvml_gpus(const Machine& machine);

/// "GPU 0 (NVIDIA A100), GPU 3 (NVIDIA A100)"
std::string names_of(const std::vector<NvmlGpu>& gpus);

/// "0,3", for nvidia-smi -i.
std::string indices_of(const std::vector<NvmlGpu>& gpus);

/// An error when none is left, a warning while others work.
Severity severity_of_losing(const std::vector<NvmlGpu>& lost, const Machine& machine);

template <class Is>
std::vector<NvmlGpu> those(const Machine& machine, Is is) {
  std::vector<NvmlGpu> found;
  if (const auto* gpus = nvml_gpus(machine))
    std::copy_if(gpus->begin(), gpus->end(), std::back_inserter(found), is);
  return found;
}

// Rules about modes of a GPU, a file of their own (driver_mode.cpp).
Verdict mig_has_instances(const Machine& machine, const Catalog& catalog);
Verdict mig_is_permitted(const Machine& machine, const Catalog& catalog);
Verdict compute_is_allowed(const Machine& machine, const Catalog& catalog);
Verdict mps_is_there(const Machine& machine, const Catalog& catalog);

}  // namespace gpuwright
