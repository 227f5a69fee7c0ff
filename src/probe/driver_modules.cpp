#include "probe/driver_modules.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/text.h"
#include "probe/driver_nodes.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

constexpr const char* kModules = "/lib/modules";
constexpr const char* kDkms = "/var/lib/dkms";
constexpr std::size_t kMaxModulesDep = 8 << 20;  // Ubuntu 24.04: 0.9 MB
constexpr std::size_t kMaxModinfo = 256 << 10;
constexpr std::size_t kMaxSections = 65535;

// "nvidia-current.ko.zst" gives "nvidia-current"; nothing for what is no module.
std::optional<std::string_view> module_stem(std::string_view file) {
  const auto at = file.rfind(".ko");
  if (at == std::string_view::npos) return std::nullopt;
  const auto ending = file.substr(at);
  if (ending != ".ko" && ending != ".ko.zst" && ending != ".ko.xz" && ending != ".ko.gz")
    return std::nullopt;
  return file.substr(0, at);
}

template <class T>
std::optional<T> read_struct(const RandomAccessFile& file, std::uint64_t offset) {
  T value;
  const auto got = file.read_at(offset, std::as_writable_bytes(std::span(&value, 1)));
  if (!got || *got != sizeof value) return std::nullopt;
  return value;
}

Result<std::string> read_bytes(const RandomAccessFile& file, std::uint64_t offset,
                               std::uint64_t size, std::size_t max_bytes) {
  if (size > max_bytes) return fail("section is larger than expected");
  std::string bytes(size, '\0');
  const auto got = file.read_at(offset, std::as_writable_bytes(std::span(bytes)));
  if (!got) return tl::unexpected(got.error());
  if (*got != size) return fail("section lies outside the file");
  return bytes;
}

std::optional<Elf64_Ehdr> read_header(const RandomAccessFile& file) {
  const auto header = read_struct<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_shentsize != sizeof(Elf64_Shdr))
    return std::nullopt;
  return header;
}

Elf64_Shdr section_at(std::string_view table, std::size_t index) {
  Elf64_Shdr section;
  std::memcpy(&section, table.data() + index * sizeof section, sizeof section);
  return section;
}

}  // namespace

bool is_main_module(std::string_view stem) {
  for (const std::string_view part : {"-uvm", "-drm", "-modeset", "-peermem", "-fs", "-vgpu-vfio"})
    if (stem.ends_with(part)) return false;
  return stem == "nvidia" || stem == "nvidia-open" || stem.starts_with("nvidia-current") ||
         stem.starts_with("nvidia-tesla") || stem.starts_with("nvidia-legacy");
}

std::vector<std::string> parse_module_paths(std::string_view modules_dep) {
  constexpr std::string_view kMark = "/nvidia";
  std::vector<std::string> paths;
  // Lines are "path.ko: path.ko path.ko"; there are thousands, so look for the name, not the lines.
  for (auto at = modules_dep.find(kMark); at != std::string_view::npos;
       at = modules_dep.find(kMark, at + kMark.size())) {
    const auto begin = modules_dep.rfind('\n', at) + 1;  // npos + 1 is 0
    const auto path = modules_dep.substr(begin, modules_dep.find_first_of(": \n", begin) - begin);
    if (at > begin + path.size()) continue;  // a dependency of another module
    const auto stem = module_stem(path_name(path));
    if (!stem || !is_main_module(*stem)) continue;
    if (paths.empty() || paths.back() != path) paths.emplace_back(path);
  }
  return paths;
}

ModuleInfo parse_modinfo(std::string_view section) {
  ModuleInfo info;
  for (const auto item : split(section, '\0')) {
    if (item.starts_with("version=")) {
      const auto version = Version::parse(item.substr(8));
      if (version) info.version = *version;
    } else if (item.starts_with("license=")) {
      info.license = printable(item.substr(8));
    } else if (item.starts_with("vermagic=")) {
      const auto fields = words(item.substr(9));
      if (!fields.empty()) info.kernel = printable(fields.front());
    }
  }
  return info;
}

Result<std::string> read_elf_section(const RandomAccessFile& file, std::string_view name,
                                     std::size_t max_bytes) {
  const auto header = read_header(file);
  if (!header) return fail("is not a 64-bit ELF file with sections");
  const auto table = read_bytes(file, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr),
                                kMaxSections * sizeof(Elf64_Shdr));
  if (!table) return tl::unexpected(table.error());
  if (header->e_shstrndx >= header->e_shnum) return fail("names no section name table");
  const auto strings = section_at(*table, header->e_shstrndx);
  const auto names = read_bytes(file, strings.sh_offset, strings.sh_size, 4 << 20);
  if (!names) return tl::unexpected(names.error());
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto section = section_at(*table, i);
    if (section.sh_name < names->size() &&
        std::string_view(names->c_str() + section.sh_name) == name)
      return read_bytes(file, section.sh_offset, section.sh_size, max_bytes);
  }
  return fail("has no section " + std::string(name));
}

namespace {

// A directory under /lib/modules outlives its kernel when something else left files in it (DKMS,
// hand-made builds); depmod's list or a kernel image shows that it can still be booted.
bool is_installed_kernel(const System& system, const std::string& release) {
  const auto directory = path_join(kModules, release);
  return exists(system, "/boot/vmlinuz-" + release) || exists(system, directory + "/vmlinuz") ||
         exists(system, directory + "/modules.dep");
}

// The newest by number, as boot loaders sort them.
Fact<std::string> read_newest_kernel(const System& system) {
  const auto entries = system.list(kModules);
  if (!entries) return Fact<std::string>::from_error(kModules, entries.error());
  std::string newest;
  for (const auto& entry : *entries)
    if (entry.kind != FileKind::kRegular && (newest.empty() || natural_less(newest, entry.name)) &&
        is_installed_kernel(system, entry.name))
      newest = entry.name;
  if (newest.empty()) return Fact<std::string>::absent(kModules);
  return Fact<std::string>::known(printable(newest), kModules);
}

// DKMS keeps <module>/<version>/<kernel>/<architecture>/module once a build has succeeded; "source"
// and "build" beside the kernels belong to the version.
std::vector<std::string> kernels_built(const System& system, const std::string& version_directory) {
  std::vector<std::string> kernels;
  for (const auto& kernel :
       system.list(version_directory).value_or(std::vector<DirectoryEntry>{})) {
    if (kernel.kind != FileKind::kDirectory || kernel.name == "build") continue;
    const auto directory = path_join(version_directory, kernel.name);
    for (const auto& architecture : system.list(directory).value_or(std::vector<DirectoryEntry>{}))
      if (exists(system, path_join(directory, architecture.name) + "/module")) {
        kernels.push_back(printable(kernel.name));
        break;
      }
  }
  return kernels;
}

Fact<std::vector<DkmsBuild>> read_dkms(const System& system) {
  using Builds = std::vector<DkmsBuild>;
  const auto modules = system.list(kDkms);
  if (!modules) return Fact<Builds>::from_error(kDkms, modules.error());
  Builds builds;
  for (const auto& module : *modules) {
    if (!is_main_module(module.name)) continue;
    const auto directory = path_join(kDkms, module.name);
    for (const auto& entry : system.list(directory).value_or(std::vector<DirectoryEntry>{})) {
      const auto version = Version::parse(entry.name);  // passes over "kernel-…" links
      if (version)
        builds.push_back(
            {module.name, *version, kernels_built(system, path_join(directory, entry.name))});
    }
  }
  return Fact<Builds>::known(std::move(builds), kDkms);
}

Fact<std::string> flavour_of_license(const std::optional<std::string>& license,
                                     const std::string& path) {
  if (!license) return Fact<std::string>::unknown(path, "states no license");
  if (*license == "NVIDIA") return Fact<std::string>::known("proprietary", path);
  if (*license == "Dual MIT/GPL") return Fact<std::string>::known("open", path);
  return Fact<std::string>::unknown(path, "license '" + *license + "'");
}

void fill_from_modinfo(const System& system, ModuleFile& module) {
  const auto file = system.open(module.path);
  const auto section = file.and_then([](const std::unique_ptr<RandomAccessFile>& opened) {
    return read_elf_section(*opened, ".modinfo", kMaxModinfo);
  });
  if (!section) {
    module.version = Fact<Version>::unknown(module.path, section.error().message);
    module.flavour = Fact<std::string>::unknown(module.path, section.error().message);
    module.vermagic = Fact<std::string>::unknown(module.path, section.error().message);
    return;
  }
  const auto info = parse_modinfo(*section);
  module.version = info.version ? Fact<Version>::known(*info.version, module.path)
                                : Fact<Version>::unknown(module.path, "states no version");
  module.flavour = flavour_of_license(info.license, module.path);
  module.vermagic = info.kernel ? Fact<std::string>::known(*info.kernel, module.path)
                                : Fact<std::string>::unknown(module.path, "states no kernel");
}

// A compressed module is not unpacked. Where DKMS built it, and for this kernel once only, its
// tree's name tells the version.
void fill_from_dkms(const std::vector<DkmsBuild>& builds, ModuleFile& module) {
  const std::string reason = "the file is compressed";
  module.version = Fact<Version>::unknown(module.path, reason);
  module.flavour = Fact<std::string>::unknown(module.path, reason);
  module.vermagic = Fact<std::string>::unknown(module.path, reason);
  if (module.path.find("/dkms/") == std::string::npos) return;
  const DkmsBuild* only = nullptr;
  for (const auto& build : builds) {
    if (std::find(build.built_for.begin(), build.built_for.end(), module.kernel) ==
        build.built_for.end())
      continue;
    if (only != nullptr) return;
    only = &build;
  }
  if (only == nullptr) return;
  const auto tree = path_join(path_join(kDkms, only->module), only->version.text());
  module.version = Fact<Version>::known(only->version, tree);
  if (only->module.ends_with("-open")) module.flavour = Fact<std::string>::known("open", tree);
}

ModuleFile examine(const System& system, const std::string& kernel, const std::string& path,
                   const std::vector<DkmsBuild>& builds) {
  ModuleFile module;
  module.kernel = kernel;
  module.path = printable(path);
  if (path.ends_with(".ko"))
    fill_from_modinfo(system, module);
  else
    fill_from_dkms(builds, module);
  return module;
}

// Without depmod's list, the places where packages and installers put the module.
std::vector<std::string> paths_without_list(const System& system, const std::string& directory) {
  std::vector<std::string> paths;
  for (const std::string place :
       {"updates/dkms", "updates", "extra", "extra/nvidia", "weak-updates/nvidia",
        "kernel/drivers/video", "kernel/drivers/video/nvidia"}) {
    for (const auto& entry :
         system.list(path_join(directory, place)).value_or(std::vector<DirectoryEntry>{})) {
      const auto stem = module_stem(entry.name);
      if (stem && is_main_module(*stem)) paths.push_back(path_join(place, entry.name));
    }
  }
  return paths;
}

Result<std::vector<std::string>> module_paths(const System& system, const std::string& kernel) {
  const auto directory = path_join(kModules, kernel);
  const auto list = system.read(directory + "/modules.dep", kMaxModulesDep);
  if (list) return parse_module_paths(*list);
  if (!is_not_there(list.error())) return tl::unexpected(list.error());
  return paths_without_list(system, directory);
}

std::vector<std::string> kernels_of_interest(const Fact<std::string>& running,
                                             const Fact<std::string>& newest) {
  std::vector<std::string> kernels;
  if (running.is_known()) kernels.push_back(*running);
  if (newest.is_known() && !newest.is(running.value_or(""))) kernels.push_back(*newest);
  return kernels;
}

Fact<std::vector<ModuleFile>> read_module_files(const System& system,
                                                const std::vector<std::string>& kernels,
                                                const std::vector<DkmsBuild>& builds) {
  using Files = std::vector<ModuleFile>;
  Files files;
  for (const auto& kernel : kernels) {
    const auto paths = module_paths(system, kernel);
    if (!paths) return Fact<Files>::unknown(paths.error().subject, paths.error().message);
    const auto directory = path_join(kModules, kernel);
    for (const auto& path : *paths) {
      const bool absolute = path.starts_with('/');
      files.push_back(
          examine(system, kernel, absolute ? path : path_join(directory, path), builds));
    }
  }
  return Fact<Files>::known(std::move(files), kModules);
}

}  // namespace

// Sources: /lib/modules for the kernels; /var/lib/dkms for what was built for them; modules.dep of
// the running and of the newest kernel, and the files that it names. Without any kernel on disk
// (containers) the files are absent, which says nothing about the host.
void fill_module_files(const System& system, const Fact<std::string>& running_kernel,
                       Driver& driver) {
  driver.newest_kernel = read_newest_kernel(system);
  driver.dkms = read_dkms(system);
  if (!driver.newest_kernel.is_known()) {
    driver.module_files =
        driver.newest_kernel.is_absent()
            ? Fact<std::vector<ModuleFile>>::absent(kModules)
            : Fact<std::vector<ModuleFile>>::unknown(kModules, driver.newest_kernel.reason());
    return;
  }
  driver.module_files = read_module_files(
      system, kernels_of_interest(running_kernel, driver.newest_kernel), driver.dkms.value_or({}));
}

}  // namespace gpuwright
