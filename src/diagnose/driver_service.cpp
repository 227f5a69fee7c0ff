#include "diagnose/driver_service.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/gpu.h"
#include "diagnose/kernel_log.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// What stands between a loaded driver and work on the GPU: a driver that hangs, firmware, modes of
// the GPU (MIG, compute mode), MPS, the licence of a virtual GPU, the fabric.

namespace gpuwright {
namespace {

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// ------------------------------------------------------------------------------ hangs

bool is_inside_driver(const BlockedTask& task) {
  for (const std::string_view part : {"nvidia", "uvm_", "nvkms", "os_acquire", "rm_ioctl"})
    if (holds(task.where, part)) return true;
  return false;
}

// "INFO: task python3:4711 blocked for more than 120 seconds." counts for a task that is blocked
// now, and when the next line that is of interest here is a frame of the driver.
std::vector<Evidence> watched_by_kernel(const Machine& machine, const BlockedTask& task) {
  const auto lines = lines_since_load(machine);
  const auto mark = ":" + std::to_string(task.pid) + " blocked for more than";
  for (std::size_t i = lines.size(); i-- > 1;) {
    const auto& frame = lines[i];
    if (!holds(lines[i - 1], mark) || !holds(frame, "[nvidia") || !holds(frame, "+0x")) continue;
    return {{lines[i - 1], machine.driver.kernel_log.source()},
            {frame, machine.driver.kernel_log.source()}};
  }
  return {};
}

std::vector<Evidence> gsp_timeouts(const Machine& machine) {
  std::vector<Evidence> found;
  for (const auto& xid : open_xids(machine))
    if ((xid.code == 119 || xid.code == 120) && found.empty())
      found.push_back({xid.line, machine.driver.kernel_log.source()});
  return found;
}

Evidence told(const Machine& machine, const BlockedTask& task) {
  return {task.name + " (pid " + std::to_string(task.pid) + ") sleeps in " +
              (task.where.empty() ? "the kernel" : task.where) + " and cannot be killed",
          machine.driver.blocked.source()};
}

void append(std::vector<Evidence>& all, const std::vector<Evidence>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// A task in the driver is often in state D for a moment. It hangs when the kernel has watched it
// for two minutes, or when the GPU's firmware has stopped answering. (A first call that runs out of
// time under `check --run` is driver.no-answer.)
Verdict nobody_is_stuck(const Machine& machine, const Catalog&) {
  if (is_wsl(machine) || module_loaded(machine) != Tristate::kYes) return NotApplicable{};
  const auto timeouts = gsp_timeouts(machine);
  std::vector<Evidence> stuck, proof;
  for (const auto& task : machine.driver.blocked.value_or({})) {
    const auto watched = watched_by_kernel(machine, task);
    if (watched.empty() && (timeouts.empty() || !is_inside_driver(task))) continue;
    if (stuck.size() < 3) stuck.push_back(told(machine, task));
    if (proof.empty()) proof = watched;
  }
  if (stuck.empty()) return NotApplicable{};
  std::vector<Evidence> evidence = proof;
  append(evidence, timeouts);
  append(evidence, stuck);
  return Finding{
      .statement = "the NVIDIA driver hangs: " + stuck.front().text,
      .evidence = std::move(evidence),
      .cause =
          "the GPU or its firmware (GSP) stopped answering, and the driver waits for it for "
          "ever; every further call joins the queue",
      .fix = {reboot("the only way out: a task inside the driver cannot be killed; when the reboot "
                     "hangs too, use the power button or the management board"),
              root_step("sudo dmesg | grep -iE 'xid|nvrm' | tail -n 40",
                        "before that, keep what led to it", "nothing", "none needed")},
  };
}

// --------------------------------------------------------------------------- firmware

bool is_open(const Machine& machine) { return machine.driver.module_flavour.is("open"); }

// That no GPU has started is what makes a missing file a fault: a system may hand the firmware out
// of an image of its own.
bool no_gpu_has_started(const Machine& machine) {
  const auto gpus = judged_gpus(machine);
  return !gpus.empty() && std::all_of(gpus.begin(), gpus.end(), [&](const PciGpu& gpu) {
    return may_be_listed(machine, gpu) && has_started(machine, gpu) == Started::kNo;
  });
}

std::vector<FixStep> bring_firmware(const Machine& machine) {
  const Driver& driver = machine.driver;
  const std::string branch = std::to_string(driver.module_version->major_part());
  const bool ubuntu = machine.host.distribution.is("ubuntu");
  const auto package = [&]() -> std::string {
    for (const auto& name : installed_packages(machine, {"nvidia-kernel-common"})) return name;
    return "nvidia-kernel-common-" + branch;
  }();
  const std::string command = pick(
      machine, {.apt = ubuntu ? "sudo apt install --reinstall " + package + " nvidia-firmware-" +
                                    branch + "-" + driver.module_version->text()
                              : "sudo apt install --reinstall firmware-nvidia-gsp",
                .dnf = "sudo dnf reinstall nvidia-kmod-common",
                .zypper = "sudo zypper install --force nvidia-open-driver-G06-signed-kmp-default",
                .pacman = "sudo pacman -S nvidia-utils"});
  const std::string text =
      "the firmware has to be that of the module, " + driver.module_version->text();
  return {command.empty() ? advice("install the driver's firmware again: " + text)
                          : root_step(command, text, "the files under /lib/firmware/nvidia",
                                      "remove the package again"),
          rebuild_initramfs(machine), reboot("the firmware is loaded when the GPU starts")};
}

Verdict has_firmware(const Machine& machine, const Catalog&) {
  const Driver& driver = machine.driver;
  if (setting_of(machine) != Setting::kHost || !driver.module_version.is_known())
    return NotApplicable{};
  std::vector<Evidence> evidence = missing_firmware(machine);
  const bool refused = !evidence.empty();
  if (!no_gpu_has_started(machine)) return NotApplicable{};
  if (!refused && !(is_open(machine) && driver.gsp_firmware.is(false))) return NotApplicable{};
  evidence.push_back(cite("firmware of the GSP is on disk", driver.gsp_firmware));
  evidence.push_back(cite("loaded module", driver.module_version));
  evidence.push_back({"no GPU has been started since", machine.hardware.driver_gpus.source()});
  return Finding{
      .statement = "the firmware of driver " + driver.module_version->text() +
                   " for the GPU's own processor (GSP) is missing: no gsp_*.bin in " +
                   "/lib/firmware/nvidia/" + driver.module_version->text(),
      .evidence = std::move(evidence),
      .cause =
          "module and firmware come in separate packages, and one was upgraded or installed "
          "without the other; the open module starts no GPU without it",
      .fix = bring_firmware(machine),
      .certainty = refused ? Certainty::kProven : Certainty::kLikely,
  };
}

bool wants_gsp_off(const Machine& machine) {
  const auto& options = machine.driver.module_options;
  const auto option = options.find("nvidia.NVreg_EnableGpuFirmware");
  return option != options.end() && option->second == "0";
}

// NVIDIA's answer to people who want it off: the open module cannot do without. The option is left
// from a proprietary driver, and whoever set it wonders.
Verdict options_have_effect(const Machine& machine, const Catalog&) {
  if (setting_of(machine) != Setting::kHost || !wants_gsp_off(machine) || !is_open(machine))
    return NotApplicable{};
  return Finding{
      .severity = Severity::kInfo,
      .statement =
          "NVreg_EnableGpuFirmware=0 has no effect: the open kernel module always runs the "
          "GPU's firmware (GSP)",
      .evidence = {{"nvidia.NVreg_EnableGpuFirmware = 0",
                    "modprobe.d or the kernel's command line"},
                   cite("flavour of the loaded module", machine.driver.module_flavour)},
      .cause = "the option belongs to the proprietary module",
      .fix = {user_step("grep -r EnableGpuFirmware /etc/modprobe.d /lib/modprobe.d /proc/cmdline",
                        "where it stands; take it out", "nothing", "none needed"),
              advice("to run without that firmware, up to Hopper: install the proprietary module "
                     "of the same branch")},
  };
}

// ---------------------------------------------------------------------------- licence

std::string why_unlicensed(const Driver& driver) {
  if (driver.licence_configured.is(false))
    return "no client token lies in /etc/nvidia/ClientConfigToken, and gridd.conf names no server";
  if (driver.licence_daemon.is_absent()) return "nvidia-gridd, which fetches it, is not installed";
  if (driver.licence_daemon.is(false)) return "nvidia-gridd, which fetches it, does not run";
  return "nvidia-gridd could not fetch it: the server is out of reach, the token is old, the clock "
         "is wrong, or all licences are taken";
}

std::vector<FixStep> fetch_licence(const Driver& driver) {
  std::vector<FixStep> steps;
  if (!driver.licence_configured.is(true))
    steps.push_back(
        root_step("sudo install -m 744 client_configuration_token_*.tok "
                  "/etc/nvidia/ClientConfigToken/",
                  "the token comes from whoever runs the licence server", "adds the token",
                  "remove it from that directory"));
  steps.push_back(root_step("sudo systemctl restart nvidia-gridd", "asks for the licence again",
                            "the service", "none needed"));
  steps.push_back(user_step("nvidia-smi -q | grep -A 3 -i 'Licensed Product'",
                            "has to say Licensed", "nothing", "none needed"));
  steps.push_back(root_step("sudo journalctl -b -u nvidia-gridd | tail -n 20", "why it is refused",
                            "nothing", "none needed"));
  return steps;
}

// Without a licence a virtual GPU works in full for some twenty minutes, then slowly, and at last
// refuses CUDA: "devices are busy or unavailable" while nvidia-smi looks well.
Verdict is_licensed(const Machine& machine, const Catalog&) {
  const Driver& driver = machine.driver;
  const auto without = those(machine, [](const NvmlGpu& gpu) {
    return gpu.licence.is_known() && lower(*gpu.licence).starts_with("unlicensed");
  });
  const bool asked =
      !those(machine, [](const NvmlGpu& gpu) { return gpu.licence.is_known(); }).empty();
  if (asked && without.empty()) return Fine{};
  if (without.empty() && !(driver.vgpu_guest.is(true) && driver.licence_configured.is(false) &&
                           setting_of(machine) == Setting::kHost))
    return NotApplicable{};
  std::vector<Evidence> evidence;
  if (!without.empty()) evidence.push_back(cite("licence", without.front().licence));
  evidence.push_back(cite("a share of a GPU (vGPU)", driver.vgpu_guest));
  evidence.push_back(cite("licence configured", driver.licence_configured));
  evidence.push_back(cite("nvidia-gridd runs", driver.licence_daemon));
  return Finding{
      .severity = Severity::kWarning,
      .statement =
          "this virtual GPU has no licence: it is slowed down after some minutes, and "
          "refuses CUDA later",
      .evidence = std::move(evidence),
      .cause = why_unlicensed(driver),
      .fix = fetch_licence(driver),
      .certainty = without.empty() ? Certainty::kLikely : Certainty::kProven,
  };
}

// ----------------------------------------------------------------------------- fabric

// A running fabric manager may still be at it, or have failed on a link. cuInit says 802 meanwhile.
Verdict fabric_is_ready(const Machine& machine, const Catalog&) {
  if (nvml_gpus(machine) == nullptr) return NotApplicable{};
  if (setting_of(machine) == Setting::kHost && machine.hardware.nvswitch.is(true) &&
      !machine.driver.fabric_manager_running.is(true))
    return NotApplicable{};  // driver.fabric-manager tells that
  if (machine.run.driver.is_known() && machine.run.driver->result == "CUDA_SUCCESS") return Fine{};
  const auto waiting = those(machine, [](const NvmlGpu& gpu) {
    return gpu.fabric_state.is("in progress") || gpu.fabric_state.is("not started");
  });
  if (waiting.empty()) return Fine{};
  std::vector<Evidence> evidence = {cite("fabric state", waiting.front().fabric_state)};
  if (machine.run.driver.is_known())
    evidence.push_back({"cuInit: " + machine.run.driver->result, machine.run.driver.source()});
  const bool container = setting_of(machine) == Setting::kContainer;
  return Finding{
      .statement = "the NVLink fabric of " + names_of(waiting) + " is not ready (" +
                   *waiting.front().fabric_state + "): CUDA waits for it (error 802)",
      .evidence = std::move(evidence),
      .cause =
          "the fabric manager has not set up these GPUs: it still starts, another version of "
          "it runs, a link failed, or in a virtual machine the host has given it no partition",
      .fix = {root_step("sudo systemctl restart nvidia-fabricmanager",
                        container ? "on the host; with every GPU idle" : "with every GPU idle",
                        "ends what runs on the GPUs", "none needed"),
              root_step("sudo tail -n 40 /var/log/fabricmanager.log", "what it stumbles over",
                        "nothing", "none needed")},
      .certainty = Certainty::kLikely,
  };
}

constexpr Rule kRules[] = {
    {"driver.hangs", "no process is stuck in the driver", nobody_is_stuck, Standing::kOwn},
    {"driver.gsp-firmware-missing", "the firmware that the module loads into the GPU is there",
     has_firmware, Standing::kOwn},
    {"driver.option-without-effect", "options of the module do what they say", options_have_effect,
     Standing::kAdvice},
    {"driver.mig-without-instances", "a GPU in MIG mode has instances", mig_has_instances,
     Standing::kOwn},
    {"driver.mig-not-permitted", "this user may use the MIG instances", mig_is_permitted,
     Standing::kOwn},
    {"driver.compute-prohibited", "the compute mode lets CUDA in", compute_is_allowed,
     Standing::kOwn},
    {"driver.mps-daemon-missing", "where MPS is asked for, its daemon listens", mps_is_there,
     Standing::kAdvice},
    {"driver.vgpu-unlicensed", "a virtual GPU has its licence", is_licensed, Standing::kAdvice},
    {"driver.fabric-not-ready", "the NVLink fabric is set up", fabric_is_ready, Standing::kOwn},
};

}  // namespace

std::span<const Rule> driver_service_rules() { return kRules; }

}  // namespace gpuwright
