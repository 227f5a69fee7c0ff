#pragma once

#include <string>
#include <vector>

#include "base/system.h"

namespace gpuwright::loader {

/// GPU code in an object: machine code "sm_80", PTX "compute_90", ascending, each once. Empty when
/// the object has no fat binary. Only headers are read, of the first `most` fat binaries, and what
/// more than half of them hold counts: a library is built for one list of targets, which the first
/// few show, and single kernels carry variants for more. An error when the object's section
/// headers were stripped, since then the section cannot be found.
[[nodiscard]] Result<std::vector<std::string>> fat_binary_targets(const RandomAccessFile& file,
                                                                  int most = 24);

}  // namespace gpuwright::loader
