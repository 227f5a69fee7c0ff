#include <algorithm>

#include "base/text.h"
#include "diagnose/driver_library.h"
#include "diagnose/fix.h"
#include "diagnose/package_story.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// Module and libraries of two versions: how it came about, who still holds the old ones, and
// whether a reload does or a reboot is needed.

namespace gpuwright {
namespace {

constexpr std::string_view kCuda = "libcuda.so.1";
constexpr std::string_view kNames[] = {kCuda, "libnvidia-ml.so.1"};

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

// The modules that are loaded, in the order in which they can be taken out.
std::string loaded_in_order(const Machine& machine) {
  std::vector<std::string> names;
  for (const char* name :
       {"nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia_peermem", "nvidia_fs", "nvidia"})
    if (has_module(machine, name) == Tristate::kYes) names.emplace_back(name);
  return names.empty() ? "nvidia_drm nvidia_modeset nvidia_uvm nvidia" : join(names, " ");
}

FixStep reload(const Machine& machine, const std::string& text) {
  return root_step("sudo rmmod " + loaded_in_order(machine) + " && sudo modprobe nvidia", text,
                   "the loaded module; nothing on disk", "none needed");
}

// "python3 (pid 4711)", each once.
std::string names_of(const std::vector<DriverHolder>& holders) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> names;
  for (const auto& holder : holders)
    if (names.size() < kShown)
      names.push_back(holder.name + " (pid " + std::to_string(holder.pid) + ")");
  if (holders.size() > kShown)
    names.push_back("and " + std::to_string(holders.size() - kShown) + " more");
  return join(names, ", ");
}

// A module can be taken out only when nobody holds it, and only root sees everybody. With a desktop
// or a handful of services on it, a reboot is the shorter way.
std::vector<FixStep> restart_steps(const Machine& machine) {
  const auto& holders = machine.driver.holders;
  const bool complete = holders.is_known() && machine.host.uid.is(0);
  if (complete && holders->empty())
    return {reload(machine, "no process holds the old driver, so no reboot is needed"),
            reboot("when that is refused")};
  const auto restart = reboot("loads the module that goes with the libraries");
  if (holders.is_known() && !holders->empty())
    return {restart,
            advice("or, without a reboot: end " + names_of(*holders) +
                   (complete ? "" : " and what sudo fuser -v /dev/nvidia* shows besides")),
            reload(machine, "and then load the new module")};
  return {restart, reload(machine,
                          "instead of a reboot, when nothing uses the GPU (sudo fuser -v "
                          "/dev/nvidia*): no desktop, no container, no "
                          "nvidia-persistenced")};
}

std::vector<FixStep> one_version(const Machine& machine, Remedy way) {
  switch (way) {
    case Remedy::kRestart:
      return restart_steps(machine);
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
  if (way == Remedy::kRestartFirst) steps = restart_steps(machine);
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

// -------------------------------------------------------------------------- the story

// The newest event that brought this very version; of the library's own package if there is one.
const PackageEvent* upgrade_to(const Machine& machine, const Version& version) {
  const auto brings = [&](const PackageEvent& event) {
    return event.to.find(version.text()) != std::string::npos;
  };
  const auto is_own = [&](const PackageEvent& event) {
    if (!brings(event)) return false;
    for (const std::string_view name :
         {"libnvidia-compute", "libcuda1", "nvidia-driver-cuda", "xorg-x11-drv-nvidia-cuda",
          "nvidia-compute", "nvidia-utils"})
      if (event.package.starts_with(name)) return true;
    return false;
  };
  const auto* own = newest_event(machine, is_own);
  return own != nullptr ? own : newest_event(machine, brings);
}

void tell_story(const Machine& machine, const Version& library, Remedy way, Finding& finding) {
  if (const auto* event = upgrade_to(machine, library)) {
    finding.evidence.push_back(cite_event(*event));
    if (way == Remedy::kRestart || way == Remedy::kRestartFirst)
      finding.cause = told(*event) + ", and the module of before is still loaded";
  }
  if (!machine.driver.holders.is_known()) return;
  std::size_t shown = 0;
  for (const auto& holder : *machine.driver.holders)
    if (shown++ < 3)
      finding.evidence.push_back(
          {holder.name + " (pid " + std::to_string(holder.pid) + ") still holds " + holder.holds,
           machine.driver.holders.source()});
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
  Finding finding{
      .severity = cuda ? Severity::kError : Severity::kWarning,
      .statement = "the loaded module (" + driver.module_version->text() + ") and " +
                   join(names, ", ") + " (" + library.text() + ") differ",
      .evidence = std::move(evidence),
      .cause = why_different(way),
      .fix = one_version(machine, way),
      .certainty = way == Remedy::kRestart || way == Remedy::kReinstall ? Certainty::kProven
                                                                        : Certainty::kLikely,
  };
  tell_story(machine, library, way, finding);
  return finding;
}

}  // namespace

// Module and libraries talk over a private interface that promises nothing across releases, so the
// module turns away every client of another build (CUDA error 803, NVML error 18). Compat and stub
// copies are not the driver's and have rules of their own; WSL's libraries belong to Windows, and
// gVisor does not show the module's version.
Verdict driver_is_of_one_build(const Machine& machine, const Catalog&) {
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

}  // namespace gpuwright
