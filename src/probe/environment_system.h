#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/system.h"

// The machine as another process would see it: a service, another user, a cron job, a shell with
// other variables. What it would see is worked out beforehand as plain values; the decorator puts
// them before the System that it wraps.

namespace gpuwright {

struct ProcessView {
  std::string name;  ///< "systemd unit train.service", "user alice", "cron", "file prod.env"
  std::map<std::string, std::string> variables;
  Result<Identity> identity = fail("not told");
  std::string working_directory = "/";
  std::string interpreter{};          ///< The program it starts when that is a Python.
  std::vector<std::string> hidden{};  ///< Path prefixes that are not there for it.
  /// The only GPU nodes its device cgroup lets through, as shell patterns; not in force when
  /// `devices_limited` is false.
  std::vector<std::string> allowed_devices{};
  bool devices_limited = false;
  std::map<std::string, std::string> files{};  ///< Files of /proc that would read otherwise.
  bool is_other_user = false;  ///< Permissions of nodes have to be worked out from their mode.
};

std::shared_ptr<const System> make_environment_system(std::shared_ptr<const System> base,
                                                      ProcessView view);

/// Whether the mode bits let `who` read and write. What an access control list would add is not in
/// them.
bool mode_allows(const FileStatus& status, const Identity& who);

}  // namespace gpuwright
