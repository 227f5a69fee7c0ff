#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What the host has room for. Pure readers of the files that probe_limits looks at.

namespace gpuwright {

/// Soft "Max open files" of /proc/self/limits; 2^64-1 for "unlimited".
std::optional<std::uint64_t> parse_open_files_limit(std::string_view text);

/// MemTotal of /proc/meminfo in bytes.
std::optional<std::uint64_t> parse_memory_total(std::string_view text);

/// Path of this process's group: of cgroup v2 ("0::/a/b" gives "/a/b"), else of v1's controller
/// "memory". Nothing when no line names either.
struct MemoryGroup {
  std::string path;
  bool unified = true;  ///< cgroup v2.
};
std::optional<MemoryGroup> parse_memory_group(std::string_view text);

/// memory.max or memory.limit_in_bytes; nothing for "max" and for v1's number that means none.
std::optional<std::uint64_t> parse_memory_limit(std::string_view text);

}  // namespace gpuwright
