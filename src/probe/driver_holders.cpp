#include "probe/driver_holders.h"

#include <algorithm>

#include "base/text.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

constexpr std::size_t kMostProcesses = 3000;
constexpr std::size_t kMostHolders = 50;
constexpr std::size_t kMostDescriptors = 256;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string held_library(std::string_view maps) {
  for (const std::string_view mark : {"/libcuda.so", "/libnvidia-"}) {
    const auto at = maps.find(mark);
    if (at == std::string_view::npos) continue;
    const auto begin = maps.rfind('\n', at) + 1;  // npos + 1 is 0
    const auto line = maps.substr(begin, maps.find('\n', at) - begin);
    const auto path = line.find('/');
    if (path != std::string_view::npos) return printable(trim(line.substr(path)));
  }
  return {};
}

std::optional<TaskState> parse_task_state(std::string_view stat) {
  const auto open = stat.find('('), close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  const auto rest = trim(stat.substr(close + 1));
  if (rest.empty()) return std::nullopt;
  return TaskState{printable(stat.substr(open + 1, close - open - 1)), rest.front()};
}

bool is_inside_driver(std::string_view wchan) {
  return contains(wchan, "nvidia") || wchan.starts_with("uvm_") || wchan.starts_with("nv_") ||
         wchan.starts_with("_nv") || wchan.starts_with("nvkms") || wchan.starts_with("rm_") ||
         wchan.starts_with("os_acquire") || wchan.starts_with("os_wait");
}

namespace {

std::vector<std::string> process_ids(const System& system) {
  std::vector<std::string> ids;
  for (const auto& entry : system.list("/proc").value_or(std::vector<DirectoryEntry>{}))
    if (parse_unsigned(entry.name) && ids.size() < kMostProcesses) ids.push_back(entry.name);
  return ids;
}

// A GPU's node among the open files; empty when there is none or they may not be seen.
std::string open_node(const System& system, const std::string& process) {
  const auto directory = process + "/fd";
  std::size_t looked_at = 0;
  for (const auto& entry : system.list(directory).value_or(std::vector<DirectoryEntry>{})) {
    if (++looked_at > kMostDescriptors) break;
    const auto target = system.read_link(path_join(directory, entry.name));
    if (target && target->starts_with("/dev/nvidia")) return printable(*target);
  }
  return {};
}

bool versions_differ(const Driver& driver) {
  return driver.module_version.is_known() && driver.user_space_version.is_known() &&
         *driver.module_version != *driver.user_space_version;
}

Fact<std::vector<DriverHolder>> read_holders(const System& system) {
  using Holders = std::vector<DriverHolder>;
  Holders holders;
  std::size_t hidden = 0;
  for (const auto& id : process_ids(system)) {
    const auto process = "/proc/" + id;
    const auto maps = system.read(process + "/maps");
    if (!maps) {
      if (!is_not_there(maps.error())) ++hidden;
      continue;
    }
    auto holds = held_library(*maps);
    if (holds.empty()) holds = open_node(system, process);
    if (holds.empty() || holders.size() >= kMostHolders) continue;
    const auto name = system.read(process + "/comm", 64);
    holders.push_back({*parse_unsigned(id), printable(trim(name.value_or(""))), std::move(holds)});
  }
  return Fact<Holders>::known(std::move(holders), hidden == 0
                                                      ? std::string("/proc")
                                                      : "/proc, without " + std::to_string(hidden) +
                                                            " processes of other users");
}

bool log_speaks_of_hang(const Fact<std::vector<std::string>>& log) {
  return std::any_of(log->begin(), log->end(), [](const std::string& line) {
    return contains(line, "blocked for more than") || contains(line, "): 119,") ||
           contains(line, "): 120,") || contains(line, "GSP RPC");
  });
}

// A task that is stuck adds one to the load for as long as it is.
bool load_allows_hang(const System& system) {
  const auto text = system.read("/proc/loadavg", 128);
  if (!text) return true;
  const auto fields = words(*text);
  return fields.empty() || !(fields[0].starts_with("0.0") || fields[0].starts_with("0.1") ||
                             fields[0].starts_with("0.2") || fields[0].starts_with("0.3"));
}

std::optional<BlockedTask> blocked_task(const System& system, const std::string& id) {
  const auto process = "/proc/" + id;
  const auto stat = system.read(process + "/stat", 1024);
  const auto state = stat ? parse_task_state(*stat) : std::nullopt;
  if (!state || state->state != 'D') return std::nullopt;
  const auto text = system.read(process + "/wchan", 256);
  const std::string where = text && trim(*text) != "0" ? printable(trim(*text)) : std::string();
  if (!is_inside_driver(where) && open_node(system, process).empty()) return std::nullopt;
  return BlockedTask{*parse_unsigned(id), state->name, where};
}

Fact<std::vector<BlockedTask>> read_blocked(const System& system) {
  std::vector<BlockedTask> blocked;
  for (const auto& id : process_ids(system))
    if (auto task = blocked_task(system, id)) blocked.push_back(*std::move(task));
  return Fact<std::vector<BlockedTask>>::known(std::move(blocked), "/proc");
}

Fact<std::vector<BlockedTask>> blocked_or_none(const System& system, const Driver& driver) {
  using Tasks = std::vector<BlockedTask>;
  if (driver.module_version.is_absent()) return Fact<Tasks>::absent("/proc/driver/nvidia");
  if (!has_proc(system)) return Fact<Tasks>::unknown("/proc", "no running system in this tree");
  if (driver.kernel_log.is_known())
    return log_speaks_of_hang(driver.kernel_log) ? read_blocked(system)
                                                 : Fact<Tasks>::known({}, "kernel log");
  return load_allows_hang(system) ? read_blocked(system) : Fact<Tasks>::known({}, "/proc/loadavg");
}

}  // namespace

void fill_driver_holders(const System& system, Driver& driver) {
  driver.holders = versions_differ(driver)
                       ? read_holders(system)
                       : Fact<std::vector<DriverHolder>>::unknown(
                             "/proc", "not asked: module and libraries are of one version");
  driver.blocked = blocked_or_none(system, driver);
}

}  // namespace gpuwright
