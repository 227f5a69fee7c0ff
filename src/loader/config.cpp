#include "base/text.h"
#include "loader/config_parts.h"
#include "loader/loader.h"

// What a program's loader takes from its surroundings. The default directories and glibc's version
// are compiled into ld.so and differ between distributions, conda and Nix; they are read from the
// text of the very ld.so that PT_INTERP names, without running it. When that ld.so is missing or
// silent, the distribution decides: Debian's family has directories named after the architecture,
// all others lib64 (or lib on 32 bits).

namespace gpuwright::loader {
namespace {

constexpr std::size_t kMaxInterpreterBytes = 16 << 20;  // 200 kB to 1 MB in reality
constexpr std::size_t kMaxProcBytes = 1 << 20;
constexpr std::uint32_t kSetUserId = 04000;
constexpr std::uint32_t kSetGroupId = 02000;

std::string variable(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// AT_SECURE as execve sets it for set-user-ID and set-group-ID programs. File capabilities and LSM
// transitions set it too, but cannot be seen through stat(2).
bool is_secure(const System& system, const FileStatus& program) {
  const auto who = system.identity();
  if (!who) return false;
  const bool other_user = (program.mode & kSetUserId) != 0 && program.uid != who->uid;
  const bool other_group = (program.mode & kSetGroupId) != 0 && program.gid != who->gid;
  return other_user || other_group;
}

// "glibc.rtld.execstack=2:glibc.malloc.check=3"
int executable_stack_tunable(std::string_view tunables) {
  constexpr std::string_view kKey = "glibc.rtld.execstack=";
  int value = 1;
  for (const auto tunable : split(tunables, ':')) {
    if (!tunable.starts_with(kKey)) continue;
    const auto number = parse_unsigned(tunable.substr(kKey.size()));
    if (number && *number <= 2) value = static_cast<int>(*number);
  }
  return value;
}

std::string architecture_triplet(std::uint8_t elf_class, std::uint16_t machine) {
  switch (machine) {
    case 62:
      return elf_class == 2 ? "x86_64-linux-gnu" : "x86_64-linux-gnux32";
    case 183:
      return "aarch64-linux-gnu";
    case 3:
      return "i386-linux-gnu";
    default:
      return {};
  }
}

bool is_debian_family(const System& system, const std::string& triplet) {
  const std::string release = system.read("/etc/os-release").value_or("");
  for (const auto line : lines(release))
    if ((line.starts_with("ID=") || line.starts_with("ID_LIKE=")) &&
        (line.find("debian") != line.npos || line.find("ubuntu") != line.npos))
      return true;
  return system.status("/lib/" + triplet + "/libc.so.6").has_value();
}

std::vector<std::string> distribution_directories(const System& system, const Config& config) {
  const auto triplet = architecture_triplet(config.elf_class, config.machine);
  if (!triplet.empty() && is_debian_family(system, triplet))
    return {"/lib/" + triplet, "/usr/lib/" + triplet, "/lib", "/usr/lib"};
  if (config.elf_class == 1) return {"/lib", "/usr/lib"};
  return {"/lib64", "/usr/lib64"};
}

// The newest GLIBC_x.y that a libc.so.6 defines; some releases (2.37, 2.40) have none of their own.
Version newest_definition(const ElfObject& libc) {
  Version newest;
  for (const auto& name : libc.version_definitions) {
    if (!name.starts_with("GLIBC_")) continue;
    const auto version = Version::parse(std::string_view(name).substr(6));
    if (version && newest < *version) newest = *version;
  }
  return newest;
}

Version glibc_version(const System& system, const std::string& interpreter, const Config& config) {
  std::vector<std::string> directories = config.default_directories;
  if (const auto real = system.resolve(interpreter))
    directories.insert(directories.begin(), path_directory(*real));
  for (const auto& directory : directories) {
    const auto file = system.open(path_join(directory, "libc.so.6"));
    if (!file) continue;
    const auto libc = read_elf(**file, {config.elf_class, config.machine});
    if (libc) return newest_definition(*libc);
  }
  return {};
}

void take_processor(const System& system, Config& config) {
  const auto cpuinfo = system.read("/proc/cpuinfo", kMaxProcBytes);
  config.cpu_known = cpuinfo.has_value();
  const Processor processor = parse_processor(cpuinfo.value_or(""), config.machine);
  config.cpu_levels = processor.levels;
  config.platform_token = processor.platform;
  if (!config.glibc_before("2.33"))
    for (const auto& level : processor.levels) config.hwcaps.push_back("glibc-hwcaps/" + level);
  if (config.glibc_before("2.37")) {
    const auto legacy = legacy_hwcaps(processor);
    config.hwcaps.insert(config.hwcaps.end(), legacy.begin(), legacy.end());
  }
}

void take_glibc(const System& system, const std::string& interpreter, Config& config) {
  const auto image = system.read(interpreter, kMaxInterpreterBytes).value_or("");
  config.default_directories = parse_system_directories(image);
  if (config.default_directories.empty())
    config.default_directories = distribution_directories(system, config);
  config.lib_token = lib_token_of(config.default_directories.front());
  config.glibc = parse_glibc_release(image).value_or(Version());
  if (config.glibc.size() == 0) config.glibc = glibc_version(system, interpreter, config);
  take_processor(system, config);
}

// musl's system path: /etc/ld-musl-ARCH.path under the directory that holds the loader's lib/, or
// its built-in list. Processor levels mean nothing to it.
void take_musl(const System& system, const std::string& interpreter, Config& config) {
  const auto prefix = path_directory(path_directory(interpreter));
  auto name = path_name(interpreter);  // ld-musl-x86_64.so.1
  name = name.substr(0, name.find(".so"));
  const auto list = system.read(path_join(prefix, "etc/" + std::string(name) + ".path"));
  for (const auto line :
       split(list ? std::string_view(*list) : "/lib:/usr/local/lib:/usr/lib", '\n'))
    for (const auto directory : split(line, ':'))
      if (!directory.empty()) config.default_directories.emplace_back(directory);
}

}  // namespace

Result<Config> make_config(const System& system, const std::string& program,
                           const std::map<std::string, std::string>& environment) {
  const auto file = system.open(program);
  if (!file) return tl::unexpected(file.error());
  const auto elf = read_elf(**file);
  if (!elf) return fail(elf.error().message, program);
  Config config;
  config.elf_class = elf->elf_class;
  config.machine = elf->machine;
  config.secure = is_secure(system, (*file)->status());
  if (environment.contains("LD_LIBRARY_PATH"))
    config.library_path = environment.at("LD_LIBRARY_PATH");
  config.preload = variable(environment, "LD_PRELOAD");
  config.executable_stack = executable_stack_tunable(variable(environment, "GLIBC_TUNABLES"));
  config.working_directory = system.working_directory().value_or("/");
  const std::string interpreter =
      elf->interpreter.empty() ? usual_interpreter(elf->elf_class, elf->machine) : elf->interpreter;
  config.musl = path_name(interpreter).starts_with("ld-musl-");
  if (config.musl)
    take_musl(system, interpreter, config);
  else
    take_glibc(system, interpreter, config);
  return config;
}

}  // namespace gpuwright::loader
