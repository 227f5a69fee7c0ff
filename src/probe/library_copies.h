#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/system.h"
#include "machine/machine.h"

// Files that bear the name of a GPU library. What a framework loads of them is the loader model's
// matter; this list tells what the others are, above all those that a search passed over.

namespace gpuwright {

/// "cudnn" for "libcudnn_ops.so.9", "cublas" for "libcublasLt.so.12"; empty for another name and
/// for names without a number after ".so.".
std::string library_family(std::string_view file_name);

/// LibraryCopy::kind by the first bytes of a file of `size` bytes: "library", "empty",
/// "lfs-pointer", "text", "damaged", "other-architecture". `machine` is e_machine of this system.
std::string kind_of_bytes(std::string_view head, std::uint64_t size, std::uint16_t machine);

/// e_machine of "x86_64", "aarch64"; 0 for another name.
std::uint16_t elf_machine_of(std::string_view architecture);

}  // namespace gpuwright
