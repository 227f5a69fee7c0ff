#include <algorithm>
#include <optional>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/gpu.h"
#include "diagnose/package_story.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// The kernel's side of the driver. A container has none of its own: there it counts whether it was
// handed the host's. Elsewhere the rules stand in the order in which a module comes to life:
// installed, built for this kernel, accepted by it, the GPU free for it, loaded. Each is judged
// only when those before it had nothing to say, so a missing module is not also called "not
// loaded".

namespace gpuwright {
namespace {

// The answer of a rule about a module that is not loaded, where the question does not come up.
std::optional<Verdict> unless_not_loaded(const Machine& machine) {
  switch (setting_of(machine)) {
    case Setting::kHost:
      break;
    case Setting::kUnknown:
      return Undecided{{cite("container", machine.host.container), cite("WSL", machine.host.wsl)}};
    case Setting::kContainer:
    case Setting::kGvisor:
    case Setting::kWsl:
      return NotApplicable{};
  }
  switch (module_loaded(machine)) {
    case Tristate::kNo:
      return std::nullopt;
    case Tristate::kYes:
      return Fine{};
    case Tristate::kUnknown:
      break;
  }
  return Undecided{{cite("loaded module", machine.driver.module_version),
                    cite("loaded modules", machine.driver.loaded_modules)}};
}

std::vector<PciGpu> gpus_of(const Machine& machine) { return machine.hardware.gpus.value_or({}); }

std::vector<PciGpu> gpus_of_nouveau(const Machine& machine) {
  std::vector<PciGpu> found;
  for (const auto& gpu : gpus_of(machine))
    if (gpu.driver.is("nouveau")) found.push_back(gpu);
  return found;
}

Evidence not_loaded(const Machine& machine) {
  return {"the nvidia module is not loaded", machine.driver.module_version.source()};
}

// ------------------------------------------------------------- handed to the container

// The images of CUDA ask for all GPUs by a variable of their own, so that it proves a wish and no
// hand-over; "void" and "none" are a wish for none.
std::string why_not_handed_in(const Machine& machine) {
  const auto request = machine.cuda.variables.find("NVIDIA_VISIBLE_DEVICES");
  const std::string value = request == machine.cuda.variables.end() ? "" : request->second;
  if (value == "void" || value == "none")
    return "the container asks for no GPU: NVIDIA_VISIBLE_DEVICES=" + value +
           ", set by the image, the pod or the command line";
  if (!value.empty())
    return "the container asks for GPUs (NVIDIA_VISIBLE_DEVICES) and nobody obeyed: it was started "
           "by plain runc, and not by NVIDIA's runtime, --gpus or CDI";
  return "the container was started without asking for a GPU, or NVIDIA's container toolkit is "
         "not installed on the host";
}

Verdict is_handed_in(const Machine& machine, const Catalog& catalog) {
  if (setting_of(machine) != Setting::kContainer || is_wsl(machine)) return NotApplicable{};
  const auto& nodes = machine.driver.nodes;
  const auto& gpus = machine.hardware.gpus;
  if (has_gpu_node(machine) == Tristate::kYes) return Fine{};
  if (has_gpu_node(machine) == Tristate::kUnknown) return Undecided{{cite("device nodes", nodes)}};
  if (!gpus.is_known() || gpus->empty()) return NotApplicable{};
  std::vector<Evidence> evidence = {cite("container", machine.host.container),
                                    {"there is no /dev/nvidia0 or other GPU node", nodes.source()},
                                    {"the host has " + gpu_names(machine, catalog), gpus.source()}};
  const auto request = machine.cuda.variables.find("NVIDIA_VISIBLE_DEVICES");
  if (request != machine.cuda.variables.end())
    evidence.push_back({"NVIDIA_VISIBLE_DEVICES=" + printable(request->second), "environment"});
  return Finding{
      .statement =
          "the host has " + gpu_names(machine, catalog) + ", and this container was not given it",
      .evidence = std::move(evidence),
      .cause = why_not_handed_in(machine),
      .fix = start_with_gpu(machine),
  };
}

// ------------------------------------------------------------------------- installed

Verdict is_installed(const Machine& machine, const Catalog& catalog) {
  if (auto answer = unless_not_loaded(machine)) return *answer;
  const Driver& driver = machine.driver;
  const auto installed = driver_installed(machine);
  if (installed == Tristate::kYes) return Fine{};
  if (installed == Tristate::kUnknown)
    return Undecided{
        {cite("module files", driver.module_files), cite("driver libraries", driver.libraries)}};
  std::vector<Evidence> evidence = {
      not_loaded(machine),
      {"no nvidia module file for this kernel", driver.module_files.source()},
      {"no libcuda.so.1 of a driver", driver.libraries.source()}};
  for (const auto& gpu : gpus_of_nouveau(machine))
    evidence.push_back(
        {"nouveau drives " + gpu.address + "; it does not offer CUDA", gpu.driver.source()});
  return Finding{
      .statement = "NVIDIA's driver is not installed on this machine",
      .evidence = std::move(evidence),
      .cause =
          "no distribution installs it unasked, and the CUDA packages of pip and conda do not "
          "hold it",
      .fix = install_driver(machine, catalog, gpus_of(machine)),
  };
}

// --------------------------------------------------------------- built for this kernel

std::string kernels_built(const Machine& machine) {
  std::vector<std::string> kernels;
  const auto add = [&](const std::string& kernel) {
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end())
      kernels.push_back(kernel);
  };
  for (const auto& file : machine.driver.module_files.value_or({})) add(file.kernel);
  for (const auto& build : machine.driver.dkms.value_or({}))
    for (const auto& kernel : build.built_for) add(kernel);
  return join(kernels, ", ");
}

// Arch and others remove the modules of the running kernel when they upgrade it: then no module can
// be loaded any more, and only the next boot helps.
bool newest_has_module(const Machine& machine) {
  const auto& newest = machine.driver.newest_kernel;
  return newest.is_known() && module_file(machine, *newest) != nullptr;
}

std::vector<FixStep> get_module(const Machine& machine, const std::string& kernel) {
  if (newest_has_module(machine))
    return {reboot("starts kernel " + *machine.driver.newest_kernel + ", which has the module")};
  auto steps = build_module(machine, kernel);
  steps.push_back(root_step("sudo modprobe nvidia", "loads it", "until the next boot",
                            "sudo modprobe -r nvidia"));
  const std::string others = kernels_built(machine);
  if (!others.empty())
    steps.push_back(
        advice("until then, choose a kernel that has the module in the boot menu: " + others));
  return steps;
}

Finding module_missing(const Machine& machine, const std::string& kernel) {
  const Driver& driver = machine.driver;
  const std::string others = kernels_built(machine);
  std::vector<Evidence> evidence = {
      cite("running kernel", machine.host.kernel_release),
      {others.empty() ? "no nvidia module for any kernel" : "nvidia modules exist for " + others,
       driver.module_files.source()}};
  if (driver.dkms.is_known()) {
    for (const auto& build : *driver.dkms)
      evidence.push_back({"DKMS has " + build.module + " " + build.version.text() + ", built for " +
                              (build.built_for.empty() ? "no kernel" : join(build.built_for, ", ")),
                          driver.dkms.source()});
  }
  if (const auto* event = arrival_of_kernel(machine, kernel))
    evidence.push_back(cite_event(*event));
  return {
      .statement = "the running kernel " + kernel + " has no nvidia module" +
                   (others.empty() ? "" : "; " + others + " has one"),
      .evidence = std::move(evidence),
      .cause =
          others.empty()
              ? "only the user-space part of the driver is installed, or its module was never "
                "built"
              : "the kernel was upgraded and the module was not built for it: its headers were "
                "missing, or the driver's source does not compile against it",
      .fix = get_module(machine, kernel),
      .certainty = Certainty::kProven,
  };
}

Verdict has_module_for_kernel(const Machine& machine, const Catalog&) {
  if (auto answer = unless_not_loaded(machine)) return *answer;
  const Driver& driver = machine.driver;
  if (driver_installed(machine) == Tristate::kNo) return NotApplicable{};
  if (!machine.host.kernel_release.is_known() || driver.module_files.is_unknown())
    return Undecided{{cite("running kernel", machine.host.kernel_release),
                      cite("module files", driver.module_files)}};
  const std::string& kernel = *machine.host.kernel_release;
  if (module_file(machine, kernel) != nullptr) return Fine{};
  return module_missing(machine, kernel);
}

// ------------------------------------------------------------- accepted by the kernel

// Text of the kernel when it turns a module down, and what it means.
enum class Refusal { kSignature, kLockdown, kOtherKernel };
struct RefusalText {
  std::string_view text;
  Refusal refusal;
};
constexpr RefusalText kRefusals[] = {
    {"module with unavailable key is rejected", Refusal::kSignature},
    {"Key was rejected by service", Refusal::kSignature},
    {"module with unsupported crypto is rejected", Refusal::kSignature},
    {"Loading of unsigned module is rejected", Refusal::kLockdown},
    {"unsigned module loading is restricted", Refusal::kLockdown},
    {"nvidia: version magic", Refusal::kOtherKernel},
    {"nvidia: disagrees about version of symbol", Refusal::kOtherKernel},
    {"nvidia: Unknown symbol", Refusal::kOtherKernel},
};

struct RefusedBy {
  Refusal refusal;
  Evidence line;
};

std::optional<RefusedBy> last_refusal(const Machine& machine) {
  const auto& log = machine.driver.kernel_log;
  if (!log.is_known()) return std::nullopt;
  for (auto line = log->rbegin(); line != log->rend(); ++line) {
    for (const auto& known : kRefusals)
      if (line->find(known.text) != std::string::npos)
        return RefusedBy{known.refusal, {*line, log.source()}};
  }
  return std::nullopt;
}

// Where DKMS and akmods keep the certificate whose key signs what they build.
std::string enroll_command(const Machine& machine) {
  if (machine.host.distribution.is("ubuntu")) return "sudo update-secureboot-policy --enroll-key";
  return pick(machine, {.apt = "sudo mokutil --import /var/lib/dkms/mok.pub",
                        .dnf = "sudo mokutil --import /etc/pki/akmods/certs/public_key.der",
                        .zypper = "sudo mokutil --import /var/lib/dkms/mok.pub",
                        .pacman = "sudo mokutil --import /var/lib/dkms/mok.pub"});
}

std::vector<FixStep> enroll_key(const Machine& machine) {
  std::vector<FixStep> steps;
  const std::string command = enroll_command(machine);
  if (command.empty()) {
    steps.push_back(
        advice("enrol the machine owner key (MOK) that signs the module: "
               "mokutil --import CERTIFICATE"));
  } else {
    steps.push_back(root_step(command, "asks for a one-time password",
                              "queues the key (MOK) for enrolment",
                              "sudo mokutil --revoke-import"));
  }
  steps.push_back(reboot("choose Enroll MOK on the blue screen and give the password again"));
  steps.push_back(advice("or switch Secure Boot off in the firmware's settings"));
  return steps;
}

std::vector<FixStep> accept_module(const Machine& machine, Refusal refusal) {
  if (refusal == Refusal::kSignature) return enroll_key(machine);
  auto steps = build_module(machine, machine.host.kernel_release.value_or("KERNEL"));
  if (refusal == Refusal::kOtherKernel) return steps;
  const auto rest = enroll_key(machine);
  steps.insert(steps.end(), rest.begin(), rest.end());
  return steps;
}

std::string what_is_refused(Refusal refusal) {
  switch (refusal) {
    case Refusal::kSignature:
      return "the kernel refuses the nvidia module under Secure Boot: the key that signed it (MOK) "
             "is "
             "not enrolled";
    case Refusal::kLockdown:
      return "the kernel refuses the nvidia module under Secure Boot: it is not signed";
    case Refusal::kOtherKernel:
      break;
  }
  return "the kernel refuses the nvidia module: it was built for another kernel";
}

std::string why_refused(Refusal refusal) {
  switch (refusal) {
    case Refusal::kSignature:
      return "the key that signed the module is not enrolled: its enrolment was asked for at "
             "installation and was not confirmed at the next boot";
    case Refusal::kLockdown:
      return "the module is not signed, and a locked-down kernel takes signed ones only";
    case Refusal::kOtherKernel:
      break;
  }
  return "the module was built for another kernel than the running one";
}

Verdict is_accepted(const Machine& machine, const Catalog&) {
  if (auto answer = unless_not_loaded(machine)) return *answer;
  const auto refused = last_refusal(machine);
  if (!refused) return NotApplicable{};
  std::vector<Evidence> evidence = {refused->line, not_loaded(machine)};
  const bool signature = refused->refusal != Refusal::kOtherKernel;
  if (signature) {
    evidence.push_back(cite("Secure Boot", machine.host.secure_boot));
    evidence.push_back(cite("kernel lockdown", machine.host.kernel_lockdown));
  }
  return Finding{
      .statement = what_is_refused(refused->refusal),
      .evidence = std::move(evidence),
      .cause = why_refused(refused->refusal),
      .fix = accept_module(machine, refused->refusal),
      // The kernel does not name the module whose key it rejects.
      .certainty = Certainty::kLikely,
  };
}

// ------------------------------------------------------------------ the GPU is free

std::vector<FixStep> keep_nouveau_out(const Machine& machine) {
  std::vector<FixStep> steps;
  if (!machine.driver.nouveau_blacklisted.is(true))
    steps.push_back(root_step(
        "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee "
        "/etc/modprobe.d/blacklist-nouveau.conf",
        "keeps nouveau from being loaded", "writes /etc/modprobe.d/blacklist-nouveau.conf",
        "sudo rm /etc/modprobe.d/blacklist-nouveau.conf"));
  steps.push_back(rebuild_initramfs(machine));
  steps.push_back(reboot("a driver that shows the console cannot be changed while running"));
  return steps;
}

// udev loads whatever driver names the GPU, and the first one keeps it. Distributions' packages
// blacklist nouveau; what an old initial RAM disk holds is loaded before that list is read.
Verdict is_free_of_nouveau(const Machine& machine, const Catalog& catalog) {
  if (auto answer = unless_not_loaded(machine)) return *answer;
  if (driver_installed(machine) == Tristate::kNo) return NotApplicable{};
  const auto held = gpus_of_nouveau(machine);
  if (held.empty()) return NotApplicable{};
  const auto& blacklisted = machine.driver.nouveau_blacklisted;
  std::vector<Evidence> evidence;
  for (const auto& gpu : held) evidence.push_back(cite("bound driver", gpu.driver));
  evidence.push_back(not_loaded(machine));
  evidence.push_back(cite("nouveau blacklisted", blacklisted));
  const auto log = log_lines(machine, {"probe routine was not called", "obtained ownership"}, 2);
  evidence.insert(evidence.end(), log.begin(), log.end());
  return Finding{
      .subject = held.front().address,
      .statement = "nouveau has " + gpu_name(machine, catalog, held.front()) +
                   ", so the installed nvidia module cannot take it",
      .evidence = std::move(evidence),
      .cause = blacklisted.is(true)
                   ? "nouveau is blacklisted, but the initial RAM disk is older than the list and "
                     "loads it first"
                   : "nothing keeps the kernel from loading nouveau at boot",
      .fix = keep_nouveau_out(machine),
      .certainty = blacklisted.is_unknown() ? Certainty::kLikely : Certainty::kProven,
  };
}

// ---------------------------------------------------------------------------- loaded

Verdict is_loaded(const Machine& machine, const Catalog&) {
  if (auto answer = unless_not_loaded(machine)) return *answer;
  if (driver_installed(machine) == Tristate::kNo) return NotApplicable{};
  const ModuleFile* file = module_file(machine, machine.host.kernel_release.value_or(""));
  std::vector<Evidence> evidence = {not_loaded(machine)};
  if (file != nullptr) evidence.push_back({"the module is there: " + file->path, file->path});
  // Kernels with checked symbols take a module of a near release (weak-updates), so this is a hint.
  if (file != nullptr && file->vermagic.is_known() && *file->vermagic != file->kernel)
    evidence.push_back({"it was built for kernel " + *file->vermagic, file->vermagic.source()});
  if (machine.host.secure_boot.is(true))
    evidence.push_back(cite("Secure Boot", machine.host.secure_boot));
  const auto log = log_lines(machine, {"NVRM", "nvidia:"});
  evidence.insert(evidence.end(), log.begin(), log.end());
  return Finding{
      .statement = file != nullptr
                       ? "the nvidia module is installed for this kernel and is not loaded"
                       : "NVIDIA's driver is installed and its module is not loaded",
      .evidence = std::move(evidence),
      .cause =
          "the driver was installed after the last boot, the module is blacklisted "
          "(prime-select, bumblebee, a line in modprobe.d), or loading it failed",
      .fix = {root_step("sudo modprobe nvidia && sudo modprobe nvidia_uvm",
                        "loads it now; an error here names the reason", "until the next boot",
                        "sudo modprobe -r nvidia_uvm nvidia"),
              root_step("sudo dmesg | tail -n 30", "what the kernel says when loading it fails",
                        "nothing", "none needed"),
              user_step("grep -rE '(blacklist|install).*nvidia' /etc/modprobe.d /lib/modprobe.d "
                        "/proc/cmdline",
                        "lists what would keep it out at boot", "nothing", "none needed")},
      .certainty = Certainty::kLikely,
  };
}

// ------------------------------------------------------------- built for the next kernel

Verdict has_module_for_next_kernel(const Machine& machine, const Catalog&) {
  if (setting_of(machine) != Setting::kHost) return NotApplicable{};
  if (module_loaded(machine) != Tristate::kYes) return NotApplicable{};
  const auto& newest = machine.driver.newest_kernel;
  const auto& running = machine.host.kernel_release;
  if (newest.is_absent()) return NotApplicable{};
  if (!newest.is_known() || !running.is_known() || machine.driver.module_files.is_unknown())
    return Undecided{
        {cite("newest kernel", newest), cite("module files", machine.driver.module_files)}};
  if (*newest == *running || module_file(machine, *newest) != nullptr) return Fine{};
  // Where not even the running kernel has a file, the module comes from elsewhere (a driver
  // container, an image), and the next one will too.
  if (module_file(machine, *running) == nullptr) return NotApplicable{};
  std::vector<Evidence> evidence = {
      cite("newest kernel", newest),
      cite("running kernel", running),
      {"nvidia modules exist for " + kernels_built(machine), machine.driver.module_files.source()}};
  if (const auto* event = arrival_of_kernel(machine, *newest))
    evidence.push_back(cite_event(*event));
  return Finding{
      .severity = Severity::kWarning,
      .statement = "kernel " + *newest + " is installed and has no nvidia module; the running " +
                   *running + " has one",
      .evidence = std::move(evidence),
      .cause =
          "the kernel was upgraded and the module was not built for it; the next boot will "
          "start without the GPU",
      .fix = build_module(machine, *newest),
      .certainty = Certainty::kLikely,
  };
}

constexpr Rule kRules[] = {
    {"driver.container-without-toolkit", "a container on a machine with a GPU was given it",
     is_handed_in},
    {"driver.not-installed", "NVIDIA's driver is installed", is_installed},
    {"driver.module-missing-for-kernel", "the running kernel has an nvidia module",
     has_module_for_kernel},
    {"driver.module-refused", "the kernel accepts the nvidia module", is_accepted},
    {"driver.nouveau-in-the-way", "nouveau leaves the GPU to the installed driver",
     is_free_of_nouveau},
    {"driver.module-not-loaded", "the installed nvidia module is loaded", is_loaded},
    {"driver.module-missing-for-next-kernel", "the newest installed kernel has an nvidia module",
     has_module_for_next_kernel, Standing::kAdvice},
};

}  // namespace

std::span<const Rule> driver_module_rules() { return kRules; }

}  // namespace gpuwright
