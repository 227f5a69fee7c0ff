#include <algorithm>
#include <optional>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// The driver's libraries in user space: libcuda.so.1, which every CUDA program needs, and
// libnvidia-ml.so.1, which nvidia-smi, NCCL and newer XLA need. Both belong to the driver and to
// nothing else: toolkits, wheels and conda packages hold stubs of them at most.

namespace gpuwright {
namespace {

constexpr std::string_view kCuda = "libcuda.so.1";
constexpr std::string_view kNvml = "libnvidia-ml.so.1";
constexpr std::string_view kNames[] = {kCuda, kNvml};

std::string described(const DriverLibrary& library) {
  std::string text = library.name + " -> " + library.real_path;
  if (!library.found_by.empty()) text += " (" + library.found_by + ")";
  return text;
}

Evidence cite_library(const DriverLibrary& library) { return {described(library), library.path}; }

std::string driver_branch(const Machine& machine) {
  const auto& module = machine.driver.module_version;
  return module.is_known() ? std::to_string(module->major_part()) : std::string();
}

bool is_real(const DriverLibrary& library) { return library.kind == "driver"; }

// ------------------------------------------------------------------- one build for all

// Libraries of the driver that differ from the loaded module.
std::vector<DriverLibrary> strangers(const Machine& machine) {
  std::vector<DriverLibrary> found;
  for (const auto name : kNames) {
    const DriverLibrary* library = chosen_library(machine, name);
    if (library == nullptr || !is_real(*library) || !library->version.is_known()) continue;
    if (*library->version != *machine.driver.module_version) found.push_back(*library);
  }
  return found;
}

// What the module file on disk says about the way back to one version.
enum class Remedy {
  kRestart,    ///< The file is as new as the libraries: the next boot loads it.
  kReinstall,  ///< The file is still the loaded one, or a third one: the libraries alone changed.
  kRestartFirst,     ///< The file's version is not known.
  kNewContainer,     ///< The host was upgraded under a running container.
  kRemoveFromImage,  ///< The image brings a driver package of its own.
  kFollowHost,       ///< A system container, whose owner installs the libraries in it.
};

// Debian's and Ubuntu's packages that hold libcuda.so.1; removing them takes the rest along.
std::vector<std::string> packages_of_libcuda(const Machine& machine) {
  return installed_packages(machine, {"libnvidia-compute", "libcuda1"});
}

Remedy remedy(const Machine& machine, const Version& library) {
  if (machine.host.container.is("lxc") || machine.host.container.is("systemd-nspawn"))
    return Remedy::kFollowHost;
  if (setting_of(machine) == Setting::kContainer)
    return packages_of_libcuda(machine).empty() ? Remedy::kNewContainer : Remedy::kRemoveFromImage;
  const ModuleFile* file = module_file(machine, machine.host.kernel_release.value_or(""));
  if (file == nullptr || !file->version.is_known()) return Remedy::kRestartFirst;
  return *file->version == library ? Remedy::kRestart : Remedy::kReinstall;
}

std::string why_different(Remedy way) {
  switch (way) {
    case Remedy::kRestart:
      return "the driver was upgraded, and the module of before the upgrade is still loaded";
    case Remedy::kReinstall:
      return "libraries and module come from two installations: one package was upgraded without "
             "the other, or NVIDIA's installer ran beside the distribution's packages";
    case Remedy::kRestartFirst:
      return "most often the driver was upgraded, and the module of before the upgrade is still "
             "loaded";
    case Remedy::kNewContainer:
      return "the host's driver was upgraded after this container had been started with the old "
             "libraries";
    case Remedy::kFollowHost:
      return "the host's driver was upgraded, and the libraries installed in this container were "
             "not";
    case Remedy::kRemoveFromImage:
      break;
  }
  return "the image holds a driver package of its own, which hides the libraries of the host";
}

std::string reinstall_command(const Machine& machine) {
  const auto packages = installed_packages(
      machine, {"nvidia-driver", "nvidia-dkms", "nvidia-kernel", "libnvidia-compute", "libcuda1"});
  return pick(machine,
              {.apt = packages.empty() ? "" : "sudo apt install --reinstall " + join(packages, " "),
               .dnf = "sudo dnf distro-sync '*nvidia*'",
               .zypper = "sudo zypper update 'nvidia*'",
               .pacman = "sudo pacman -Syu"});
}

std::vector<FixStep> restart_steps() {
  return {
      reboot("loads the module that goes with the libraries"),
      root_step("sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo modprobe nvidia",
                "instead of a reboot, when nothing uses the GPU: no desktop, no container, no "
                "nvidia-persistenced",
                "the loaded module; nothing on disk", "none needed")};
}

std::vector<FixStep> one_version(const Machine& machine, Remedy way) {
  switch (way) {
    case Remedy::kRestart:
      return restart_steps();
    case Remedy::kNewContainer:
      return {
          advice("start a new container from the same image, on the host; a running one keeps "
                 "the libraries it was given")};
    case Remedy::kFollowHost:
      return {advice("install the libraries of driver " + machine.driver.module_version->text() +
                     " in the container, without a kernel module (NVIDIA's installer: "
                     "--no-kernel-modules), or have the host hand them in (nvidia.runtime=true)")};
    case Remedy::kRemoveFromImage:
      return {root_step("apt-get purge " + join(packages_of_libcuda(machine), " ") + " && ldconfig",
                        "in the image: the host hands its own libraries in",
                        "removes the driver's packages from the image", "install them again"),
              advice("build the image without driver packages: install cuda-toolkit or nothing, "
                     "never cuda or nvidia-driver")};
    case Remedy::kReinstall:
    case Remedy::kRestartFirst:
      break;
  }
  std::vector<FixStep> steps;
  if (way == Remedy::kRestartFirst) steps = restart_steps();
  const std::string command = reinstall_command(machine);
  const std::string text = way == Remedy::kRestartFirst ? "when they still differ after that"
                                                        : "brings both to one version";
  steps.push_back(command.empty()
                      ? advice("install the driver again, module and libraries of one version")
                      : root_step(command, text, "the driver's packages",
                                  "install the version of before by name"));
  if (way == Remedy::kReinstall) {
    steps.push_back(reboot("loads the new module"));
    steps.push_back(
        advice("when NVIDIA's installer was used beside packages: run nvidia-uninstall "
               "first"));
  }
  return steps;
}

Finding versions_differ(const Machine& machine, const std::vector<DriverLibrary>& strangers) {
  const Driver& driver = machine.driver;
  const Version& library = *strangers.front().version;
  const Remedy way = remedy(machine, library);
  std::vector<std::string> names;
  std::vector<Evidence> evidence = {cite("loaded module", driver.module_version)};
  for (const auto& stranger : strangers) {
    names.push_back(stranger.name);
    evidence.push_back(cite_library(stranger));
  }
  if (const auto* file = module_file(machine, machine.host.kernel_release.value_or("")))
    evidence.push_back(cite("module on disk for this kernel", file->version));
  const auto log = log_lines(machine, {"API mismatch"}, 1);
  evidence.insert(evidence.end(), log.begin(), log.end());
  const bool cuda = std::any_of(strangers.begin(), strangers.end(),
                                [](const auto& s) { return s.name == kCuda; });
  return {
      .severity = cuda ? Severity::kError : Severity::kWarning,
      .statement = "the loaded module (" + driver.module_version->text() + ") and " +
                   join(names, ", ") + " (" + library.text() + ") differ",
      .evidence = std::move(evidence),
      .cause = why_different(way),
      .fix = one_version(machine, way),
      .certainty = way == Remedy::kRestart || way == Remedy::kReinstall ? Certainty::kProven
                                                                        : Certainty::kLikely,
  };
}

// Module and libraries talk over a private interface that promises nothing across releases, so the
// module turns away every client of another build (CUDA error 803, NVML error 18). Compat and stub
// copies are not the driver's and have rules of their own; WSL's libraries belong to Windows, and
// gVisor does not show the module's version.
Verdict is_of_one_build(const Machine& machine, const Catalog&) {
  const auto setting = setting_of(machine);
  if (setting == Setting::kWsl || setting == Setting::kGvisor || is_wsl(machine))
    return NotApplicable{};
  const Driver& driver = machine.driver;
  if (is_jetson(machine) || module_loaded(machine) == Tristate::kNo) return NotApplicable{};
  if (!driver.module_version.is_known() || driver.libraries.is_unknown())
    return Undecided{
        {cite("loaded module", driver.module_version), cite("driver libraries", driver.libraries)}};
  const auto others = strangers(machine);
  if (!others.empty()) return versions_differ(machine, others);
  for (const auto name : kNames) {
    const DriverLibrary* library = chosen_library(machine, name);
    if (library != nullptr && is_real(*library) && !library->version.is_known())
      return Undecided{{cite(name.data(), library->version)}};
  }
  return Fine{};
}

// ------------------------------------------------------------------------- they are there

// A program here has a use for the driver's libraries: the module is loaded, or a container was
// given nodes.
Tristate has_kernel_side(const Machine& machine) {
  if (module_loaded(machine) == Tristate::kYes) return Tristate::kYes;
  if (setting_of(machine) == Setting::kHost) return module_loaded(machine);
  return has_gpu_node(machine);
}

/// Where a library stands that no plain program would load.
enum class Absence { kPresent, kNowhere, kOutOfReach };

// A chosen copy that is no good (a stub, an empty file) is there, and other rules tell about it.
Absence absence_of(const Machine& machine, std::string_view name) {
  if (chosen_library(machine, name) != nullptr) return Absence::kPresent;
  for (const auto& library : *machine.driver.libraries)
    if (library.name == name && is_real(library)) return Absence::kOutOfReach;
  return Absence::kNowhere;
}

const DriverLibrary* out_of_reach(const Machine& machine, std::string_view name) {
  for (const auto& library : *machine.driver.libraries)
    if (library.name == name && is_real(library)) return &library;
  return nullptr;
}

// The driver capabilities that the container asks for: the toolkit obeys the variable, and hands in
// compute and utility without it. Empty on a host, and where nothing is asked for.
std::string requested_capabilities(const Machine& machine) {
  const auto& variables = machine.cuda.variables;
  const auto request = variables.find("NVIDIA_DRIVER_CAPABILITIES");
  const bool counts = setting_of(machine) != Setting::kHost && request != variables.end();
  return counts ? printable(request->second) : std::string();
}

bool left_out_by_request(const Machine& machine, std::string_view name) {
  const std::string request = requested_capabilities(machine);
  if (request.empty()) return false;
  const std::string_view wanted = name == kCuda ? "compute" : "utility";
  for (const auto piece : split(request, ','))
    if (trim(piece) == wanted || trim(piece) == "all") return false;
  return true;
}

std::vector<FixStep> reach_library(const DriverLibrary& library) {
  const std::string directory = shell_word(path_directory(library.path));
  return {root_step("echo " + directory +
                        " | sudo tee /etc/ld.so.conf.d/nvidia-driver.conf && sudo ldconfig",
                    "lets the loader find it", "adds the directory to the loader's cache",
                    "sudo rm /etc/ld.so.conf.d/nvidia-driver.conf && sudo ldconfig"),
          user_step("export LD_LIBRARY_PATH=" + directory + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
                    "or for this shell alone", "this shell and what is started from it",
                    "open a new shell")};
}

std::vector<FixStep> install_libraries(const Machine& machine) {
  const std::string branch = driver_branch(machine);
  if (branch.empty())
    return {advice("install the driver's libraries, in the very version of the loaded module")};
  const std::string apt = machine.host.distribution.is("debian")
                              ? "sudo apt install libcuda1 libnvidia-ml1"
                              : "sudo apt install libnvidia-compute-" + branch;
  const std::string command =
      pick(machine, {.apt = apt,
                     .dnf = "sudo dnf install nvidia-driver-cuda",
                     .zypper = "sudo zypper install nvidia-compute-utils-G06",
                     .pacman = "sudo pacman -S nvidia-utils"});
  if (command.empty())
    return {advice("install the driver's libraries, in the very version of the loaded module (" +
                   machine.driver.module_version->text() + ")")};
  return {root_step(
      command, "the version has to be that of the module, " + machine.driver.module_version->text(),
      "adds the driver's libraries", "remove the package again")};
}

std::vector<FixStep> ask_for_both(const Machine& machine) {
  if (!machine.host.container.is("docker"))
    return {
        advice("set NVIDIA_DRIVER_CAPABILITIES=compute,utility for the container, or leave it "
               "unset, and start it again")};
  return {user_step("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE",
                    "on the host; in Compose: capabilities: [gpu, compute, utility]",
                    "nothing on the host", "start it as before")};
}

std::vector<FixStep> bring_libraries(const Machine& machine, std::string_view name) {
  if (const auto* library = out_of_reach(machine, name)) return reach_library(*library);
  if (setting_of(machine) == Setting::kHost) return install_libraries(machine);
  if (left_out_by_request(machine, name)) return ask_for_both(machine);
  return start_with_gpu(machine);
}

std::string why_missing(const Machine& machine, std::string_view name) {
  if (out_of_reach(machine, name) != nullptr)
    return "its directory is neither in the loader's cache nor a default directory nor in "
           "LD_LIBRARY_PATH";
  if (setting_of(machine) == Setting::kHost)
    return "only the kernel's part of the driver is installed (a headless or DKMS package alone), "
           "or its libraries were removed";
  if (left_out_by_request(machine, name))
    return "the container asks for other capabilities of the driver, so the toolkit left this "
           "library out";
  return "the container was given the GPU's nodes and not the driver's libraries: it was started "
         "with --device or --privileged instead of the NVIDIA runtime or CDI";
}

std::string where_missing(const Machine& machine, const std::vector<std::string>& names) {
  const bool several = names.size() > 1;
  if (const auto* elsewhere = out_of_reach(machine, names.front()))
    return (several ? "lie in " : "lies in ") + path_directory(elsewhere->path) +
           ", where the loader does not look";
  std::string text = several ? "are nowhere" : "is nowhere";
  text += setting_of(machine) == Setting::kHost ? " on this machine" : " in this container";
  if (left_out_by_request(machine, names.front()))
    text +=
        ", and NVIDIA_DRIVER_CAPABILITIES=" + requested_capabilities(machine) + " leaves it out";
  return text;
}

Finding libraries_missing(const Machine& machine, const std::vector<std::string>& names) {
  const std::string& first = names.front();
  std::vector<Evidence> evidence = {{"no " + join(names, " and no ") + " that a program would load",
                                     machine.driver.libraries.source()},
                                    cite("loaded module", machine.driver.module_version)};
  if (const auto* elsewhere = out_of_reach(machine, first))
    evidence.push_back(cite_library(*elsewhere));
  if (const auto request = requested_capabilities(machine); !request.empty())
    evidence.push_back({"NVIDIA_DRIVER_CAPABILITIES=" + request, "environment"});
  return {
      .severity = first == kCuda ? Severity::kError : Severity::kWarning,
      .statement = "the driver's " + join(names, " and ") + " " + where_missing(machine, names),
      .evidence = std::move(evidence),
      .cause = why_missing(machine, first),
      .fix = bring_libraries(machine, first),
      .certainty = Certainty::kProven,
  };
}

Verdict libraries_are_there(const Machine& machine, const Catalog&) {
  if (setting_of(machine) == Setting::kWsl || is_wsl(machine)) return NotApplicable{};
  const auto& libraries = machine.driver.libraries;
  const auto needed = has_kernel_side(machine);
  if (needed == Tristate::kNo) return NotApplicable{};
  if (needed == Tristate::kUnknown || !libraries.is_known())
    return Undecided{{cite("loaded module", machine.driver.module_version),
                      cite("driver libraries", libraries)}};
  std::vector<std::string> missing;
  for (const auto name : kNames)
    if (absence_of(machine, name) != Absence::kPresent) missing.emplace_back(name);
  if (missing.empty()) return Fine{};
  return libraries_missing(machine, missing);
}

// ----------------------------------------------------------------------- and are loadable

struct Unusable {
  std::string_view kind;  // DriverLibrary::kind
  const char* is;
  const char* says;  // what the loader says
};
constexpr Unusable kUnusable[] = {
    {"empty", "is an empty file", "file too short"},
    {"not-elf", "is not an ELF file", "invalid ELF header"},
    {"damaged", "is a damaged ELF file, cut short perhaps", "cannot read file data"},
    {"wrong-class", "is for another architecture", "wrong ELF class"},
};

std::vector<FixStep> replace_library(const Machine& machine, const DriverLibrary& library) {
  if (setting_of(machine) == Setting::kHost) {
    auto steps = install_libraries(machine);
    steps.insert(steps.begin(),
                 root_step("sudo rm " + shell_word(library.real_path),
                           "takes the broken file out of the way", "removes that file",
                           "install the package that owns it again"));
    return steps;
  }
  return {root_step("rm " + shell_word(library.real_path) + " && ldconfig",
                    "in the image, before it is started with a GPU",
                    "removes that file from the image", "none needed: the host brings its own"),
          advice("build the image with plain runc, not with NVIDIA's runtime as Docker's default: "
                 "that one leaves empty files where it had mounted the libraries")};
}

// The loader stops at a file of the right name that is no library, instead of going on to the next
// directory, so one such file hides every good copy behind it.
Verdict libraries_are_loadable(const Machine& machine, const Catalog&) {
  const auto& libraries = machine.driver.libraries;
  if (libraries.is_unknown()) return Undecided{{cite("driver libraries", libraries)}};
  std::vector<Finding> findings;
  for (const auto name : kNames) {
    const DriverLibrary* library = chosen_library(machine, name);
    if (library == nullptr) continue;
    for (const auto& known : kUnusable) {
      if (library->kind != known.kind) continue;
      findings.push_back({
          .severity = name == kCuda ? Severity::kError : Severity::kWarning,
          .statement = std::string(name) + " " + known.is + " (" + library->real_path +
                       "), and the loader ends at it: '" + known.says + "'",
          .evidence = {cite_library(*library), {library->kind, library->real_path}},
          .cause =
              setting_of(machine) == Setting::kHost
                  ? "an installation that was broken off, a full disk, or a 32-bit library in a "
                    "64-bit directory"
                  : "the image was built while NVIDIA's runtime had the host's libraries "
                    "mounted, which left empty files behind",
          .fix = replace_library(machine, *library),
          .certainty = Certainty::kProven,
      });
    }
  }
  if (findings.empty()) return libraries.is_known() ? Verdict(Fine{}) : NotApplicable{};
  return findings;
}

// --------------------------------------------------------------------------------- WSL

bool has_wsl_library(const Machine& machine) {
  const auto& libraries = *machine.driver.libraries;
  return std::any_of(libraries.begin(), libraries.end(),
                     [](const auto& l) { return l.name == kCuda && l.kind == "wsl"; });
}

std::vector<FixStep> remove_linux_driver(const Machine& machine, const DriverLibrary& library) {
  const auto packages = packages_of_libcuda(machine);
  const std::string command = pick(
      machine,
      {.apt = packages.empty() ? "" : "sudo apt purge " + join(packages, " ") + " && sudo ldconfig",
       .dnf = "sudo dnf remove 'nvidia-driver*' && sudo ldconfig",
       .zypper = "sudo zypper remove 'nvidia-compute*' && sudo ldconfig",
       .pacman = "sudo pacman -Rns nvidia-utils && sudo ldconfig"});
  return {command.empty() ? advice("remove the package that owns " + library.real_path +
                                   " from this WSL distribution")
                          : root_step(command, "the Windows driver serves WSL and stays",
                                      "removes the Linux driver from this distribution",
                                      "install the packages again"),
          user_step("export LD_LIBRARY_PATH=/usr/lib/wsl/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
                    "until then, for this shell", "this shell and what is started from it",
                    "open a new shell")};
}

// CUDA under WSL goes through a libcuda of Windows' making, which talks to /dev/dxg. A Linux
// driver's libcuda looks for the nvidia module and finds no device; packages such as cuda or
// nvidia-driver install one, and the loader prefers its directory.
Verdict windows_library_is_chosen(const Machine& machine, const Catalog&) {
  if (setting_of(machine) != Setting::kWsl) return NotApplicable{};
  const auto& libraries = machine.driver.libraries;
  if (!libraries.is_known()) return Undecided{{cite("driver libraries", libraries)}};
  const DriverLibrary* chosen = chosen_library(machine, kCuda);
  if (chosen == nullptr || !is_real(*chosen)) return Fine{};
  std::vector<Evidence> evidence = {cite_library(*chosen), cite("WSL", machine.host.wsl)};
  for (const auto& package : packages_of_libcuda(machine))
    evidence.push_back({"package " + package, machine.driver.packages.source()});
  return Finding{
      .statement = "a Linux driver's libcuda.so.1 (" + chosen->real_path +
                   ") hides the one of Windows in /usr/lib/wsl/lib",
      .evidence = std::move(evidence),
      .cause =
          "a Linux driver was installed inside WSL, often by the packages cuda or "
          "nvidia-driver",
      .fix = remove_linux_driver(machine, *chosen),
  };
}

Finding windows_library_out_of_reach(std::vector<Evidence> evidence) {
  return {
      .statement = "Windows' libcuda.so.1 is in /usr/lib/wsl/lib, where the loader does not look",
      .evidence = std::move(evidence),
      .cause =
          "the cache was built without /etc/ld.so.conf.d/ld.wsl.conf, or [automount] ldconfig "
          "is off in /etc/wsl.conf",
      .fix = {root_step("echo /usr/lib/wsl/lib | sudo tee /etc/ld.so.conf.d/ld.wsl.conf && "
                        "sudo ldconfig",
                        "lets the loader find it", "adds the directory to the loader's cache",
                        "sudo rm /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig")},
  };
}

Finding windows_library_missing(std::vector<Evidence> evidence) {
  return {
      .statement = "Windows hands no libcuda.so.1 into WSL, although there is a GPU",
      .evidence = std::move(evidence),
      .cause =
          "the GPU that Windows offers is of another maker, or its NVIDIA driver is missing or "
          "older than WSL support",
      .fix = {advice("install the current NVIDIA driver in Windows; none inside WSL"),
              user_step("wsl.exe --shutdown", "in PowerShell: mounts the driver's files afresh",
                        "stops all WSL distributions", "none needed")},
      .certainty = Certainty::kLikely,
  };
}

Verdict windows_library_is_there(const Machine& machine, const Catalog&) {
  if (setting_of(machine) != Setting::kWsl) return NotApplicable{};
  const auto& libraries = machine.driver.libraries;
  if (!libraries.is_known()) return Undecided{{cite("driver libraries", libraries)}};
  if (chosen_library(machine, kCuda) != nullptr) return Fine{};
  std::vector<Evidence> evidence = {
      {"no libcuda.so.1 that a program would load", libraries.source()},
      cite("/dev/dxg", machine.hardware.dxg)};
  return has_wsl_library(machine) ? windows_library_out_of_reach(std::move(evidence))
                                  : windows_library_missing(std::move(evidence));
}

constexpr Rule kRules[] = {
    {"driver.wsl-linux-driver-inside", "under WSL, programs load the libcuda.so.1 of Windows",
     windows_library_is_chosen},
    {"driver.wsl-lib-missing", "Windows hands its libcuda.so.1 into WSL", windows_library_is_there},
    {"driver.libraries-missing", "programs find the driver's libraries", libraries_are_there},
    {"driver.library-unusable", "the driver's libraries are ELF files of this architecture",
     libraries_are_loadable, Standing::kOwn},
    {"driver.version-mismatch", "the driver's libraries and the loaded module are one build",
     is_of_one_build, Standing::kOwn},
};

}  // namespace

std::span<const Rule> driver_library_rules() { return kRules; }

}  // namespace gpuwright
