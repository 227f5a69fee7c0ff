#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/system.h"
#include "machine/machine.h"

// Which processes hold the driver, and which are stuck in it. Both walks over /proc cost a file or
// more for each process, so they are made only where their answer decides: holders when libraries
// and loaded module differ, blocked tasks when the log or the load speaks of some.

namespace gpuwright {

/// The first mapping of a library of the driver in a /proc/PID/maps, as written there:
/// "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14 (deleted)"; empty when there is none.
std::string held_library(std::string_view maps);

/// A line of /proc/PID/stat, "812 (python3) D 1 …"; the name may hold blanks and parentheses.
struct TaskState {
  std::string name;
  char state = '?';
};
std::optional<TaskState> parse_task_state(std::string_view stat);

/// True for a place in the kernel (wchan) that belongs to the driver: "nvidia_ioctl",
/// "uvm_va_space_down_write", "os_acquire_rwlock_read".
bool is_inside_driver(std::string_view wchan);

/// Fills holders and blocked; needs module_version, user_space_version and kernel_log.
void fill_driver_holders(const System& system, Driver& driver);

}  // namespace gpuwright
