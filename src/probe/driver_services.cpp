#include "probe/driver_services.h"

#include <algorithm>

#include "base/text.h"
#include "probe/driver_software.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

constexpr std::size_t kMostOptions = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<DirectoryEntry> entries_of(const System& system, const std::string& directory) {
  return system.list(directory).value_or(std::vector<DirectoryEntry>{});
}

}  // namespace

std::optional<Version> parse_installer_list(std::string_view text) {
  const auto first = words(text.substr(0, text.find('\n')));
  if (first.empty()) return std::nullopt;
  auto word = first.back();
  if (word.starts_with('(') && word.ends_with(')')) word = word.substr(1, word.size() - 2);
  const auto version = Version::parse(word);
  return version && version->size() >= 2 ? std::optional(*version) : std::nullopt;
}

std::optional<Version> parse_installer_log(std::string_view text) {
  const auto value = value_after(text, "installer version:");
  const auto version = value ? Version::parse(*value) : Result<Version>(fail("no such line"));
  return version ? std::optional(*version) : std::nullopt;
}

namespace {

// The kernel writes '-' and '_' alike in the names of modules.
std::optional<std::string> nvidia_module(std::string_view name) {
  std::string module(name);
  std::replace(module.begin(), module.end(), '-', '_');
  if (module.starts_with("nvidia_current")) module.replace(0, 14, "nvidia");
  if (module == "nvidia" || module.starts_with("nvidia_")) return printable(module);
  return std::nullopt;
}

void add_option(const std::string& module, std::string_view option,
                std::map<std::string, std::string>& into) {
  const auto equals = option.find('=');
  if (equals == std::string_view::npos || equals == 0 || into.size() >= kMostOptions) return;
  auto value = option.substr(equals + 1);
  if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
    value = value.substr(1, value.size() - 2);
  into[module + "." + printable(option.substr(0, equals))] = printable(value);
}

}  // namespace

void add_module_options(std::string_view modprobe_text, std::map<std::string, std::string>& into) {
  std::string joined(modprobe_text);
  for (auto at = joined.find("\\\n"); at != std::string::npos; at = joined.find("\\\n", at))
    joined.replace(at, 2, "  ");
  for (const auto line : lines(joined)) {
    const auto fields = words(line);
    if (fields.size() < 3 || fields[0] != "options") continue;
    const auto module = nvidia_module(fields[1]);
    if (!module) continue;
    for (std::size_t i = 2; i < fields.size(); ++i) add_option(*module, fields[i], into);
  }
}

void add_command_line_options(std::string_view command_line,
                              std::map<std::string, std::string>& into) {
  for (const auto parameter : words(command_line)) {
    const auto dot = parameter.find('.');
    if (dot == std::string_view::npos || parameter.find('=') < dot) continue;
    if (const auto module = nvidia_module(parameter.substr(0, dot)))
      add_option(*module, parameter.substr(dot + 1), into);
  }
}

// A profile ends in the size of its memory in GiB and its series: A (applications), B (PC), C
// (compute), Q (workstation).
bool is_vgpu_name(std::string_view model) {
  model = trim(model);
  if (model.empty() || std::string_view("ABCQ").find(model.back()) == std::string_view::npos)
    return false;
  const auto dash = model.rfind('-');
  if (dash == std::string_view::npos) return false;
  const auto size = model.substr(dash + 1, model.size() - dash - 2);
  return !size.empty() && std::all_of(size.begin(), size.end(), is_digit);
}

bool names_licence_server(std::string_view gridd_conf) {
  for (const auto line : lines(gridd_conf))
    for (const std::string_view key : {"ServerAddress=", "ClientConfigTokenPath="})
      if (line.starts_with(key) && !trim(line.substr(key.size())).empty()) return true;
  return false;
}

namespace {

// Sources: the installer's list of what it wrote; where that may not be read, its log beside the
// uninstaller, which only the installer puts there.
Fact<Version> read_runfile(const System& system) {
  const std::string list = "/var/lib/nvidia/log", uninstaller = "/usr/bin/nvidia-uninstall";
  const auto text = system.read(list, 4096);
  if (text) {
    if (const auto version = parse_installer_list(*text))
      return Fact<Version>::known(*version, list);
  }
  if (!exists(system, uninstaller))
    return text || is_not_there(text.error()) ? Fact<Version>::absent(uninstaller)
                                              : Fact<Version>::unknown(list, text.error().message);
  const std::string log = "/var/log/nvidia-installer.log";
  if (const auto version = parse_installer_log(system.read(log, 4096).value_or("")))
    return Fact<Version>::known(*version, log);
  return Fact<Version>::unknown(uninstaller, "it is there, and its version is not told");
}

MigGpu count_instances(const System& system, std::uint64_t minor, const std::string& directory) {
  MigGpu gpu{minor, 0, 0};
  for (const auto& instance : entries_of(system, directory)) {
    if (!instance.name.starts_with("gi") || gpu.gpu_instances >= 16) continue;
    ++gpu.gpu_instances;
    for (const auto& part : entries_of(system, path_join(directory, instance.name)))
      if (part.name.starts_with("ci") && part.name != "ci") ++gpu.compute_instances;
  }
  return gpu;
}

// gpuN/mig is there for every GPU that can do MIG, switched on or not; instances only while it is.
Fact<std::vector<MigGpu>> read_mig(const System& system) {
  using Gpus = std::vector<MigGpu>;
  const std::string directory = "/proc/driver/nvidia/capabilities";
  const auto entries = system.list(directory);
  if (!entries) return fact_of_proc_error<Gpus>(system, directory, entries.error());
  Gpus gpus;
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with("gpu") || gpus.size() >= 64) continue;
    const auto minor = parse_unsigned(std::string_view(entry.name).substr(3));
    const auto instances = path_join(directory, entry.name) + "/mig";
    if (minor && exists(system, instances))
      gpus.push_back(count_instances(system, *minor, instances));
  }
  if (gpus.empty()) return Fact<Gpus>::absent(directory);
  return Fact<Gpus>::known(std::move(gpus), directory);
}

// The daemon leaves its PID file and its sockets behind when it is killed; they bother nobody.
Fact<bool> read_mps_daemon(const System& system, const std::string& directory, bool container) {
  const auto pid_file = directory + "/nvidia-cuda-mps-control.pid";
  if (const auto pid = system.read(pid_file, 64)) {
    const auto comm = system.read("/proc/" + std::string(trim(*pid)) + "/comm", 64);
    if (comm && trim(*comm).starts_with("nvidia-cuda-mps"))
      return Fact<bool>::known(true, pid_file);
    if (!container) return Fact<bool>::known(false, pid_file);
  }
  const std::string sockets = "/proc/net/unix";
  const auto text = system.read(sockets);
  if (text && text->find(directory + "/control\n") != std::string::npos)
    return Fact<bool>::known(true, sockets);
  if (container && exists(system, directory + "/control"))
    return Fact<bool>::unknown(directory, "the host's daemons are not shown inside a container");
  if (!text) return Fact<bool>::unknown(sockets, text.error().message);
  return Fact<bool>::known(false, sockets);
}

void fill_mps(const System& system, bool container, Driver& driver) {
  const std::string name = "CUDA_MPS_PIPE_DIRECTORY", usual = "/tmp/nvidia-mps";
  const auto variable = variable_fact(system, name);
  const bool set = variable.is_known() && !variable->empty();
  if (!set && !exists(system, usual)) {
    driver.mps_directory = Fact<std::string>::absent(usual);
    driver.mps_daemon = Fact<bool>::absent(usual);
    return;
  }
  const std::string directory = set ? printable(*variable) : usual;
  driver.mps_directory = Fact<std::string>::known(directory, set ? name : usual);
  driver.mps_daemon = read_mps_daemon(system, directory, container);
}

Fact<bool> read_vgpu_guest(const Hardware& hardware) {
  if (!hardware.driver_gpus.is_known())
    return hardware.driver_gpus.is_absent()
               ? Fact<bool>::absent(hardware.driver_gpus.source())
               : Fact<bool>::unknown(hardware.driver_gpus.source(), "no GPU is listed");
  for (const auto& gpu : *hardware.driver_gpus)
    if (gpu.model.is_known() && is_vgpu_name(*gpu.model))
      return Fact<bool>::known(true, gpu.model.source());
  return Fact<bool>::known(false, hardware.driver_gpus.source());
}

// Sources: a token in the usual directory; a server or another directory in gridd.conf.
Fact<bool> read_licence_configured(const System& system) {
  const std::string tokens = "/etc/nvidia/ClientConfigToken", conf = "/etc/nvidia/gridd.conf";
  const auto entries = system.list(tokens);
  if (entries) {
    for (const auto& entry : *entries)
      if (entry.name.ends_with(".tok")) return Fact<bool>::known(true, tokens);
  } else if (!is_not_there(entries.error())) {
    return Fact<bool>::unknown(tokens, entries.error().message);
  }
  const auto text = system.read(conf, 64 << 10);
  if (!text && !is_not_there(text.error())) return Fact<bool>::unknown(conf, text.error().message);
  return Fact<bool>::known(names_licence_server(text.value_or("")), conf);
}

// Only a share of a GPU needs a licence, so nobody else pays for the look.
void fill_licence(const System& system, bool container, Driver& driver) {
  if (!driver.vgpu_guest.is(true)) {
    driver.licence_daemon = Fact<bool>::absent("/usr/bin/nvidia-gridd");
    driver.licence_configured = Fact<bool>::absent("/etc/nvidia/gridd.conf");
    return;
  }
  if (container) return;  // the host's, as all of its files
  driver.licence_daemon = exists(system, "/usr/bin/nvidia-gridd")
                              ? is_process_running(system, "nvidia-gridd")
                              : Fact<bool>::absent("/usr/bin/nvidia-gridd");
  driver.licence_configured = read_licence_configured(system);
}

// The places where the kernel looks, in its order (firmware_class); a file may be compressed.
std::vector<std::string> firmware_places(const System& system, const std::string& kernel) {
  std::vector<std::string> places;
  const auto own = text_fact(system, "/sys/module/firmware_class/parameters/path");
  if (own.is_known() && !own->empty()) places.push_back(*own);
  if (!kernel.empty()) places.push_back("/lib/firmware/updates/" + kernel);
  places.push_back("/lib/firmware/updates");
  if (!kernel.empty()) places.push_back("/lib/firmware/" + kernel);
  places.push_back("/lib/firmware");
  return places;
}

Fact<bool> read_gsp_firmware(const System& system, const std::string& kernel,
                             const Driver& driver) {
  const std::string source = "/lib/firmware/nvidia";
  if (!driver.module_version.is_known()) return Fact<bool>::absent(source);
  for (const auto& place : firmware_places(system, kernel)) {
    const auto directory = place + "/nvidia/" + driver.module_version->text();
    const auto entries = system.list(directory);
    if (!entries && !is_not_there(entries.error()))
      return Fact<bool>::unknown(directory, entries.error().message);
    for (const auto& entry : entries.value_or(std::vector<DirectoryEntry>{}))
      if (entry.name.starts_with("gsp")) return Fact<bool>::known(true, directory);
  }
  return Fact<bool>::known(false, source + "/" + driver.module_version->text());
}

}  // namespace

void fill_driver_services(const System& system, const Machine& before, Driver& driver) {
  const bool container = before.host.container.is_known();
  driver.runfile = read_runfile(system);
  driver.mig = read_mig(system);
  fill_mps(system, container, driver);
  driver.vgpu_guest = read_vgpu_guest(before.hardware);
  fill_licence(system, container, driver);
  driver.gsp_firmware =
      container ? Fact<bool>::unknown("/lib/firmware",
                                      "the host's files are not shown inside a "
                                      "container")
                : read_gsp_firmware(system, before.host.kernel_release.value_or(""), driver);
}

}  // namespace gpuwright
