#include <algorithm>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/gpu.h"
#include "diagnose/kernel_log.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

namespace gpuwright {
namespace {

using Gpus = std::vector<PciGpu>;

// "0000:3b:00.0 (NVIDIA A100)", for the text of a finding.
std::string described(const Machine& machine, const Catalog& catalog, const Gpus& gpus) {
  std::vector<std::string> pieces;
  for (const auto& gpu : gpus)
    pieces.push_back(gpu_name(machine, catalog, gpu) + " at " + gpu.address);
  return join(pieces, ", ");
}

std::string addresses(const Gpus& gpus) {
  std::vector<std::string> pieces;
  for (const auto& gpu : gpus) pieces.push_back(gpu.address);
  return join(pieces, ", ");
}

// An error when no GPU is left, a warning while others work.
Severity severity_of_losing(const Gpus& lost, const Machine& machine) {
  return lost.size() == machine.hardware.gpus->size() ? Severity::kError : Severity::kWarning;
}

// ------------------------------------------------------------------------- no GPU

// Text of a finding that depends on where the program runs.
struct NoGpu {
  std::string statement;
  std::string cause;
  std::vector<FixStep> fix;
};

NoGpu without_gpu_on_host_of_container() {
  return {.statement = "no NVIDIA GPU is visible in this container",
          .cause = "the host of the container has no NVIDIA GPU on its PCI bus",
          .fix = {advice("run the container on a host with an NVIDIA GPU")}};
}

NoGpu without_gpu_in_container(const Machine& machine) {
  return {.statement = "no NVIDIA GPU is visible in this container",
          .cause = "the container was started without a GPU, or its host has none",
          .fix = start_with_gpu(machine)};
}

NoGpu without_gpu_in_wsl() {
  return {.statement = "no GPU is visible in WSL: /dev/dxg is not there",
          .cause =
              "the Windows driver of the GPU is missing or older than its WSL support, the WSL "
              "kernel is too old, or Windows itself runs in a virtual machine without a GPU",
          .fix = {advice("install the current NVIDIA driver in Windows; none inside WSL"),
                  user_step("wsl.exe --update", "in PowerShell: a WSL kernel with GPU support",
                            "the WSL kernel of Windows", "none needed"),
                  user_step("wsl.exe --shutdown", "in PowerShell: starts WSL afresh",
                            "stops all WSL distributions", "none needed")}};
}

NoGpu without_gpu_in_guest() {
  return {.statement = "no NVIDIA GPU is visible on this virtual machine",
          .cause =
              "the virtual machine was made without a GPU: an instance type without one, or no "
              "PCI device passed through",
          .fix = {advice(
              "in a cloud: take an instance type with a GPU; on a host of your own: pass the "
              "GPU's PCI functions through (vfio-pci) and start the guest again")}};
}

NoGpu without_gpu_on_metal() {
  return {.statement = "no NVIDIA GPU is visible on this machine",
          .cause =
              "there is no NVIDIA card, or the firmware does not see it: not seated, without "
              "power, its slot switched off, or a laptop's GPU powered down",
          .fix = {user_step("lspci -nn -d 10de:", "asks the bus again; empty means the same",
                            "nothing", "none needed"),
                  advice("check that the card sits in its slot with its power plugs, that the "
                         "firmware's settings enable the slot (and 'Above 4G decoding'), and on a "
                         "laptop that the GPU is not switched off (prime-select, supergfxctl)")}};
}

Finding no_gpu(NoGpu text, std::vector<Evidence> evidence) {
  return {.statement = std::move(text.statement),
          .evidence = std::move(evidence),
          .cause = std::move(text.cause),
          .fix = std::move(text.fix)};
}

Verdict wsl_has_gpu(const Machine& machine) {
  const auto& dxg = machine.hardware.dxg;
  if (!dxg.is_known() && !dxg.is_absent()) return Undecided{{cite("/dev/dxg", dxg)}};
  if (dxg.is(true)) return Fine{};
  return no_gpu(without_gpu_in_wsl(), {cite("/dev/dxg", dxg), cite("WSL", machine.host.wsl)});
}

// A container sees its host's bus whether or not it may use what is there, and gVisor shows no bus:
// there the nodes tell. That the host has a GPU and the container no node of it is a matter of the
// driver rung.
Verdict container_has_gpu(const Machine& machine) {
  const auto& nodes = machine.driver.nodes;
  const auto& gpus = machine.hardware.gpus;
  const auto found = has_gpu_node(machine);
  if (found == Tristate::kYes) return Fine{};
  if (found == Tristate::kUnknown) return Undecided{{cite("device nodes", nodes)}};
  const bool bus_tells = setting_of(machine) == Setting::kContainer && gpus.is_known();
  if (bus_tells && !gpus->empty()) return Fine{};
  std::vector<Evidence> evidence = {{"there is no /dev/nvidia0 or other GPU node", nodes.source()}};
  if (bus_tells)
    evidence.push_back({"the host's PCI bus has no NVIDIA display function", gpus.source()});
  return no_gpu(bus_tells ? without_gpu_on_host_of_container() : without_gpu_in_container(machine),
                std::move(evidence));
}

// The kernel lists what answered on the bus when it looked; a Jetson's GPU is not on it.
Verdict has_gpu(const Machine& machine, const Catalog&) {
  if (is_jetson(machine)) return NotApplicable{};
  switch (setting_of(machine)) {
    case Setting::kWsl:
      return wsl_has_gpu(machine);
    case Setting::kContainer:
      return is_wsl(machine) && machine.hardware.dxg.is(true) ? Verdict(Fine{})
                                                              : container_has_gpu(machine);
    case Setting::kGvisor:
      return container_has_gpu(machine);
    case Setting::kHost:
    case Setting::kUnknown:
      break;
  }
  const auto& gpus = machine.hardware.gpus;
  if (!gpus.is_known() && !gpus.is_absent()) return Undecided{{cite("PCI functions", gpus)}};
  if (gpus.is_known() && !gpus->empty()) return Fine{};
  if (has_gpu_node(machine) == Tristate::kYes) return Fine{};
  if (setting_of(machine) == Setting::kUnknown)
    return Undecided{{cite("container", machine.host.container), cite("WSL", machine.host.wsl)}};
  const bool guest = machine.host.hypervisor.is_known();
  std::vector<Evidence> evidence = {
      {"no NVIDIA display or 3D function (vendor 10de, class 03)", gpus.source()}};
  if (guest) evidence.push_back(cite("hypervisor", machine.host.hypervisor));
  return no_gpu(guest ? without_gpu_in_guest() : without_gpu_on_metal(), std::move(evidence));
}

// ------------------------------------------------------------- another driver has it

// nouveau counts only beside a loaded nvidia module. Where that is not loaded, nouveau is either
// what a system without NVIDIA's driver should have, or what keeps the driver out: the driver rung
// tells which.
bool is_taken(const Machine& machine, const PciGpu& gpu) {
  if (!gpu.driver.is_known() || *gpu.driver == "nvidia") return false;
  return *gpu.driver != "nouveau" || module_loaded(machine) == Tristate::kYes;
}

bool is_for_guests(const PciGpu& gpu) {
  return gpu.driver.is("vfio-pci") || gpu.driver.is("pciback") || gpu.driver.is("pci-stub");
}

std::vector<FixStep> give_back(const PciGpu& gpu) {
  const std::string function = shell_word(gpu.address);
  std::vector<FixStep> steps;
  if (is_for_guests(gpu))
    steps.push_back(
        advice("stop the virtual machine that uses the GPU, and take the GPU out of "
               "the vfio-pci ids in /etc/modprobe.d or on the kernel command line"));
  steps.push_back(root_step(
      "echo " + function + " | sudo tee /sys/bus/pci/devices/" + function + "/driver/unbind",
      "takes it from the driver that has it now", "until the next boot", "reboot"));
  steps.push_back(root_step("echo nvidia | sudo tee /sys/bus/pci/devices/" + function +
                                "/driver_override && echo " + function +
                                " | sudo tee /sys/bus/pci/drivers_probe",
                            "gives it to nvidia", "until the next boot", "reboot"));
  return steps;
}

std::string why_taken(const PciGpu& gpu) {
  if (is_for_guests(gpu))
    return "the GPU is set aside for virtual machines, by vfio-pci ids on the kernel command line "
           "or in modprobe.d, or by a running virtual machine";
  if (lower(*gpu.driver).starts_with("nova"))
    return "the kernel's new nova driver took the GPU at boot; it does not offer CUDA";
  return "another driver was bound to the GPU before nvidia was loaded";
}

Verdict belongs_to_nvidia(const Machine& machine, const Catalog& catalog) {
  const auto& gpus = machine.hardware.gpus;
  if (setting_of(machine) != Setting::kHost) return NotApplicable{};
  if (!gpus.is_known() || gpus->empty()) return NotApplicable{};
  Gpus taken;
  std::vector<Evidence> evidence, missing;
  for (const auto& gpu : *gpus) {
    if (gpu.driver.is_unknown()) missing.push_back(cite("bound driver", gpu.driver));
    if (!is_taken(machine, gpu)) continue;
    taken.push_back(gpu);
    evidence.push_back(cite("bound driver", gpu.driver));
  }
  if (taken.empty()) return missing.empty() ? Verdict(Fine{}) : Undecided{missing};
  const auto severity = severity_of_losing(taken, machine);
  const bool by_design =
      severity != Severity::kError && std::all_of(taken.begin(), taken.end(), is_for_guests);
  return Finding{
      .severity = by_design ? Severity::kInfo : severity,
      .subject = addresses(taken),
      .statement = described(machine, catalog, taken) + " is bound to " + *taken.front().driver +
                   " and not to nvidia",
      .evidence = std::move(evidence),
      .cause = why_taken(taken.front()),
      .fix = give_back(taken.front()),
  };
}

// ------------------------------------------------- the driver lists fewer than the bus

bool is_listed(const Machine& machine, const PciGpu& gpu) {
  const auto& listed = machine.hardware.driver_gpus;
  if (!listed.is_known()) return false;
  return std::any_of(listed->begin(), listed->end(), [&](const DriverGpu& other) {
    return lower(other.address) == lower(gpu.address) && !other.excluded.is(true);
  });
}

// Why the driver does not drive some GPUs. One finding for each kind of reason.
enum class Loss { kDropped, kTooNew, kNeedsProprietary, kNeedsOpen, kNotListed };

std::optional<Loss> loss_of(const Machine& machine, const Catalog& catalog, const PciGpu& gpu,
                            const std::optional<InstalledDriver>& driver) {
  const bool listed = is_listed(machine, gpu);
  const Fit how = driver ? fit(catalog, gpu, *driver) : Fit::kUnknown;
  // A GPU that needs the open module is listed by the proprietary one and fails on first use.
  if (how == Fit::kNeedsOpen) return Loss::kNeedsOpen;
  if (listed) return std::nullopt;
  if (how == Fit::kDropped) return Loss::kDropped;
  if (how == Fit::kTooNew) return Loss::kTooNew;
  if (how == Fit::kNeedsProprietary) return Loss::kNeedsProprietary;
  if (!machine.hardware.driver_gpus.is_known() || is_taken(machine, gpu)) return std::nullopt;
  // A missing cable or a missing window is told by rules of their own.
  const auto failure = start_failure(machine, gpu);
  if (failure == StartFailure::kPower || failure == StartFailure::kBarSpace) return std::nullopt;
  return Loss::kNotListed;
}

std::string architecture_of(const Catalog& catalog, const PciGpu& gpu) {
  const auto model = catalog.gpu(gpu.device_id);
  return model ? model->architecture : "its";
}

std::string loss_statement(Loss loss, const Machine& machine, const Catalog& catalog,
                           const Gpus& gpus, const std::optional<InstalledDriver>& driver) {
  const std::string who = described(machine, catalog, gpus);
  const DriverNeed need = driver_need(catalog, gpus);
  const std::string architecture = architecture_of(catalog, gpus.front());
  switch (loss) {
    case Loss::kDropped:
      return "driver " + driver->version.text() + " no longer drives " + who + ": branch " +
             std::to_string(*need.last_branch) + " is the last for " + architecture;
    case Loss::kTooNew:
      return "driver " + driver->version.text() + " does not know " + who +
             " yet: " + architecture + " begins with branch " + std::to_string(*need.first_branch);
    case Loss::kNeedsProprietary:
      return "the open kernel module is installed and cannot drive " + who + " (" + architecture +
             "): it serves Turing and newer";
    case Loss::kNeedsOpen:
      return "the proprietary kernel module is installed and cannot drive " + who + " (" +
             architecture + "): it needs the open kernel module";
    case Loss::kNotListed:
      break;
  }
  return "the PCI bus has " + who + ", and the loaded driver does not list it";
}

// nvidia.NVreg_ExcludedGpus, or GpuBlacklist before branch 470; empty when neither is set.
std::string exclusion_of(const Machine& machine) {
  for (const char* name : {"nvidia.NVreg_ExcludedGpus", "nvidia.NVreg_GpuBlacklist"}) {
    const auto option = machine.driver.module_options.find(name);
    if (option != machine.driver.module_options.end() && !option->second.empty())
      return option->first + "=" + option->second;
  }
  return {};
}

std::string loss_cause(Loss loss, const Machine& machine, const Catalog& catalog, const Gpus& gpus,
                       const std::vector<Evidence>& log) {
  const auto fell = [](const Evidence& line) {
    return line.text.find("fallen off the bus") != std::string::npos;
  };
  switch (loss) {
    case Loss::kDropped:
      return "an upgrade went past branch " +
             std::to_string(*driver_need(catalog, gpus).last_branch);
    case Loss::kTooNew:
      return "the distribution's driver is older than the card";
    case Loss::kNeedsProprietary:
      return "the open module, the default since branch 560, needs the GPU System Processor (GSP), "
             "which GPUs before Turing do not have";
    case Loss::kNeedsOpen:
      return "NVIDIA supports this generation in the open module only";
    case Loss::kNotListed:
      break;
  }
  if (std::any_of(log.begin(), log.end(), fell))
    return "the GPU stopped answering on the bus: power, cabling, riser or a defect";
  const auto asleep = [](const Evidence& line) {
    return line.text.find("from D3cold") != std::string::npos;
  };
  if (std::any_of(log.begin(), log.end(), asleep))
    return "the GPU does not wake from its sleep (D3cold): a laptop's firmware or power "
           "management, or a slot that lost its power";
  if (const auto option = exclusion_of(machine); !option.empty())
    return "the driver was told to leave GPUs out: " + option +
           " in modprobe.d or on the kernel's "
           "command line";
  return "the driver could not start the GPU, or was told to leave it out (NVreg_ExcludedGpus); "
         "the kernel log says which";
}

std::vector<FixStep> loss_fix(Loss loss, const Machine& machine, const Catalog& catalog,
                              const Gpus& gpus) {
  if (loss != Loss::kNotListed) return install_driver(machine, catalog, gpus);
  return {root_step("sudo dmesg | grep -iE 'nvrm|nvidia'", "what the driver says about it",
                    "nothing", "none needed"),
          advice("switch the machine off completely and on again, check the card's power plugs and "
                 "seat; if it stays away, try another slot")};
}

Finding loss_finding(Loss loss, const Machine& machine, const Catalog& catalog, const Gpus& gpus,
                     const std::optional<InstalledDriver>& driver) {
  std::vector<Evidence> evidence;
  for (const auto& gpu : gpus)
    evidence.push_back(
        {"10de:" + gpu.device_id + " at " + gpu.address, machine.hardware.gpus.source()});
  if (driver) evidence.insert(evidence.end(), driver->evidence.begin(), driver->evidence.end());
  if (machine.hardware.driver_gpus.is_known())
    evidence.push_back({"the driver lists " + std::to_string(machine.hardware.driver_gpus->size()) +
                            " of " + std::to_string(machine.hardware.gpus->size()) + " GPUs",
                        machine.hardware.driver_gpus.source()});
  const auto log =
      log_lines(machine, {"will ignore", "not supported by open", "open kernel modules",
                          "fallen off the bus", "from D3cold", "RmInitAdapter failed"});
  evidence.insert(evidence.end(), log.begin(), log.end());
  return {
      .severity = severity_of_losing(gpus, machine),
      .subject = addresses(gpus),
      .statement = loss_statement(loss, machine, catalog, gpus, driver),
      .evidence = std::move(evidence),
      .cause = loss_cause(loss, machine, catalog, gpus, log),
      .fix = loss_fix(loss, machine, catalog, gpus),
      .certainty = loss == Loss::kNotListed ? Certainty::kPossible : Certainty::kProven,
  };
}

// The driver's own list is what it took when its module was loaded. It is compared on a host only:
// a container is shown the host's bus and of the driver's list no more than it was given.
Verdict driver_lists_all(const Machine& machine, const Catalog& catalog) {
  const auto& gpus = machine.hardware.gpus;
  if (setting_of(machine) != Setting::kHost) return NotApplicable{};
  if (!gpus.is_known() || gpus->empty()) return NotApplicable{};
  const auto loaded = module_loaded(machine);
  const auto& listed = machine.hardware.driver_gpus;
  const auto driver = installed_driver(machine);
  if (loaded != Tristate::kNo && listed.is_unknown())
    return Undecided{{cite("GPUs of the driver", listed)}};
  std::vector<Finding> findings;
  for (const Loss loss : {Loss::kDropped, Loss::kTooNew, Loss::kNeedsProprietary, Loss::kNeedsOpen,
                          Loss::kNotListed}) {
    Gpus lost;
    for (const auto& gpu : *gpus)
      if (loss_of(machine, catalog, gpu, driver) == loss) lost.push_back(gpu);
    if (!lost.empty()) findings.push_back(loss_finding(loss, machine, catalog, lost, driver));
  }
  if (!findings.empty()) return findings;
  return loaded == Tristate::kYes ? Verdict(Fine{}) : NotApplicable{};
}

// -------------------------------------------------------------------- narrow PCI link

// Lanes do not come and go with load as the speed does: fewer than the card has means that the slot
// or the training of the link gave no more. Virtual bridges report 0 or 63.
bool is_narrow(const PciGpu& gpu) {
  return gpu.link_width.is_known() && gpu.link_width_max.is_known() && *gpu.link_width > 0 &&
         *gpu.link_width_max <= 32 && *gpu.link_width < *gpu.link_width_max;
}

Finding narrow(const Machine& machine, const Catalog& catalog, const PciGpu& gpu) {
  const std::string lanes = "x" + std::to_string(*gpu.link_width);
  const std::string most = "x" + std::to_string(*gpu.link_width_max);
  return {
      .severity = Severity::kWarning,
      .subject = gpu.address,
      .statement = gpu_name(machine, catalog, gpu) + " at " + gpu.address +
                   " runs its PCIe link at " + lanes + ", and has " + most,
      .evidence = {cite("link width now", gpu.link_width),
                   cite("largest link width of the card", gpu.link_width_max),
                   cite("link speed now in GT/s, lower when idle", gpu.link_speed_gts)},
      .cause = "the slot is wired or split (bifurcation) to " + lanes +
               ", or a riser, a cable or a dirty contact costs lanes",
      .fix = {advice(
                  "look up in the mainboard's manual how many lanes this slot has; move the card "
                  "to a slot with " +
                  most + ", or seat it and its riser again"),
              user_step("nvidia-smi --query-gpu=pcie.link.width.current,pcie.link.width.max "
                        "--format=csv",
                        "looks again, best under load", "nothing", "none needed")},
      .certainty = Certainty::kLikely,
  };
}

Verdict link_is_wide(const Machine& machine, const Catalog& catalog) {
  const auto& gpus = machine.hardware.gpus;
  if (!gpus.is_known() || gpus->empty()) return NotApplicable{};
  std::vector<Finding> findings;
  for (const auto& gpu : *gpus)
    if (is_narrow(gpu)) findings.push_back(narrow(machine, catalog, gpu));
  if (findings.empty()) return Fine{};
  return findings;
}

constexpr Rule kRules[] = {
    {"hardware.no-gpu", "an NVIDIA GPU is visible here", has_gpu},
    {"hardware.bound-to-other-driver", "no driver but nvidia has an NVIDIA GPU", belongs_to_nvidia},
    {"hardware.gpu-fewer-in-driver", "the driver drives every NVIDIA GPU on the bus",
     driver_lists_all},
    {"hardware.link-narrow", "each GPU has all the PCIe lanes it can use", link_is_wide,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> hardware_rules() { return kRules; }

}  // namespace gpuwright
