#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"

// The driver rung, kernel side: what is loaded. Module files are in driver_modules.h, device nodes
// in driver_nodes.h, the user-space half in driver_libraries.h, daemons and packages in
// driver_software.h.

namespace gpuwright {

/// The loaded module, of /proc/driver/nvidia/version.
struct LoadedModule {
  Version version;
  std::string flavour;  ///< "open" or "proprietary"
};
/// First line, either "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri …" or
/// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build …".
std::optional<LoadedModule> parse_driver_version(std::string_view text);

/// Names in /proc/modules that decide who drives a GPU, as the kernel writes them (with '_').
std::vector<std::string> parse_gpu_modules(std::string_view text);

/// Major number of a character device driver in /proc/devices.
std::optional<std::uint64_t> parse_character_major(std::string_view text, std::string_view driver);

/// True when a modprobe.d(5) file keeps nouveau from loading by itself.
bool blacklists_nouveau(std::string_view modprobe_text);

/// True when the kernel's command line keeps nouveau from loading or from driving a GPU.
bool command_line_blacklists_nouveau(std::string_view command_line);

/// The lines of a kernel log that concern the GPU or a refused module, newest last, at most
/// `limit` of them; the kernel's "<6>" priorities cut off.
std::vector<std::string> gpu_lines(std::string_view log, std::size_t limit = 200);

}  // namespace gpuwright
