#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"

// The host rung: what is below the GPU and its driver. Pure readers of the files that probe_host
// looks at.

namespace gpuwright {

/// The three fields of os-release(5) that we use; nothing where the file does not set one.
struct OsRelease {
  std::optional<std::string> id;           ///< "ubuntu"
  std::optional<std::string> version_id;   ///< "24.04"; rolling distributions have none.
  std::optional<std::string> pretty_name;  ///< "Ubuntu 24.04.3 LTS"
};
OsRelease parse_os_release(std::string_view text);

/// Group names by id, of /etc/group.
std::map<std::uint64_t, std::string> parse_group_names(std::string_view text);

/// "video", or "#44" for an id without a name.
std::string group_name(const std::map<std::uint64_t, std::string>& names, std::uint64_t gid);

/// Soft "Max locked memory" of /proc/self/limits in bytes; 2^64-1 for "unlimited".
std::optional<std::uint64_t> parse_locked_memory_limit(std::string_view text);

/// The bracketed word of /sys/kernel/security/lockdown: "none [integrity] confidentiality".
std::optional<std::string> parse_lockdown(std::string_view text);

/// The value of an EFI variable as efivarfs shows it: four bytes of attributes, then one of data.
std::optional<bool> parse_efi_flag(std::string_view bytes);

/// Path of the v1 device controller in /proc/self/cgroup: "5:devices:/user.slice" gives
/// "/user.slice". Nothing when no line names it.
std::optional<std::string> parse_device_controller(std::string_view text);

/// The newest of "GLIBCXX_3.4.30"-like names: what follows `prefix` as a version, private and
/// debugging names ("GLIBC_PRIVATE") left out.
std::optional<Version> newest_symbol_version(const std::vector<std::string>& definitions,
                                             std::string_view prefix);

}  // namespace gpuwright
