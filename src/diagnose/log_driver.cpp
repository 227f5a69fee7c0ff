#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/gpu.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// What nvidia-smi, NVML and the kernel's log say about the driver: its parts are of one release, it
// is the right one for the GPU, and nothing else has the card. Modules that are not built or not
// let in are told in log_module.cpp, what surrounds the driver in log_service.cpp.

namespace gpuwright {
namespace {

// ----------------------------------------------------------------------------- releases

bool is_of_container(const Machine& machine) {
  return has_event(machine, "container.cli-failed") || has_event(machine, "cdi.stale");
}

std::vector<FixStep> make_one(const Machine& machine) {
  if (is_of_container(machine) && !has_event(machine, "kernel.api-mismatch"))
    return {reboot("of the host: loads the module that belongs to the libraries")};
  std::vector<FixStep> steps = {
      reboot("loads the module that belongs to the libraries"),
      root_step(
          "sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia",
          "instead of a reboot, after everything that holds /dev/nvidia* has ended (sudo fuser "
          "-v /dev/nvidia*)",
          "loads the new module", "none needed")};
  if (has_event(machine, "package.unattended"))
    steps.push_back(root_step("sudo apt-mark hold 'nvidia-driver-*' 'libnvidia-*'",
                              "keeps unattended upgrades from doing it again",
                              "the driver's packages stay as they are",
                              "sudo apt-mark unhold 'nvidia-driver-*' 'libnvidia-*'"));
  return steps;
}

std::string library_version(const Machine& machine) {
  const auto* kernel = first_event(machine, "kernel.api-mismatch");
  if (kernel != nullptr && !value_of(*kernel, "client").empty()) return value_of(*kernel, "client");
  if (const auto* library = first_event(machine, "nvml.library-version"))
    return value_of(*library, "version");
  if (const auto* upgrade = first_event(machine, "package.driver-upgraded"))
    return value_of(*upgrade, "to");
  return "";
}

// The versions stand in the kernel's own message, in the line that NVML adds since 535, or in other
// commands of the paste; the message alone is proof enough that they differ.
Verdict one_version(const Machine& machine, const Catalog&) {
  const auto* nvml = event_saying(machine, "nvml.init-failed", "version mismatch");
  if (nvml == nullptr) nvml = event_saying(machine, "nvml.init-failed", "VersionMismatch");
  if (nvml == nullptr) nvml = event_saying(machine, "nvml.error-code", "version mismatch");
  if (nvml == nullptr) nvml = event_saying(machine, "container.cli-failed", "version mismatch");
  const auto* kernel = first_event(machine, "kernel.api-mismatch");
  const auto* code = event_with(machine, "cuda.count-failed", "code", "803");
  if (nvml == nullptr && kernel == nullptr && code == nullptr) return NotApplicable{};
  const auto* module = first_event(machine, "kernel.module-version-line");
  if (module == nullptr) module = last_event(machine, "kernel.module-loaded");
  const auto loaded = module == nullptr ? "" : value_of(*module, "version");
  const auto client = library_version(machine);
  Finding finding;
  finding.statement =
      loaded.empty() && client.empty()
          ? "the loaded kernel module and the driver's libraries are of different versions"
          : "the loaded kernel module is " + (loaded.empty() ? "of another version" : loaded) +
                " and the driver's libraries are " + (client.empty() ? "of another" : client);
  finding.evidence = cite({nvml, kernel, code, first_event(machine, "nvml.library-version"), module,
                           first_event(machine, "package.unattended"),
                           first_event(machine, "package.driver-upgraded")});
  finding.cause = std::string("the driver's packages were upgraded") +
                  (has_event(machine, "package.unattended") ? " by unattended-upgrades" : "") +
                  " and the old module is still loaded";
  finding.fix = make_one(machine);
  finding.certainty = Certainty::kLikely;
  return finding;
}

// ------------------------------------------------------------------------- for this GPU

std::vector<FixStep> install_branch(const Machine& machine, const Catalog& catalog,
                                    const std::string& branch) {
  const auto gpus = told_gpus(machine);
  const auto host = with_distribution(machine);
  if (!gpus.empty() && host.host.distribution.is_known())
    return install_driver(host, catalog, gpus);
  return {
      root_step("sudo apt install nvidia-driver-" + branch,
                "Ubuntu; elsewhere the package of branch " + branch + " (Arch: nvidia-" + branch +
                    "xx-dkms, NixOS: nvidiaPackages.legacy_" + branch + "), and hold it there",
                "adds the driver's packages and builds its kernel module",
                "remove the packages that the command named"),
      reboot("loads the older module")};
}

Verdict serves_gpu(const Machine& machine, const Catalog& catalog) {
  const auto* branch = first_event(machine, "kernel.legacy-branch");
  const auto* ignores = first_event(machine, "kernel.ignores-gpu");
  if (branch == nullptr && ignores == nullptr) return NotApplicable{};
  const auto* gpu = first_event(machine, "kernel.legacy-gpu");
  const auto version = ignores == nullptr ? "" : value_of(*ignores, "version");
  const auto wanted = branch == nullptr ? "" : value_of(*branch, "branch");
  return Finding{
      .statement = "the driver" + (version.empty() ? "" : " " + version) +
                   " no longer serves the " + (gpu == nullptr ? "GPU" : value_of(*gpu, "name")) +
                   (wanted.empty() ? "" : "; the last branch that does is " + wanted),
      .evidence = cite({gpu, branch, ignores, first_event(machine, "kernel.no-gpu-found")}),
      .cause = "the driver was upgraded to a branch that has dropped this generation of GPUs",
      .fix = install_branch(machine, catalog, wanted.empty() ? "470" : wanted)};
}

Verdict new_enough_for_gpu(const Machine& machine, const Catalog& catalog) {
  const auto* line = first_event(machine, "kernel.gpu-unsupported");
  if (line == nullptr || has_event(machine, "kernel.legacy-branch")) return NotApplicable{};
  const bool open = !value_of(*line, "open").empty();
  const auto version = value_of(*line, "version") + value_of(*line, "release");
  const auto gpus = told_gpus(machine);
  Finding finding;
  finding.statement =
      open ? "the open kernel module does not drive " + told_gpu_name(machine, catalog)
           : "driver " + version + " does not know " + told_gpu_name(machine, catalog);
  finding.evidence = cite({first_event(machine, "kernel.named-gpu"), line,
                           first_event(machine, "kernel.no-gpu-found")});
  finding.cause = open ? "the open module needs a GPU with a GSP: Turing or newer"
                       : "the GPU is newer (or much older) than this branch of the driver";
  finding.fix =
      gpus.empty()
          ? std::vector<FixStep>{advice(open ? "install the proprietary flavour of the driver"
                                             : "install the newest branch of the driver")}
          : install_driver(with_distribution(machine), catalog, gpus);
  finding.certainty = Certainty::kLikely;
  return finding;
}

std::vector<FixStep> install_open(const Machine& machine, const Catalog& catalog) {
  const auto* loaded = last_event(machine, "kernel.module-loaded");
  const auto version = loaded == nullptr ? "" : value_of(*loaded, "version");
  const auto branch = version.substr(0, version.find('.'));
  std::vector<FixStep> steps;
  const auto host = with_distribution(machine);
  if (host.host.distribution.is_known() && !told_gpus(machine).empty())
    steps = install_driver(host, catalog, told_gpus(machine));
  else
    steps = {
        root_step("sudo apt install nvidia-driver-" + (branch.empty() ? "580" : branch) + "-open",
                  "Ubuntu: the open flavour of the same branch, it replaces the closed one; "
                  "elsewhere nvidia-open, or NVIDIA's installer with -M open",
                  "the kernel module", "install the package without -open"),
        reboot("loads the open module")};
  steps.push_back(
      user_step("modinfo -F license nvidia", "afterwards: Dual MIT/GPL", "nothing", "none needed"));
  return steps;
}

Verdict is_right_flavour(const Machine& machine, const Catalog& catalog) {
  const auto* line = first_event(machine, "kernel.needs-open-module");
  if (line == nullptr) return NotApplicable{};
  return Finding{.statement = told_gpu_name(machine, catalog) +
                              " works with the open kernel module only, and the closed one "
                              "(proprietary) is loaded",
                 .evidence = cite({first_event(machine, "kernel.named-gpu"), line,
                                   last_event(machine, "kernel.module-loaded")}),
                 .cause =
                     "since Blackwell NVIDIA makes the open flavour only; the driver was "
                     "installed in the closed one",
                 .fix = install_open(machine, catalog)};
}

Verdict has_firmware(const Machine& machine, const Catalog& catalog) {
  const auto* line = first_event(machine, "kernel.firmware-missing");
  if (line == nullptr) return NotApplicable{};
  const auto file = value_of(*line, "file");
  return Finding{
      .statement = "the firmware (GSP) of " + told_gpu_name(machine, catalog) + " is missing" +
                   (file.empty() ? "" : ": /lib/firmware/" + file),
      .evidence = cite({line, first_event(machine, "kernel.adapter-failed")}),
      .cause =
          "the driver's module is newer than its firmware package, or the package is not "
          "installed, or the initial RAM disk has the module without the firmware",
      .fix = {user_step("ls /lib/firmware/nvidia/", "which versions are there", "nothing",
                        "none needed"),
              root_step("sudo apt install --reinstall nvidia-firmware-NNN",
                        "Ubuntu, with the full version of the module as NNN; Debian "
                        "firmware-nvidia-gsp; else the driver's installer again",
                        "files under /lib/firmware/nvidia", "remove the package"),
              reboot("or reload the module")}};
}

// ------------------------------------------------------------------------- other owners

// An initial RAM disk older than the black list still brings nouveau.
bool is_blacklisted(const Machine& machine) { return has_event(machine, "nouveau.blacklist"); }

std::vector<FixStep> away_with_nouveau(const Machine& machine) {
  std::vector<FixStep> steps;
  if (!is_blacklisted(machine))
    steps.push_back(
        root_step("printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee "
                  "/etc/modprobe.d/blacklist-nouveau.conf",
                  "keeps nouveau from loading", "/etc/modprobe.d/blacklist-nouveau.conf",
                  "sudo rm /etc/modprobe.d/blacklist-nouveau.conf"));
  steps.push_back(root_step("sudo update-initramfs -u",
                            "Debian and Ubuntu; Fedora and RHEL: sudo dracut --force. The initial "
                            "RAM disk has its own copy of nouveau and of the black list",
                            "the initial RAM disk in /boot", "run it again after undoing"));
  steps.push_back(reboot("nouveau lets go of the card only then"));
  steps.push_back(user_step("lspci -nnk | grep -A3 -i nvidia",
                            "afterwards: Kernel driver in use: nvidia", "nothing", "none needed"));
  return steps;
}

Verdict nouveau_stays_out(const Machine& machine, const Catalog& catalog) {
  const auto* driver = event_with(machine, "pci.driver", "driver", "nouveau");
  const auto* binds = first_event(machine, "kernel.nouveau-binds");
  const auto* installer = first_event(machine, "installer.nouveau");
  const auto* loaded = first_event(machine, "lsmod.nouveau");
  const auto* owner = first_event(machine, "kernel.other-owner");
  const bool wants_nvidia =
      owner != nullptr || installer != nullptr || has_event(machine, "module.no-device") ||
      has_event(machine, "smi.no-driver") || has_event(machine, "smi.no-devices");
  if (!wants_nvidia || (driver == nullptr && installer == nullptr && loaded == nullptr &&
                        (binds == nullptr || owner == nullptr)))
    return NotApplicable{};
  Finding finding;
  finding.statement =
      "nouveau owns " + told_gpu_name(machine, catalog) + ", so the nvidia module finds no device";
  finding.evidence =
      cite({driver, installer, loaded, binds, owner, first_event(machine, "module.no-device")});
  finding.cause = is_blacklisted(machine)
                      ? "nouveau is black-listed, but the initial RAM disk is older than that and "
                        "still loads it"
                      : "nouveau, the kernel's own driver, was loaded first";
  finding.fix = away_with_nouveau(machine);
  return finding;
}

constexpr Rule kRules[] = {
    {"driver.version-mismatch", "module and libraries of the driver are one build", one_version},
    {"driver.branch-dropped-gpu", "the driver still serves the GPU", serves_gpu, Standing::kOwn},
    {"driver.wrong-flavour", "the flavour of the kernel module drives the GPU", is_right_flavour,
     Standing::kOwn},
    {"driver.gpu-unsupported", "the driver knows the GPU", new_enough_for_gpu},
    {"driver.gsp-firmware-missing", "the GPU's firmware is there", has_firmware, Standing::kOwn},
    {"driver.nouveau-in-the-way", "nouveau leaves the GPU alone", nouveau_stays_out},
};

}  // namespace

std::span<const Rule> log_driver_rules() { return kRules; }

}  // namespace gpuwright
