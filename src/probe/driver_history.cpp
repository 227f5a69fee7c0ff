#include "probe/driver_history.h"

#include <algorithm>
#include <map>
#include <span>

#include "base/text.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

constexpr std::size_t kTail = 512 << 10;  // dpkg.log of a month: 0.1 to 2 MB
constexpr std::size_t kMostEvents = 50;

using Events = std::vector<PackageEvent>;

bool begins_with_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

// Logs have thousands of lines and the driver a few; splitting costs more than looking.
bool may_concern(std::string_view line) {
  for (const std::string_view mark : {"nvidia", "linux", "kernel", "libcuda1", "cuda-drivers"})
    if (line.find(mark) != std::string_view::npos) return true;
  return false;
}

// "(none)" and dpkg's "<none>" are no versions.
std::string version_or_empty(std::string_view text) {
  return text.starts_with('<') || text.starts_with('(') ? std::string() : printable(text);
}

}  // namespace

bool is_driver_or_kernel_package(std::string_view package) {
  if (begins_with_one_of(
          package, {"nvidia-container", "libnvidia-container", "nvidia-settings", "nvidia-prime",
                    "nvidia-cuda-", "nvidia-cudnn", "libnvidia-egl", "nvidia-docker", "nvidia-ml"}))
    return false;
  return begins_with_one_of(
             package, {"nvidia", "libnvidia", "libcuda1", "cuda-drivers", "xorg-x11-drv-nvidia",
                       "akmod-nvidia", "kmod-nvidia", "linux-modules-nvidia",
                       "linux-objects-nvidia", "linux-image-", "kernel-core", "kernel-default"}) ||
         package == "linux" || package == "linux-lts" || package == "linux-zen";
}

std::vector<PackageEvent> parse_dpkg_log(std::string_view text) {
  Events events;
  for (const auto line : lines(text)) {
    // The action stands behind "2026-11-20 06:12:33 ", and nine lines in ten tell of states.
    constexpr std::size_t kAction = 20;
    constexpr std::string_view kFirstLetters = "iurp";
    if (line.size() <= kAction || kFirstLetters.find(line[kAction]) == std::string_view::npos)
      continue;
    if (!may_concern(line)) continue;
    const auto fields = words(line);
    if (fields.size() != 6) continue;  // "configure" and "trigproc" lines
    const auto action = fields[2];
    if (action != "install" && action != "upgrade" && action != "remove" && action != "purge")
      continue;
    const auto package = fields[3].substr(0, fields[3].find(':'));
    if (!is_driver_or_kernel_package(package)) continue;
    PackageEvent event{printable(fields[0]) + " " + printable(fields[1]),
                       action == "purge" ? "remove" : std::string(action),
                       printable(package),
                       version_or_empty(fields[4]),
                       version_or_empty(fields[5]),
                       "/var/log/dpkg.log"};
    if (event.action == "remove") event.to.clear();
    // The 32-bit twin is changed in the same second.
    if (events.empty() || events.back() != event) events.push_back(std::move(event));
  }
  return events;
}

namespace {

struct Nevra {
  std::string name, version;
};

// "nvidia-driver-cuda-3:550.54.15-1.el9.x86_64": name, epoch, version, release, architecture.
std::optional<Nevra> split_nevra(std::string_view text) {
  const auto dot = text.rfind('.');
  const auto release = text.substr(0, dot).rfind('-');
  if (dot == std::string_view::npos || release == std::string_view::npos || release == 0)
    return std::nullopt;
  const auto version = text.substr(0, release).rfind('-');
  if (version == std::string_view::npos) return std::nullopt;
  auto whole = text.substr(version + 1, dot - version - 1);
  if (const auto epoch = whole.find(':'); epoch != std::string_view::npos)
    whole.remove_prefix(epoch + 1);
  return Nevra{printable(text.substr(0, version)), printable(whole)};
}

// The words of dnf's log for what comes and what goes.
struct DnfWord {
  std::string_view word, action;
  bool comes;
};
constexpr DnfWord kDnfWords[] = {
    {"Installed:", "install", true},   {"Upgrade:", "upgrade", true},
    {"Upgraded:", "upgrade", false},   {"Erase:", "remove", false},
    {"Erased:", "remove", false},      {"Removed:", "remove", false},
    {"Downgrade:", "downgrade", true}, {"Downgraded:", "downgrade", false},
};

// The version that goes is told after, or before, the one that comes: it completes the last event
// of the same package and kind.
void complete(Events& events, PackageEvent event) {
  for (auto other = events.rbegin(); other != events.rend(); ++other) {
    if (other->package != event.package || other->action != event.action) continue;
    if (other->to.empty() && !event.to.empty()) {
      other->to = event.to;
      return;
    }
    if (other->from.empty() && !event.from.empty()) {
      other->from = event.from;
      return;
    }
    break;
  }
  events.push_back(std::move(event));
}

}  // namespace

std::vector<PackageEvent> parse_dnf_log(std::string_view text) {
  Events events;
  for (const auto line : lines(text)) {
    if (!may_concern(line)) continue;
    const auto fields = words(line);
    if (fields.size() < 4) continue;
    const auto known = std::find_if(std::begin(kDnfWords), std::end(kDnfWords),
                                    [&](const DnfWord& word) { return word.word == fields[2]; });
    if (known == std::end(kDnfWords)) continue;
    const auto nevra = split_nevra(fields[3]);
    if (!nevra || !is_driver_or_kernel_package(nevra->name)) continue;
    PackageEvent event{printable(fields[0]),  std::string(known->action), nevra->name, "", "",
                       "/var/log/dnf.rpm.log"};
    (known->comes ? event.to : event.from) = nevra->version;
    if (event.action == "install" || event.action == "remove")
      events.push_back(std::move(event));
    else
      complete(events, std::move(event));
  }
  return events;
}

std::vector<PackageEvent> parse_zypp_history(std::string_view text) {
  Events events;
  std::map<std::string, std::string> installed;  // zypper tells an upgrade as an install
  for (const auto line : lines(text)) {
    if (!may_concern(line)) continue;
    const auto fields = split(line, '|');
    if (line.starts_with('#') || fields.size() < 4) continue;
    const auto action = trim(fields[1]);
    const auto package = trim(fields[2]);
    if ((action != "install" && action != "remove") || !is_driver_or_kernel_package(package))
      continue;
    PackageEvent event{printable(trim(fields[0])), std::string(action), printable(package), "", "",
                       "/var/log/zypp/history"};
    const auto version = printable(trim(fields[3]));
    auto& before = installed[event.package];
    if (action == "remove") {
      event.from = version;
      before.clear();
    } else {
      event.from = before;
      event.to = before = version;
      if (!event.from.empty()) event.action = "upgrade";
    }
    events.push_back(std::move(event));
  }
  return events;
}

std::vector<PackageEvent> parse_pacman_log(std::string_view text) {
  Events events;
  for (const auto line : lines(text)) {
    if (line.find("[ALPM] ") == std::string_view::npos || !may_concern(line)) continue;
    const auto fields = words(line);
    if (fields.size() < 5 || fields[1] != "[ALPM]" || fields[0].size() < 3) continue;
    const auto action = fields[2];
    if (!is_driver_or_kernel_package(fields[3])) continue;
    PackageEvent event{printable(fields[0].substr(1, fields[0].size() - 2)),
                       "",
                       printable(fields[3]),
                       "",
                       "",
                       "/var/log/pacman.log"};
    const auto bare = [](std::string_view word) {
      if (word.starts_with('(')) word.remove_prefix(1);
      if (word.ends_with(')')) word.remove_suffix(1);
      return printable(word);
    };
    if ((action == "upgraded" || action == "downgraded") && fields.size() >= 7) {
      event.action = action == "upgraded" ? "upgrade" : "downgrade";
      event.from = bare(fields[4]);
      event.to = bare(fields[6]);
    } else if (action == "installed" || action == "removed") {
      event.action = action == "installed" ? "install" : "remove";
      (action == "installed" ? event.to : event.from) = bare(fields[4]);
    } else {
      continue;
    }
    events.push_back(std::move(event));
  }
  return events;
}

std::vector<RunTimes> parse_unattended_runs(std::string_view history) {
  std::vector<RunTimes> runs;
  RunTimes run;
  bool unattended = false;
  // "Start-Date: 2026-11-20  06:12:30" has two blanks, dpkg's log one.
  const auto time_of = [](std::string_view line) {
    const auto fields = words(line);
    return fields.size() == 3 ? printable(fields[1]) + " " + printable(fields[2]) : std::string();
  };
  for (const auto line : lines(history)) {
    if (line.starts_with("Start-Date:")) {
      run = {time_of(line), ""};
      unattended = false;
    } else if (line.starts_with("Commandline:")) {
      unattended = line.find("unattended-upgrade") != std::string_view::npos;
    } else if (line.starts_with("End-Date:") && unattended) {
      run.end = time_of(line);
      runs.push_back(run);
    }
  }
  return runs;
}

void mark_unattended(const std::vector<RunTimes>& runs, std::vector<PackageEvent>& events) {
  for (auto& event : events) {
    const bool inside = std::any_of(runs.begin(), runs.end(), [&](const RunTimes& run) {
      return run.begin <= event.time && event.time <= run.end;
    });
    if (inside && event.action == "upgrade") event.action = "unattended upgrade";
  }
}

namespace {

// The end of a log, from a whole line on.
Result<std::string> read_tail(const System& system, const std::string& path) {
  const auto file = system.open(path);
  if (!file) return tl::unexpected(file.error());
  const auto size = (*file)->status().size;
  const auto offset = size > kTail ? size - kTail : 0;
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(size, kTail)), '\0');
  const auto got = (*file)->read_at(offset, std::as_writable_bytes(std::span(text)));
  if (!got) return tl::unexpected(got.error());
  text.resize(*got);
  if (offset > 0) text.erase(0, text.find('\n') == std::string::npos ? 0 : text.find('\n') + 1);
  return text;
}

Fact<Events> newest_of(Events events, const std::string& source) {
  if (events.size() > kMostEvents)
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(kMostEvents));
  return Fact<Events>::known(std::move(events), source);
}

// On the first of a month dpkg.log is empty, and dpkg.log.1 has the story.
Fact<Events> read_dpkg_history(const System& system, const std::string& newest) {
  const std::string older = "/var/log/dpkg.log.1";
  auto events = parse_dpkg_log(read_tail(system, older).value_or(""));
  for (auto& event : events) event.log = older;
  for (auto& event : parse_dpkg_log(newest)) events.push_back(std::move(event));
  std::vector<RunTimes> runs;
  for (const std::string path : {"/var/log/apt/history.log.1", "/var/log/apt/history.log"})
    for (auto& run : parse_unattended_runs(read_tail(system, path).value_or("")))
      runs.push_back(std::move(run));
  mark_unattended(runs, events);
  return newest_of(std::move(events), "/var/log/dpkg.log");
}

struct Log {
  const char* path;
  Events (*parse)(std::string_view);
};
constexpr Log kLogs[] = {{"/var/log/dnf.rpm.log", parse_dnf_log},
                         {"/var/log/zypp/history", parse_zypp_history},
                         {"/var/log/pacman.log", parse_pacman_log}};

}  // namespace

// Sources, the first that is there: dpkg.log with the one before it and APT's history beside it;
// DNF's, zypper's, pacman's log. One that may not be read ends the search.
void fill_package_history(const System& system, Driver& driver) {
  const std::string dpkg = "/var/log/dpkg.log";
  const auto text = read_tail(system, dpkg);
  if (text) {
    driver.package_history = read_dpkg_history(system, *text);
    return;
  }
  if (!is_not_there(text.error())) {
    driver.package_history = Fact<Events>::unknown(dpkg, text.error().message);
    return;
  }
  for (const auto& log : kLogs) {
    const auto other = read_tail(system, log.path);
    if (!other && is_not_there(other.error())) continue;
    driver.package_history = other ? newest_of(log.parse(*other), log.path)
                                   : Fact<Events>::unknown(log.path, other.error().message);
    return;
  }
  driver.package_history = Fact<Events>::absent("/var/log");
}

}  // namespace gpuwright
