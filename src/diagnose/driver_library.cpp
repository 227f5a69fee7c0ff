#include "diagnose/driver_library.h"

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

Evidence cite_library(const DriverLibrary& library) {
  std::string text = library.name + " -> " + library.real_path;
  if (!library.found_by.empty()) text += " (" + library.found_by + ")";
  return {text, library.path};
}

bool is_real(const DriverLibrary& library) { return library.kind == "driver"; }

std::vector<std::string> packages_of_libcuda(const Machine& machine) {
  return installed_packages(machine, {"libnvidia-compute", "libcuda1"});
}

namespace {

constexpr std::string_view kCuda = "libcuda.so.1";
constexpr std::string_view kNvml = "libnvidia-ml.so.1";
constexpr std::string_view kNames[] = {kCuda, kNvml};

std::string driver_branch(const Machine& machine) {
  const auto& module = machine.driver.module_version;
  return module.is_known() ? std::to_string(module->major_part()) : std::string();
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
     driver_is_of_one_build, Standing::kOwn},
};

}  // namespace

std::span<const Rule> driver_library_rules() { return kRules; }

}  // namespace gpuwright
