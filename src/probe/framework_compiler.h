#pragma once

#include <string>
#include <vector>

#include "base/system.h"
#include "machine/framework.h"
#include "machine/machine.h"

// What XLA needs to compile for a GPU beside libraries: libdevice.10.bc, without which nothing that
// it compiles can run, and ptxas, in whose place the driver compiles more slowly.

namespace gpuwright {

/// Directories that XLA takes for a CUDA toolkit, in its order (cuda_root_path.cc of 2026-08).
/// Older releases know fewer; where none of these has a file, no release finds it. `site` holds the
/// package directory; `xla_flags` is the variable's value.
std::vector<std::string> cuda_roots(const System& system, const std::string& site,
                                    const std::string& xla_flags);

/// Fills `ptxas` and `libdevice` of a TensorFlow whose package lies in `site`.
void find_compiler(const System& system, const std::string& site, Framework& framework);

}  // namespace gpuwright
