#include "probe/host_limits.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "base/text.h"
#include "probe/facts.h"
#include "probe/probe.h"

namespace gpuwright {
namespace {

// Files that every system rewrites as it goes: packages, the loader's cache, logins, time service.
// One of them with a date of tomorrow means that the clock has gone back.
constexpr const char* kDatedFiles[] = {"/var/lib/dpkg/status",    "/var/lib/rpm/rpmdb.sqlite",
                                       "/var/lib/pacman/local",   "/etc/ld.so.cache",
                                       "/var/log/wtmp",           "/var/lib/systemd/timesync/clock",
                                       "/var/lib/systemd/timers", "/etc/resolv.conf"};

Fact<std::uint64_t> read_open_files(const System& system) {
  const std::string path = "/proc/self/limits";
  const auto text = system.read(path);
  if (!text) return fact_of_proc_error<std::uint64_t>(system, path, text.error());
  const auto limit = parse_open_files_limit(*text);
  if (!limit) return Fact<std::uint64_t>::unknown(path, "no line 'Max open files'");
  return Fact<std::uint64_t>::known(*limit, path);
}

Fact<std::uint64_t> read_memory(const System& system) {
  const std::string path = "/proc/meminfo";
  const auto text = system.read(path);
  if (!text) return fact_of_proc_error<std::uint64_t>(system, path, text.error());
  const auto total = parse_memory_total(*text);
  if (!total) return Fact<std::uint64_t>::unknown(path, "no line 'MemTotal'");
  return Fact<std::uint64_t>::known(*total, path);
}

// A container sees its own group as the root of the tree, whatever /proc/self/cgroup calls it. The
// smallest limit on the way up holds.
Fact<std::uint64_t> read_memory_limit(const System& system) {
  const std::string source = "/proc/self/cgroup";
  const auto text = system.read(source);
  if (!text) return fact_of_proc_error<std::uint64_t>(system, source, text.error());
  const auto group = parse_memory_group(*text);
  if (!group) return Fact<std::uint64_t>::absent(source);
  const std::string root = group->unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const std::string file = group->unified ? "memory.max" : "memory.limit_in_bytes";
  std::optional<std::uint64_t> smallest;
  std::string where = path_join(root, file);
  for (std::string path = group->path;; path = path_directory(path)) {
    const auto at = path_join(root + (path == "/" ? "" : path), file);
    const auto limit = parse_memory_limit(system.read(at).value_or(""));
    if (limit && (!smallest || *limit < *smallest)) {
      smallest = limit;
      where = at;
    }
    if (path == "/" || path.empty() || path == ".") break;
  }
  if (!smallest) return Fact<std::uint64_t>::absent(where);
  return Fact<std::uint64_t>::known(*smallest, where);
}

Fact<Clock> read_clock(const System& system) {
  const auto reading = system.clock();
  if (!reading) return Fact<Clock>::from_error("clock", reading.error());
  Clock clock;
  clock.now_s = static_cast<std::uint64_t>(std::max<std::int64_t>(reading->now_s, 0));
  clock.synchronised = Fact<bool>::known(reading->synchronised, "adjtimex");
  for (const std::string path : kDatedFiles) {
    const auto status = system.status(path);
    if (!status || status->modified_s <= static_cast<std::int64_t>(clock.newest_file_s)) continue;
    clock.newest_file_s = static_cast<std::uint64_t>(status->modified_s);
    clock.newest_file = path;
  }
  return Fact<Clock>::known(std::move(clock), "clock");
}

void add_space(const System& system, const std::string& path, const char* purpose,
               std::vector<FileSpace>& spaces) {
  if (path.empty() || !path.starts_with('/')) return;
  const auto space = system.space(path);
  if (!space) return;
  spaces.push_back({path, purpose, space->total_bytes, space->free_bytes, space->total_inodes,
                    space->free_inodes, space->read_only});
}

// TMPDIR says where temporary files go, for pip, Triton and XLA alike.
Fact<std::vector<FileSpace>> read_spaces(const System& system, const Machine& machine) {
  std::vector<FileSpace> spaces;
  const auto temporary = variable_fact(system, "TMPDIR").value_or("/tmp");
  const auto home = variable_fact(system, "HOME").value_or("");
  add_space(system, temporary, "temporary files", spaces);
  add_space(system, "/dev/shm", "shared memory", spaces);
  add_space(system, home, "home", spaces);
  if (machine.python.interpreter.is_known())
    add_space(system, machine.python.interpreter->prefix, "environment", spaces);
  return Fact<std::vector<FileSpace>>::known(std::move(spaces), "statvfs");
}

}  // namespace

std::optional<std::uint64_t> parse_open_files_limit(std::string_view text) {
  const auto value = value_after(text, "Max open files");
  const auto parts = words(value.value_or(std::string_view()));
  if (parts.empty()) return std::nullopt;
  if (parts[0] == "unlimited") return ~std::uint64_t{0};
  return parse_unsigned(parts[0]);
}

std::optional<std::uint64_t> parse_memory_total(std::string_view text) {
  const auto parts = words(value_after(text, "MemTotal:").value_or(std::string_view()));
  if (parts.size() < 2 || parts[1] != "kB") return std::nullopt;
  const auto kilobytes = parse_unsigned(parts[0]);
  if (!kilobytes || *kilobytes > (~std::uint64_t{0} >> 10)) return std::nullopt;
  return *kilobytes * 1024;
}

std::optional<MemoryGroup> parse_memory_group(std::string_view text) {
  std::optional<MemoryGroup> unified;
  for (const auto line : lines(text)) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    const std::string path(line.substr(second + 1));
    if (!path.starts_with('/')) continue;
    if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end())
      return MemoryGroup{path, false};
    if (line.starts_with("0::")) unified = MemoryGroup{path, true};
  }
  return unified;
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view text) {
  const auto limit = parse_unsigned(trim(text));
  // v1 writes its largest number, rounded to pages, for "no limit".
  if (!limit || *limit >= (std::uint64_t{1} << 60)) return std::nullopt;
  return limit;
}

// Sources: statvfs(2), /proc/self/limits, /proc/meminfo, the files of this process's cgroup, the
// clock and the dates of files that are written all the time. A file system that hangs costs this
// probe alone.
Fill probe_limits(const ProbeInput& input) {
  const System& system = input.system;
  const auto spaces = read_spaces(system, input.machine);
  const auto open_files = read_open_files(system);
  const auto memory = read_memory(system);
  const auto limit = read_memory_limit(system);
  const auto clock = read_clock(system);
  return [=](Machine& machine) {
    machine.host.spaces = spaces;
    machine.host.open_files = open_files;
    machine.host.memory_bytes = memory;
    machine.host.memory_limit_bytes = limit;
    machine.host.clock = clock;
  };
}

}  // namespace gpuwright
