#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/child_process.h"
#include "machine/machine.h"

// `check --run`: child processes under a deadline do what the files promise, and what they say goes
// into Machine::run. The rules hold it against the prediction (diagnose/run_*.cpp).

namespace gpuwright {

/// The door to child processes, and to whoever waits. Tests have a twin that answers without them.
class ChildDoor {
 public:
  virtual ~ChildDoor() = default;
  virtual ChildEnd run(const ChildCommand& command) = 0;
  /// What is being done, for a person who waits: "asking NVML".
  virtual void progress(const std::string& what) = 0;
};

struct ConfirmOptions {
  std::string program = "/proc/self/exe";          ///< This program, for the native children.
  std::map<std::string, std::string> environment;  ///< The one that was examined.
  std::string directory =
      "/";             ///< Relative paths in variables mean the same as in the examination.
  std::string marker;  ///< Random word, see confirm/protocol.h.
  std::chrono::milliseconds limit{0};  ///< For each child; 0: as the work needs.
};

/// Asks NVML, the driver, and each framework of the machine, one after the other.
Run confirm(const Machine& machine, const ConfirmOptions& options, ChildDoor& door);

/// A marker that no library will print.
std::string random_marker();

}  // namespace gpuwright
