#include "diagnose/kernel_log.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "diagnose/setting.h"

namespace gpuwright {
namespace {

constexpr std::uint64_t kFallenOff = 79;
constexpr std::uint64_t kRecoveryAction = 154;

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "0000:3b:00.0 GPU-I:05" gives "0000:3b:00".
std::string slot_of(std::string_view text) {
  text = text.substr(0, text.find(' '));
  return lower(text.substr(0, text.find('.')));
}

// What stands after `key` up to the next comma, without quotes.
std::string field_of(std::string_view rest, std::string_view key) {
  const auto at = rest.find(key);
  if (at == std::string_view::npos) return {};
  auto value = rest.substr(at + key.size());
  value = value.substr(0, value.find(','));
  if (value.starts_with('\'') && value.ends_with('\'') && value.size() >= 2)
    value = value.substr(1, value.size() - 2);
  return value.starts_with('<') ? std::string() : std::string(trim(value));
}

std::string program_of(std::string_view rest) {
  const auto name = field_of(rest, "name=");
  const auto pid = field_of(rest, "pid=");
  if (name.empty()) return pid.empty() ? std::string() : "pid " + pid;
  return name + (pid.empty() ? "" : " (pid " + pid + ")");
}

std::optional<XidLine> parse_fallen_off(std::string_view line) {
  constexpr std::string_view kBefore = "NVRM: GPU ";
  const auto at = line.find(kBefore);
  if (at == std::string_view::npos || !holds(line, "GPU has fallen off the bus"))
    return std::nullopt;
  const auto address = line.substr(at + kBefore.size());
  return XidLine{kFallenOff, slot_of(address.substr(0, address.find(": "))), "", std::string(line)};
}

// The domain has four digits in one place and eight in another.
std::string_view without_leading_zeros(std::string_view text) {
  const auto at = text.find_first_not_of('0');
  return at == std::string_view::npos ? text : text.substr(at);
}

bool says_recovered(const XidLine& xid) {
  return xid.code == kRecoveryAction && holds(xid.line, " to 0x0 ");
}

}  // namespace

std::optional<XidLine> parse_xid(std::string_view line) {
  constexpr std::string_view kBefore = "NVRM: Xid (";
  const auto at = line.find(kBefore);
  if (at == std::string_view::npos) return parse_fallen_off(line);
  auto rest = line.substr(at + kBefore.size());
  if (rest.starts_with("PCI:")) rest.remove_prefix(4);
  const auto close = rest.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  const auto place = rest.substr(0, close);
  rest = rest.substr(close + 3);
  const auto code = parse_unsigned(rest.substr(0, rest.find(',')));
  if (!code) return std::nullopt;
  return XidLine{*code, slot_of(place), program_of(rest), std::string(line)};
}

bool is_slot_of(std::string_view slot, std::string_view address) {
  const auto whole = lower(address.substr(0, address.rfind('.')));
  return !slot.empty() && without_leading_zeros(slot) == without_leading_zeros(whole);
}

std::vector<std::string> lines_since_load(const Machine& machine) {
  const auto& log = machine.driver.kernel_log;
  if (!log.is_known()) return {};
  auto first = log->begin();
  for (auto line = log->begin(); line != log->end(); ++line)
    if (holds(*line, "NVRM: loading NVIDIA UNIX")) first = line;
  return {first, log->end()};
}

std::vector<XidLine> open_xids(const Machine& machine) {
  std::vector<XidLine> open;
  for (const auto& line : lines_since_load(machine)) {
    auto xid = parse_xid(line);
    if (!xid) continue;
    if (says_recovered(*xid))
      std::erase_if(open, [&](const XidLine& other) { return other.slot == xid->slot; });
    else if (xid->code != kRecoveryAction)
      open.push_back(*std::move(xid));
  }
  return open;
}

std::vector<Evidence> lines_about(const Machine& machine, const std::string& address,
                                  std::initializer_list<std::string_view> needles,
                                  std::size_t at_most) {
  const auto slot = lower(address.substr(0, address.rfind('.')));
  std::vector<Evidence> found;
  for (const auto& line : lines_since_load(machine)) {
    if (!holds(lower(line), slot)) continue;
    const bool hit = std::any_of(needles.begin(), needles.end(),
                                 [&](std::string_view needle) { return holds(line, needle); });
    if (hit) found.push_back({line, machine.driver.kernel_log.source()});
  }
  if (found.size() > at_most)
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(at_most));
  return found;
}

bool may_be_listed(const Machine& machine, const PciGpu& gpu) {
  const auto& listed = machine.hardware.driver_gpus;
  if (!listed.is_known()) return true;
  return std::any_of(listed->begin(), listed->end(), [&](const DriverGpu& other) {
    return lower(other.address) == lower(gpu.address);
  });
}

Started has_started(const Machine& machine, const PciGpu& gpu) {
  const auto& listed = machine.hardware.driver_gpus;
  if (listed.is_absent()) return Started::kNo;
  if (!listed.is_known()) return Started::kUnknown;
  for (const auto& other : *listed) {
    if (lower(other.address) != lower(gpu.address)) continue;
    if (!other.uuid.is_known()) return Started::kUnknown;
    return holds(*other.uuid, "?") ? Started::kNo : Started::kYes;
  }
  return Started::kNo;
}

std::vector<PciGpu> judged_gpus(const Machine& machine) {
  const auto setting = setting_of(machine);
  if (setting == Setting::kWsl || is_wsl(machine) || setting == Setting::kGvisor) return {};
  auto gpus = machine.hardware.gpus.value_or({});
  if (setting != Setting::kContainer) return gpus;
  if (!machine.hardware.driver_gpus.is_known()) return {};
  std::erase_if(gpus, [&](const PciGpu& gpu) { return !may_be_listed(machine, gpu); });
  return gpus;
}

namespace {

// "pci 0000:06:00.0: BAR 1 [mem size 0x10000000 64bit pref]: failed to assign"; before Linux 6.10
// the colon stood behind the number. 6 is the ROM, and "VF BAR" is of virtual functions: not
// needed.
std::optional<std::uint64_t> memory_bar_of(std::string_view line) {
  constexpr std::string_view kBefore = ": BAR ";
  const auto at = line.find(kBefore);
  if (at == std::string_view::npos || !holds(line, "[mem")) return std::nullopt;
  const auto number = parse_unsigned(line.substr(at + kBefore.size(), 1));
  return number && *number <= 5 ? number : std::nullopt;
}

// The driver's own word: "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)".
bool says_bar_is_empty(std::string_view line) {
  return holds(line, "NVRM: BAR") && holds(line, " is 0M @ 0x0");
}

// The kernel complains in its first round already; that counts only while no later round finds room
// for the same region.
bool lacks_bar_space(const Machine& machine, const PciGpu& gpu) {
  const auto slot = lower(gpu.address.substr(0, gpu.address.rfind('.')));
  std::set<std::uint64_t> without_room;
  for (const auto& line : machine.driver.kernel_log.value_or({})) {
    if (!holds(lower(line), slot)) continue;
    if (says_bar_is_empty(line)) return true;
    const auto bar = memory_bar_of(line);
    if (!bar) continue;
    if (holds(line, "failed to assign") || holds(line, "no space"))
      without_room.insert(*bar);
    else if (holds(line, "assigned"))
      without_room.erase(*bar);
  }
  return !without_room.empty();
}

}  // namespace

std::vector<Evidence> missing_firmware(const Machine& machine) {
  constexpr std::size_t kAtMost = 2;
  std::vector<Evidence> found;
  if (!machine.driver.module_version.is_known()) return found;
  const auto mark = "firmware load for nvidia/" + machine.driver.module_version->text() + "/";
  for (const auto& line : lines_since_load(machine))
    if (holds(line, mark) && holds(line, "failed") && found.size() < kAtMost)
      found.push_back({line, machine.driver.kernel_log.source()});
  return found;
}

StartFailure start_failure(const Machine& machine, const PciGpu& gpu) {
  if (!lines_about(machine, gpu.address, {"does not have the necessary power cables"}).empty())
    return StartFailure::kPower;
  if (lacks_bar_space(machine, gpu)) return StartFailure::kBarSpace;
  return lines_about(machine, gpu.address, {"RmInitAdapter failed!"}).empty()
             ? StartFailure::kNone
             : StartFailure::kOther;
}

}  // namespace gpuwright
