#pragma once

#include <string>
#include <vector>

#include "confirm/protocol.h"

// The child's side of `check --run`: what this program does when it has started itself again, so
// that a driver that hangs or crashes takes nothing with it.

namespace gpuwright {

/// Hidden first word of the command line: `--child nvml PATH MARKER`, `--child driver PATH MARKER`.
inline constexpr const char* kChildCommand = "--child";

/// Runs what follows kChildCommand. Does not return when it ran: destructors of a driver's library
/// may hang, so the process ends without them. Otherwise the exit status of wrong usage.
int run_as_child(const std::vector<std::string>& words);

/// Ask the library at `path`, telling before every call what it is.
NvmlRun ask_nvml(const std::string& path, const Speaker& speaker);
DriverRun ask_driver(const std::string& path, const Speaker& speaker);

}  // namespace gpuwright
