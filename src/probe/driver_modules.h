#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"

// The nvidia module on disk. modprobe loads what modules.dep(5) lists for the running kernel, which
// need not be the module that is loaded now (an upgrade replaced it) nor exist for the kernel of
// the next boot (DKMS did not build it): most "worked yesterday" reports are one of the two.

namespace gpuwright {

/// True for the module that drives the GPU, by a file's or a DKMS tree's name without endings:
/// "nvidia", Debian's "nvidia-current", "nvidia-tesla-470"; false for "nvidia-uvm" and its like.
bool is_main_module(std::string_view stem);

/// Main nvidia modules in a modules.dep, as written there: relative to the kernel's directory.
std::vector<std::string> parse_module_paths(std::string_view modules_dep);

/// What the .modinfo section says, NUL-separated "key=value".
struct ModuleInfo {
  std::optional<Version> version;
  std::optional<std::string> license;  ///< "NVIDIA" or "Dual MIT/GPL"
  std::optional<std::string> kernel;   ///< First word of vermagic: the release it was built for.
};
ModuleInfo parse_modinfo(std::string_view section);

/// A section of a 64-bit ELF file by its name; kernel modules have no program headers. An error
/// when it is longer than `max_bytes`, missing, or the file is no such ELF file.
[[nodiscard]] Result<std::string> read_elf_section(const RandomAccessFile& file,
                                                   std::string_view name, std::size_t max_bytes);

/// Fills newest_kernel, module_files and dkms.
void fill_module_files(const System& system, const Fact<std::string>& running_kernel,
                       Driver& driver);

}  // namespace gpuwright
