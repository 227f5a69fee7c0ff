#include "probe/driver.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "probe/driver_history.h"
#include "probe/driver_holders.h"
#include "probe/driver_libraries.h"
#include "probe/driver_modules.h"
#include "probe/driver_nodes.h"
#include "probe/driver_services.h"
#include "probe/driver_software.h"
#include "probe/facts.h"
#include "probe/probe.h"

namespace gpuwright {
namespace {

constexpr const char* kNvidiaProc = "/proc/driver/nvidia";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::optional<LoadedModule> parse_driver_version(std::string_view text) {
  constexpr std::string_view kBefore = "Kernel Module";
  const auto line = value_after(text, "NVRM version:");
  if (!line) return std::nullopt;
  const auto at = line->find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  for (const auto word : words(line->substr(at + kBefore.size()))) {
    const auto version = Version::parse(word);
    if (version && version->size() >= 2)
      return LoadedModule{*version, contains(line->substr(0, at), "Open") ? "open" : "proprietary"};
  }
  return std::nullopt;
}

std::vector<std::string> parse_gpu_modules(std::string_view text) {
  std::vector<std::string> names;
  for (const auto line : lines(text)) {
    const auto name = line.substr(0, line.find(' '));
    if (name == "nvidia" || name.starts_with("nvidia_") || name == "nouveau" ||
        name == "vfio_pci" || name == "nova_core")
      names.push_back(printable(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::uint64_t> parse_character_major(std::string_view text, std::string_view driver) {
  const auto block = text.find("Block devices:");
  for (const auto line : lines(text.substr(0, block))) {
    const auto fields = words(line);
    if (fields.size() == 2 && fields[1] == driver) return parse_unsigned(fields[0]);
  }
  return std::nullopt;
}

bool blacklists_nouveau(std::string_view modprobe_text) {
  for (const auto line : lines(modprobe_text)) {
    const auto fields = words(line);
    if (fields.size() < 2 || fields[1] != "nouveau") continue;
    if (fields[0] == "blacklist") return true;
    const bool to_nothing =
        fields.size() >= 3 &&
        (fields[2] == "off" || fields[2].ends_with("/false") || fields[2].ends_with("/true"));
    if ((fields[0] == "install" || fields[0] == "alias") && to_nothing) return true;
  }
  return false;
}

bool command_line_blacklists_nouveau(std::string_view command_line) {
  for (const auto parameter : words(command_line)) {
    if (parameter == "nouveau.modeset=0" || parameter == "nouveau.blacklist=1") return true;
    const auto at = parameter.find('=');
    if (at == std::string_view::npos) continue;
    const auto key = parameter.substr(0, at);
    if (key != "modprobe.blacklist" && key != "module_blacklist") continue;
    for (const auto name : split(parameter.substr(at + 1), ','))
      if (name == "nouveau") return true;
  }
  return false;
}

namespace {

bool concerns_gpu(std::string_view line) {
  for (const std::string_view mark :
       {"NVRM", "nvidia", "NVIDIA", "nouveau", "10de:", "Xid", "fallen off the bus",
        "module verification failed", "Loading of unsigned module", "Loading of module with",
        "Lockdown:", "PKCS#7 signature not signed", "blocked for more than"})
    if (contains(line, mark)) return true;
  return false;
}

// "[    0.2] pci 0000:01:00.0: BAR 1 [mem …]: failed to assign" gives "pci 0000:01:00.0".
std::string_view device_of_bar(std::string_view line) {
  const auto bar = line.find(": BAR ");
  if (bar == std::string_view::npos) return {};
  const auto begin = line.rfind(' ', line.rfind(' ', bar) - 1);
  return begin < bar ? line.substr(begin + 1, bar - begin - 1) : line.substr(0, bar);
}

// The kernel lists the BARs of every device. Of interest are those that found no room, and whether
// a later round found some for them.
class BarLines {
 public:
  bool keeps(std::string_view line) {
    const auto device = device_of_bar(line);
    if (device.empty()) return false;
    if (contains(line, "no space") || contains(line, "failed to assign") ||
        contains(line, "can't assign")) {
      if (without_room_.size() < 1000) without_room_.emplace(device);
      return true;
    }
    return contains(line, "assigned") && without_room_.contains(std::string(device));
  }

 private:
  std::set<std::string> without_room_;
};

std::string_view without_priority(std::string_view line) {
  const auto close = line.find('>');
  const bool has_one = line.starts_with('<') && close != std::string_view::npos && close <= 4;
  return has_one ? line.substr(close + 1) : line;
}

}  // namespace

std::vector<std::string> gpu_lines(std::string_view log, std::size_t limit) {
  std::vector<std::string> found;
  BarLines bars;
  for (const auto line : lines(log))
    if (concerns_gpu(line) || bars.keeps(line)) found.push_back(printable(without_priority(line)));
  if (found.size() > limit)
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(limit));
  return found;
}

namespace {

// The taint letter P marks a module whose license is not the kernel's; the open flavour has only O.
Fact<std::string> read_flavour_of_taint(const System& system) {
  const auto taint = text_fact(system, "/sys/module/nvidia/taint");
  if (!taint.is_known()) return taint;
  return Fact<std::string>::known(contains(*taint, "P") ? "proprietary" : "open", taint.source());
}

void fill_module_of_sysfs(const System& system, Driver& driver) {
  const std::string path = "/sys/module/nvidia/version";
  const auto text = text_fact(system, path);
  if (text.is_known()) {
    const auto version = Version::parse(*text);
    driver.module_version = version ? Fact<Version>::known(*version, path)
                                    : Fact<Version>::unknown(path, version.error().text());
    driver.module_flavour = read_flavour_of_taint(system);
  } else if (exists(system, kNvidiaProc)) {
    const std::string reason = "the driver is there and its version is hidden (gVisor does so)";
    driver.module_version = Fact<Version>::unknown(kNvidiaProc, reason);
    driver.module_flavour = Fact<std::string>::unknown(kNvidiaProc, reason);
  } else {
    const std::string proc = std::string(kNvidiaProc) + "/version";
    const Error none{"No such file or directory", proc, ENOENT};
    driver.module_version = fact_of_proc_error<Version>(system, proc, none);
    driver.module_flavour = fact_of_proc_error<std::string>(system, proc, none);
  }
}

// Sources: /proc/driver/nvidia/version; /sys/module/nvidia/version. Absent only when a running
// kernel shows neither them nor /proc/driver/nvidia.
void fill_module(const System& system, Driver& driver) {
  const std::string path = std::string(kNvidiaProc) + "/version";
  const auto text = system.read(path, 4096);
  if (!text && is_not_there(text.error())) return fill_module_of_sysfs(system, driver);
  const auto module = parse_driver_version(text.value_or(""));
  if (module) {
    driver.module_version = Fact<Version>::known(module->version, path);
    driver.module_flavour = Fact<std::string>::known(module->flavour, path);
    return;
  }
  const auto reason =
      text ? "no version in '" + printable(trim(*text)) + "'" : text.error().message;
  driver.module_version = Fact<Version>::unknown(path, reason);
  driver.module_flavour = Fact<std::string>::unknown(path, reason);
}

// A kernel without loadable modules has no /proc/modules; what is built into it shows in sysfs.
Fact<std::vector<std::string>> read_loaded_modules(const System& system) {
  using Names = std::vector<std::string>;
  const std::string path = "/proc/modules";
  if (const auto text = system.read(path))
    return Fact<Names>::known(parse_gpu_modules(*text), path);
  else if (!is_not_there(text.error()))
    return Fact<Names>::unknown(path, text.error().message);
  const auto built_in = system.list("/sys/module");
  if (!built_in) return Fact<Names>::unknown(path, "neither it nor /sys/module is shown here");
  std::string names;
  for (const auto& entry : *built_in) names += entry.name + "\n";
  return Fact<Names>::known(parse_gpu_modules(names), "/sys/module");
}

Fact<std::uint64_t> read_uvm_major(const System& system) {
  const std::string path = "/proc/devices";
  const auto text = system.read(path);
  if (!text) return fact_of_proc_error<std::uint64_t>(system, path, text.error());
  const auto major = parse_character_major(*text, "nvidia-uvm");
  return major ? Fact<std::uint64_t>::known(*major, path) : Fact<std::uint64_t>::absent(path);
}

struct ModprobeFiles {
  std::vector<SourcedText> files;
  std::string unreadable;  ///< One that may not be read; empty when there is none.
};

// In modprobe's own order, where a file of a name hides later ones of that name.
ModprobeFiles read_modprobe_files(const System& system) {
  ModprobeFiles found;
  std::set<std::string> seen;
  for (const std::string directory :
       {"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
        "/lib/modprobe.d"}) {
    for (const auto& entry : system.list(directory).value_or(std::vector<DirectoryEntry>{})) {
      if (!entry.name.ends_with(".conf") || !seen.insert(entry.name).second) continue;
      const auto path = path_join(directory, entry.name);
      const auto text = system.read(path);
      if (text)
        found.files.push_back({*text, path});
      else if (!is_not_there(text.error()))
        found.unreadable = path;
    }
  }
  return found;
}

Fact<bool> nouveau_blacklist_of(const ModprobeFiles& modprobe, std::string_view command_line) {
  if (command_line_blacklists_nouveau(command_line))
    return Fact<bool>::known(true, "/proc/cmdline");
  for (const auto& file : modprobe.files)
    if (blacklists_nouveau(file.text)) return Fact<bool>::known(true, file.path);
  if (!modprobe.unreadable.empty())
    return Fact<bool>::unknown(modprobe.unreadable, "cannot be read");
  return Fact<bool>::known(false, "/etc/modprobe.d, /lib/modprobe.d, /proc/cmdline");
}

// Sources: modprobe.d; the command line of the running kernel, which comes last.
void fill_module_settings(const System& system, Driver& driver) {
  const auto modprobe = read_modprobe_files(system);
  const std::string command_line = system.read("/proc/cmdline").value_or("");
  driver.nouveau_blacklisted = nouveau_blacklist_of(modprobe, command_line);
  for (const auto& file : modprobe.files) add_module_options(file.text, driver.module_options);
  add_command_line_options(command_line, driver.module_options);
}

Fact<std::vector<std::string>> read_kernel_log(const System& system) {
  using Lines = std::vector<std::string>;
  const std::string source = "kernel log";
  const auto log = system.kernel_log();
  if (log) return Fact<Lines>::known(gpu_lines(*log), source);
  if (log.error().code == EPERM || log.error().code == EACCES)
    return Fact<Lines>::unknown(source, "kernel.dmesg_restrict keeps it for root (sudo dmesg)");
  return Fact<Lines>::unknown(source, log.error().message);
}

}  // namespace

Fill probe_driver(const ProbeInput& input) {
  const System& system = input.system;
  Driver driver;
  fill_module(system, driver);
  driver.loaded_modules = read_loaded_modules(system);
  fill_module_files(system, input.machine.host.kernel_release, driver);
  fill_module_settings(system, driver);
  driver.nodes = read_device_nodes(system);
  driver.node_helper = read_node_helper(system);
  driver.uvm_major = read_uvm_major(system);
  fill_driver_libraries(system, driver);
  fill_driver_software(system, input.machine.host.container, driver);
  driver.kernel_log = read_kernel_log(system);
  fill_driver_services(system, input.machine, driver);
  fill_package_history(system, driver);
  fill_driver_holders(system, driver);
  return [driver = std::move(driver)](Machine& machine) { machine.driver = driver; };
}

}  // namespace gpuwright
