#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/events.h"
#include "machine/machine.h"

// What several rules about lines of logs ask of GPUs and drivers.

namespace gpuwright {

/// The driver's version that a text tells, by the line that told it: nvidia-smi's table or list,
/// the module's own line; nothing when none does.
struct ToldDriver {
  std::string version;
  const Event* line = nullptr;
};
std::optional<ToldDriver> told_driver(const Machine& machine);

/// NVIDIA display functions that lspci listed; a line of the kernel that names a device id too.
std::vector<PciGpu> told_gpus(const Machine& machine);

/// "GeForce RTX 5090 at 0000:01:00.0" as lspci, the driver or the catalogue call it; "the GPU" when
/// none does.
std::string told_gpu_name(const Machine& machine, const Catalog& catalog);

/// The text shows WSL: kernel, libraries or messages of it.
const Event* wsl_event(const Machine& machine);

/// The text shows a GPU that nvidia-smi reaches.
const Event* smi_works(const Machine& machine);

/// The machine with the distribution filled in that its packages tell of, so that fixes are
/// commands.
Machine with_distribution(const Machine& machine);

}  // namespace gpuwright
