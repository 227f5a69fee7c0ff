#include "probe/host.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "probe/facts.h"
#include "probe/host_cpu.h"
#include "probe/host_loader.h"
#include "probe/host_surroundings.h"
#include "probe/probe.h"

namespace gpuwright {

namespace {

// os-release(5) values follow the shell: bare, '…' or "…" with \-escapes of $ " \ `.
std::string unquote(std::string_view value) {
  if (value.size() < 2 || (value.front() != '"' && value.front() != '\''))
    return std::string(value);
  const char quote = value.front();
  std::string plain;
  for (std::size_t i = 1; i < value.size() && value[i] != quote; ++i) {
    if (quote == '"' && value[i] == '\\' && i + 1 < value.size()) ++i;
    plain += value[i];
  }
  return plain;
}

std::optional<std::string> os_release_value(std::string_view text, std::string_view key) {
  const auto value = value_after(text, key);
  if (!value) return std::nullopt;
  return printable(unquote(*value));
}

}  // namespace

OsRelease parse_os_release(std::string_view text) {
  return {os_release_value(text, "ID="), os_release_value(text, "VERSION_ID="),
          os_release_value(text, "PRETTY_NAME=")};
}

std::map<std::uint64_t, std::string> parse_group_names(std::string_view text) {
  std::map<std::uint64_t, std::string> names;
  for (const auto line : lines(text)) {
    const auto fields = split(line, ':');  // name:password:gid:members
    if (fields.size() < 3 || fields[0].empty()) continue;
    if (const auto gid = parse_unsigned(fields[2])) names.emplace(*gid, printable(fields[0]));
  }
  return names;
}

std::string group_name(const std::map<std::uint64_t, std::string>& names, std::uint64_t gid) {
  const auto found = names.find(gid);
  return found == names.end() ? "#" + std::to_string(gid) : found->second;
}

std::optional<std::uint64_t> parse_locked_memory_limit(std::string_view text) {
  const auto value = value_after(text, "Max locked memory");
  if (!value) return std::nullopt;
  const auto fields = words(*value);  // soft, hard, unit
  if (fields.empty()) return std::nullopt;
  if (fields[0] == "unlimited") return std::numeric_limits<std::uint64_t>::max();
  return parse_unsigned(fields[0]);
}

std::optional<std::string> parse_lockdown(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  return printable(text.substr(open + 1, close - open - 1));
}

std::optional<bool> parse_efi_flag(std::string_view bytes) {
  if (bytes.size() != 5 || (bytes[4] != 0 && bytes[4] != 1)) return std::nullopt;
  return bytes[4] == 1;
}

std::optional<std::string> parse_device_controller(std::string_view text) {
  for (const auto line : lines(text)) {
    const auto fields = split(line, ':');  // id:controllers:path
    if (fields.size() < 3) continue;
    for (const auto controller : split(fields[1], ','))
      if (controller == "devices") return std::string(fields[2]);
  }
  return std::nullopt;
}

std::optional<Version> newest_symbol_version(const std::vector<std::string>& definitions,
                                             std::string_view prefix) {
  std::optional<Version> newest;
  for (const std::string_view name : definitions) {
    if (!name.starts_with(prefix)) continue;
    const auto version = Version::parse(name.substr(prefix.size()));
    if (version && (!newest || *newest < *version)) newest = *version;
  }
  return newest;
}

namespace {

Fact<std::string> release_fact(const std::optional<std::string>& value, const std::string& source) {
  if (!value) return Fact<std::string>::absent(source);
  return Fact<std::string>::known(*value, source);
}

// Sources: /etc/os-release; /usr/lib/os-release, which is the vendor's copy when /etc has none.
void fill_distribution(const System& system, Host& host) {
  const auto text = read_first(system, {"/etc/os-release", "/usr/lib/os-release"});
  if (!text) {
    const auto none = Fact<std::string>::from_error("/etc/os-release", text.error());
    host.distribution = host.distribution_version = host.distribution_name = none;
    return;
  }
  const auto release = parse_os_release(text->text);
  host.distribution = release_fact(release.id, text->path);
  host.distribution_version = release_fact(release.version_id, text->path);
  host.distribution_name = release_fact(release.pretty_name, text->path);
}

Fact<std::string> architecture_of_machine_code(std::uint16_t machine, const std::string& source) {
  switch (machine) {
    case 62:
      return Fact<std::string>::known("x86_64", source);
    case 183:
      return Fact<std::string>::known("aarch64", source);
    default:
      return Fact<std::string>::unknown(source, "ELF machine " + std::to_string(machine));
  }
}

// Sources: uname(2); for the architecture of a tree without a running kernel, its programs.
void fill_kernel(const System& system, const PlainProgram& plain, Host& host) {
  const auto kernel = system.kernel();
  if (kernel) {
    host.kernel_release = Fact<std::string>::known(printable(kernel->release), "uname -r");
  } else {
    host.kernel_release = Fact<std::string>::unknown("uname -r", kernel.error().message);
  }
  if (kernel && !kernel->architecture.empty()) {
    host.architecture = Fact<std::string>::known(printable(kernel->architecture), "uname -m");
  } else if (!plain.program.empty()) {
    host.architecture = architecture_of_machine_code(plain.process.config().machine, plain.program);
  } else {
    host.architecture = Fact<std::string>::unknown("uname -m", plain.problem);
  }
}

// The C library that the loader maps for a plain program. On a musl system there is none of that
// name, which is a fact.
Fact<Version> read_glibc(const PlainProgram& plain) {
  const std::string source = "libc.so.6";
  if (plain.program.empty()) return Fact<Version>::unknown(source, plain.problem);
  const auto index = plain.process.find(source);
  if (!index) return Fact<Version>::absent("what " + plain.program + " maps");
  const auto& libc = plain.process.objects()[*index];
  const auto version = newest_symbol_version(libc.elf.version_definitions, "GLIBC_");
  if (!version) return Fact<Version>::unknown(libc.real_path, "it defines no GLIBC_ version");
  return Fact<Version>::known(*version, libc.real_path);
}

Fact<CxxRuntime> read_cxx_runtime(PlainProgram& plain) {
  const std::string source = "libstdc++.so.6";
  if (plain.program.empty()) return Fact<CxxRuntime>::unknown(source, plain.problem);
  const auto outcome = plain.process.dlopen(source);
  if (outcome.state == loader::Outcome::State::kMissing) return Fact<CxxRuntime>::absent(source);
  if (outcome.state != loader::Outcome::State::kFound)
    return Fact<CxxRuntime>::unknown(source, outcome.error);
  const auto& runtime = plain.process.objects()[*outcome.object];
  const auto newest = newest_symbol_version(runtime.elf.version_definitions, "GLIBCXX_");
  if (!newest)
    return Fact<CxxRuntime>::unknown(runtime.real_path, "it defines no GLIBCXX_ version");
  return Fact<CxxRuntime>::known({runtime.real_path, newest->text()}, runtime.real_path);
}

// efivarfs may be missing for other reasons than a machine without EFI: containers hide all of
// /sys/firmware behind an empty directory, and some distributions do not mount it.
Fact<bool> read_secure_boot(const System& system) {
  const std::string directory = "/sys/firmware/efi/efivars";
  const std::string variable = directory + "/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
  if (const auto bytes = system.read(variable, 64)) {
    const auto enabled = parse_efi_flag(*bytes);
    if (!enabled) return Fact<bool>::unknown(variable, "is not an attribute word and one flag");
    return Fact<bool>::known(*enabled, variable);
  } else if (!is_not_there(bytes.error())) {
    return Fact<bool>::unknown(variable, bytes.error().message);
  }
  const auto firmware = system.list("/sys/firmware");
  if (!firmware || firmware->empty())
    return Fact<bool>::unknown("/sys/firmware", "hidden or not mounted here");
  if (!exists(system, "/sys/firmware/efi")) return Fact<bool>::absent("/sys/firmware/efi");
  const auto variables = system.list(directory);
  if (!variables || variables->empty())
    return Fact<bool>::unknown(directory, "efivarfs is not mounted here");
  return Fact<bool>::absent(variable);
}

Fact<std::string> read_lockdown(const System& system) {
  const std::string path = "/sys/kernel/security/lockdown";
  const auto text = system.read(path, 4096);
  if (text) {
    const auto state = parse_lockdown(*text);
    if (!state) return Fact<std::string>::unknown(path, "no state is marked in it");
    return Fact<std::string>::known(*state, path);
  }
  if (!is_not_there(text.error())) return Fact<std::string>::unknown(path, text.error().message);
  const auto security = system.list("/sys/kernel/security");
  if (security && !security->empty()) return Fact<std::string>::absent(path);
  return Fact<std::string>::unknown("/sys/kernel/security", "securityfs is not mounted here");
}

// Sources: devices.list of this process's own v1 group; of the mount's top, which is that group
// inside a container. Under version 2 the rules are a BPF program that only its loader can read.
Fact<std::string> read_device_cgroup(const System& system) {
  const auto groups = system.read("/proc/self/cgroup");
  if (!groups) return fact_of_proc_error<std::string>(system, "/proc/self/cgroup", groups.error());
  const auto path = parse_device_controller(*groups);
  if (!path)
    return Fact<std::string>::unknown("/proc/self/cgroup",
                                      "cgroup version 2 keeps device rules in a BPF program");
  const std::string mount = "/sys/fs/cgroup/devices";
  const std::string own = path_join(path_join(mount, *path), "devices.list");
  const auto rules = text_fact(system, own);
  return rules.is_absent() ? text_fact(system, mount + "/devices.list") : rules;
}

Fact<std::uint64_t> read_memlock(const System& system) {
  const std::string path = "/proc/self/limits";
  const auto text = system.read(path);
  if (!text) return fact_of_proc_error<std::uint64_t>(system, path, text.error());
  const auto limit = parse_locked_memory_limit(*text);
  if (!limit) return Fact<std::uint64_t>::unknown(path, "no line 'Max locked memory'");
  return Fact<std::uint64_t>::known(*limit, path);
}

Fact<std::uint64_t> read_shm_size(const System& system) {
  const auto space = system.space("/dev/shm");
  if (!space) return Fact<std::uint64_t>::from_error("/dev/shm", space.error());
  return Fact<std::uint64_t>::known(space->total_bytes, "/dev/shm");
}

// Names from /etc/group alone: what a directory service adds stays a number, since asking it means
// running its modules.
void fill_identity(const System& system, Host& host) {
  const auto who = system.identity();
  if (!who) {
    host.uid = Fact<std::uint64_t>::unknown("geteuid", who.error().message);
    host.groups = Fact<std::vector<std::string>>::unknown("getgroups", who.error().message);
    return;
  }
  host.uid = Fact<std::uint64_t>::known(who->uid, "geteuid");
  const auto names = parse_group_names(system.read("/etc/group").value_or(""));
  std::vector<std::string> groups{group_name(names, who->gid)};
  for (const auto gid : who->groups)
    if (gid != who->gid) groups.push_back(group_name(names, gid));
  host.groups = Fact<std::vector<std::string>>::known(std::move(groups), "getgroups, /etc/group");
}

}  // namespace

Fill probe_host(const ProbeInput& input) {
  const System& system = input.system;
  Host host;
  auto plain = start_plain_program(system);
  fill_distribution(system, host);
  fill_kernel(system, plain, host);
  host.glibc = read_glibc(plain);
  host.cxx_runtime = read_cxx_runtime(plain);
  host.wsl = read_wsl(system);
  host.sandbox = read_sandbox(system);
  host.container = read_container(system);
  host.hypervisor = read_hypervisor(system, host.wsl);
  host.secure_boot = read_secure_boot(system);
  host.kernel_lockdown = read_lockdown(system);
  host.device_cgroup = read_device_cgroup(system);
  host.shm_bytes = read_shm_size(system);
  host.memlock_bytes = read_memlock(system);
  fill_identity(system, host);
  fill_cpu(system, host);
  host.sudo_user = variable_fact(system, "SUDO_USER");
  return [host = std::move(host)](Machine& machine) { machine.host = host; };
}

}  // namespace gpuwright
