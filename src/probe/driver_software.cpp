#include "probe/driver_software.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/text.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

constexpr const char* kDpkgStatus = "/var/lib/dpkg/status";
constexpr const char* kFabricManager = "/usr/bin/nv-fabricmanager";

bool is_driver_package(std::string_view name) {
  for (const std::string_view prefix :
       {"nvidia-", "libnvidia-", "libcuda1", "cuda-drivers", "cuda-compat", "linux-modules-nvidia-",
        "linux-objects-nvidia-", "xserver-xorg-video-nvidia"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// "nvidia-driver-550 550.54.14-0ubuntu1"; nothing for a package that is not on the disk.
std::optional<std::string> describe_package(std::string_view stanza) {
  const auto name = value_after(stanza, "Package:");
  const auto version = value_after(stanza, "Version:");
  const auto status = words(value_after(stanza, "Status:").value_or(""));  // want, flag, state
  if (!name || !version || status.size() != 3) return std::nullopt;
  if (status[2] == "not-installed" || status[2] == "config-files") return std::nullopt;
  std::string text = printable(*name) + " " + printable(*version);
  if (status[2] != "installed") text += " (" + printable(status[2]) + ")";
  return text;
}

}  // namespace

std::vector<std::string> parse_driver_packages(std::string_view stanzas) {
  constexpr std::string_view kField = "Package: ";
  std::vector<std::string> packages;
  // The file has megabytes, of which a few kB matter: find the names before splitting anything.
  for (auto at = stanzas.find(kField); at != std::string_view::npos;
       at = stanzas.find(kField, at + kField.size())) {
    if (at != 0 && stanzas[at - 1] != '\n') continue;
    if (!is_driver_package(stanzas.substr(at + kField.size()))) continue;
    const auto stanza = stanzas.substr(at, stanzas.find("\n\n", at) - at);
    auto package = describe_package(stanza);
    // The 32-bit twin has the same name and version.
    if (package && (packages.empty() || packages.back() != *package))
      packages.push_back(*std::move(package));
  }
  return packages;
}

std::string_view upstream_version(std::string_view debian_version) {
  const auto colon = debian_version.find(':');
  if (colon != std::string_view::npos) debian_version.remove_prefix(colon + 1);
  return debian_version.substr(0, debian_version.rfind('-'));
}

namespace {

// Reads in pieces that end between stanzas, so that memory stays small whatever the file's size.
Result<std::vector<std::string>> read_dpkg(const System& system) {
  constexpr std::size_t kPiece = 256 << 10;
  const auto file = system.open(kDpkgStatus);
  if (!file) return tl::unexpected(file.error());
  std::vector<std::string> packages;
  std::string text;
  for (std::uint64_t offset = 0;;) {
    const auto kept = text.size();
    text.resize(kept + kPiece);
    const auto got =
        (*file)->read_at(offset, std::as_writable_bytes(std::span(text).subspan(kept)));
    if (!got) return tl::unexpected(got.error());
    text.resize(kept + *got);
    offset += *got;
    const bool last = *got < kPiece;
    const auto end = last ? text.size() : text.rfind("\n\n");
    if (end == std::string::npos && text.size() > 4 * kPiece)
      return fail("a stanza of more than a megabyte", kDpkgStatus);
    if (end == std::string::npos) continue;
    for (auto& package : parse_driver_packages(std::string_view(text).substr(0, end)))
      packages.push_back(std::move(package));
    if (last) return packages;
    text.erase(0, end);
  }
}

Fact<std::vector<std::string>> read_packages(const System& system) {
  using Packages = std::vector<std::string>;
  auto packages = read_dpkg(system);
  if (packages) return Fact<Packages>::known(std::move(*packages), kDpkgStatus);
  if (!is_not_there(packages.error()))
    return Fact<Packages>::unknown(kDpkgStatus, packages.error().message);
  for (const std::string path : {"/usr/lib/sysimage/rpm", "/var/lib/rpm"})
    if (exists(system, path)) return Fact<Packages>::unknown(path, "RPM's database is not read");
  return Fact<Packages>::absent(kDpkgStatus);
}

// The kernel cuts names of processes at 15 characters.
bool process_is(const System& system, std::string_view pid, std::string_view name) {
  const auto comm = system.read("/proc/" + std::string(pid) + "/comm", 64);
  return comm && trim(*comm) == name.substr(0, 15);
}

}  // namespace

Fact<bool> is_process_running(const System& system, std::string_view name) {
  constexpr std::size_t kMostProcesses = 20000;
  const auto entries = system.list("/proc");
  if (!entries) return Fact<bool>::unknown("/proc", entries.error().message);
  std::size_t looked_at = 0;
  for (const auto& entry : *entries) {
    if (!parse_unsigned(entry.name)) continue;
    if (++looked_at > kMostProcesses)
      return Fact<bool>::unknown("/proc", "too many processes to look through");
    if (process_is(system, entry.name, name))
      return Fact<bool>::known(true, "/proc/" + entry.name + "/comm");
  }
  if (looked_at == 0) return Fact<bool>::unknown("/proc", "no running system in this tree");
  return Fact<bool>::known(false, "/proc");
}

namespace {

template <class T>
Fact<T> hidden_by_container(const std::string& source, const Fact<std::string>& container) {
  return Fact<T>::unknown(source, "the host's daemons are not shown inside a container (" +
                                      container.value_or("") + ")");
}

// Sources: the PID file, which must name a living process; the socket, which is all that container
// toolkits pass through.
Fact<bool> read_persistence_daemon(const System& system, const Fact<std::string>& container) {
  const std::string directory = "/run/nvidia-persistenced";
  const auto pid_file = directory + "/nvidia-persistenced.pid";
  if (const auto pid = system.read(pid_file, 64))
    return Fact<bool>::known(process_is(system, trim(*pid), "nvidia-persistenced"), pid_file);
  if (exists(system, directory + "/socket")) return Fact<bool>::known(true, directory + "/socket");
  if (container.is_known()) return hidden_by_container<bool>(directory, container);
  if (!has_proc(system)) return Fact<bool>::unknown(directory, "no running system in this tree");
  return Fact<bool>::known(false, directory);
}

Fact<Version> version_of_package(const Fact<std::vector<std::string>>& packages,
                                 std::string_view prefix) {
  for (const auto& package : packages.value_or({})) {
    const auto fields = words(package);
    if (!fields[0].starts_with(prefix) || fields[0].ends_with("-dev")) continue;
    const auto version = Version::parse(upstream_version(fields[1]));
    if (version) return Fact<Version>::known(*version, packages.source());
  }
  return Fact<Version>::unknown(packages.source(), "no package names its version");
}

void fill_fabric_manager(const System& system, const Fact<std::string>& container, Driver& driver) {
  if (exists(system, kFabricManager)) {
    driver.fabric_manager_running = is_process_running(system, path_name(kFabricManager));
    driver.fabric_manager_version = version_of_package(driver.packages, "nvidia-fabricmanager");
  } else if (container.is_known()) {
    driver.fabric_manager_running = hidden_by_container<bool>(kFabricManager, container);
    driver.fabric_manager_version = hidden_by_container<Version>(kFabricManager, container);
  } else {
    driver.fabric_manager_running = Fact<bool>::absent(kFabricManager);
    driver.fabric_manager_version = Fact<Version>::absent(kFabricManager);
  }
}

}  // namespace

void fill_driver_software(const System& system, const Fact<std::string>& container,
                          Driver& driver) {
  driver.packages = read_packages(system);
  driver.persistence_daemon = read_persistence_daemon(system, container);
  fill_fabric_manager(system, container, driver);
}

}  // namespace gpuwright
