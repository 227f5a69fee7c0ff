#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// The kernel module: refused by Secure Boot, not built for the running kernel, built for another.

namespace gpuwright {
namespace {

const Event* running_kernel(const Machine& machine) { return last_event(machine, "host.kernel"); }

// Secure Boot may be on and right; it is the kernel's refusal that proves it.
Verdict module_is_let_in(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "module.key-rejected");
  if (line == nullptr) return NotApplicable{};
  return Finding{
      .statement =
          "Secure Boot is on and the key (MOK) that signed the nvidia module is not "
          "enrolled, so the kernel refuses the module",
      .evidence = cite({line, first_event(machine, "secure-boot.on"),
                        first_event(machine, "secure-boot.key-missing")}),
      .cause =
          "the module was built here and signed with the machine owner's key, which the "
          "firmware does not know: the blue screen that asks for it at the next boot was "
          "passed over",
      .fix = {root_step("sudo mokutil --import /var/lib/shim-signed/mok/MOK.der",
                        "Ubuntu and Debian keep DKMS's key there (else /var/lib/dkms/mok.pub, "
                        "Fedora's akmods /etc/pki/akmods/certs/public_key.der); choose a one-time "
                        "password",
                        "asks the firmware at the next boot", "sudo mokutil --revoke-import"),
              reboot("choose Enroll MOK on the blue screen and type that password"),
              advice("or switch Secure Boot off in the firmware's settings")}};
}

// ------------------------------------------------------------------------------- built

std::string kernel_of(const Machine& machine) {
  for (const auto* id : {"dkms.failed", "dkms.no-headers", "kernel.headers-missing"})
    if (const auto* event = last_event(machine, id); event != nullptr)
      if (const auto kernel = value_of(*event, "kernel"); !kernel.empty()) return kernel;
  if (const auto* event = running_kernel(machine)) return value_of(*event, "release");
  return "";
}

const Event* other_built_kernel(const Machine& machine, const std::string& kernel) {
  for (const auto* event : events_of(machine, "dkms.status"))
    if (value_of(*event, "state") == "installed" && !value_of(*event, "kernel").empty() &&
        value_of(*event, "kernel") != kernel)
      return event;
  return nullptr;
}

std::string why_not_built(const Machine& machine) {
  if (has_event(machine, "dkms.no-headers") || has_event(machine, "kernel.headers-missing"))
    return "the headers of that kernel are not installed, so nothing can be built against it";
  if (has_event(machine, "dkms.compiler"))
    return "the compiler is another than the one that built the kernel, and does not know its "
           "options";
  if (has_event(machine, "module.gpl-symbol"))
    return "that kernel no longer lets this release of the driver use one of its functions; a "
           "newer "
           "release of the driver is made for it";
  return "the kernel was updated and this release of the driver does not compile against it, or "
         "the "
         "compiler or headers do not fit; make.log has the first compiler error";
}

std::vector<FixStep> build_again(const Machine& machine, const std::string& kernel,
                                 const Event* log) {
  std::vector<FixStep> steps;
  const auto host = with_distribution(machine);
  if (const auto* other = other_built_kernel(machine, kernel))
    steps.push_back(advice("until then boot kernel " + value_of(*other, "kernel") +
                           ", for which the module is installed (boot menu, advanced options)"));
  if (log != nullptr)
    steps.push_back(user_step("grep -n -m5 -iE 'error|fatal' " + shell_word(value_of(*log, "path")),
                              "the first compiler error in make.log", "nothing", "none needed"));
  if (has_event(machine, "dkms.compiler"))
    steps.push_back(
        root_step("sudo apt install gcc-12",
                  "or the compiler that cat /proc/version names; then build with CC set "
                  "to it",
                  "adds a compiler", "remove the package"));
  for (auto& step : build_module(host, kernel.empty() ? "$(uname -r)" : kernel))
    steps.push_back(std::move(step));
  if (has_event(machine, "package.unconfigured"))
    steps.push_back(root_step("sudo dpkg --configure -a",
                              "ends the packages that were left half installed, once the module "
                              "builds or a newer driver is installed",
                              "the packages' state", "none needed"));
  steps.push_back(
      advice("when the source does not compile: install a newer release of the driver, "
             "or stay on the older kernel (apt-mark hold)"));
  return steps;
}

Verdict module_builds(const Machine& machine, const Catalog&) {
  const auto* failed = last_event(machine, "dkms.failed");
  const auto* headers = first_event(machine, "dkms.no-headers");
  const auto* installer = first_event(machine, "installer.failed");
  const auto* compiler = first_event(machine, "dkms.compiler");
  const auto* symbol = first_event(machine, "module.gpl-symbol");
  if (failed == nullptr && headers == nullptr && symbol == nullptr &&
      (installer == nullptr || has_event(machine, "installer.nouveau")))
    return NotApplicable{};
  if (has_event(machine, "module.key-rejected")) return NotApplicable{};
  const auto kernel = kernel_of(machine);
  const auto* log = first_event(machine, "dkms.make-log");
  const auto* status = first_event(machine, "dkms.status");
  const auto version = log != nullptr      ? value_of(*log, "version")
                       : status != nullptr ? value_of(*status, "version")
                                           : std::string();
  Finding finding;
  finding.statement = "the nvidia module" + (version.empty() ? "" : " " + version) +
                      " could not be built for kernel " + (kernel.empty() ? "" : kernel) +
                      ", so that kernel has none";
  finding.evidence = cite({failed, headers, installer, compiler, symbol, log,
                           first_event(machine, "module.not-found"),
                           first_event(machine, "package.unconfigured")});
  finding.cause = why_not_built(machine);
  finding.fix = build_again(machine, kernel, log);
  return finding;
}

// nvidia-smi that reaches no module, and a list of DKMS that has none for the running kernel.
const Event* not_listed(const Machine& machine) {
  const auto* kernel = running_kernel(machine);
  if (kernel == nullptr || !has_event(machine, "smi.no-driver")) return nullptr;
  const auto built = events_of(machine, "dkms.status");
  for (const auto* one : built)
    if (value_of(*one, "kernel") == value_of(*kernel, "release") &&
        value_of(*one, "state") == "installed")
      return nullptr;
  return built.empty() ? nullptr : built.front();
}

Verdict kernel_has_module(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "module.not-found");
  if (line == nullptr) line = not_listed(machine);
  if (line == nullptr) return NotApplicable{};
  auto kernel = value_of(*line, "directory");
  kernel = kernel.substr(kernel.rfind('/') + 1);
  if (kernel.empty() && running_kernel(machine) != nullptr)
    kernel = value_of(*running_kernel(machine), "release");
  const auto* other = other_built_kernel(machine, kernel);
  Finding finding;
  finding.statement = "there is no nvidia module for the running kernel" +
                      (kernel.empty() ? "" : " " + kernel) +
                      (other == nullptr ? "" : ", only for " + value_of(*other, "kernel"));
  finding.evidence = cite({line, other == line ? nullptr : other, running_kernel(machine),
                           first_event(machine, "smi.no-driver")});
  finding.cause = other != nullptr ? "the kernel was updated and the module was not built for it"
                                   : "the driver is not installed, or its module was never built "
                                     "for this kernel";
  finding.fix = build_module(with_distribution(machine), kernel.empty() ? "$(uname -r)" : kernel);
  finding.fix.push_back(root_step("sudo modprobe nvidia && nvidia-smi", "then load it",
                                  "loads the module", "sudo modprobe -r nvidia"));
  finding.certainty = other != nullptr ? Certainty::kProven : Certainty::kLikely;
  return finding;
}

Verdict module_is_for_kernel(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "module.other-kernel");
  const auto* symbol = first_event(machine, "module.unknown-symbol");
  if (line == nullptr && symbol == nullptr) return NotApplicable{};
  const auto* magic = event_saying(machine, "module.other-kernel", "version magic");
  Finding finding;
  finding.statement = magic != nullptr
                          ? "the nvidia module was built for kernel " + value_of(*magic, "built") +
                                " and kernel " + value_of(*magic, "running") + " runs"
                          : "the nvidia module does not belong to the running kernel";
  finding.evidence = cite({magic, line == magic ? nullptr : line, symbol, running_kernel(machine)});
  finding.cause = "the module is left over from another kernel, or from another build of this one";
  finding.fix = build_module(with_distribution(machine),
                             magic == nullptr ? "$(uname -r)" : value_of(*magic, "running"));
  finding.certainty = Certainty::kLikely;
  return finding;
}

Verdict module_is_not_barred(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "module.blacklisted");
  if (line == nullptr) return NotApplicable{};
  const bool argument = line->text.find("Invalid argument") != std::string::npos;
  return Finding{
      .statement = argument ? "the nvidia module refuses a parameter that it is loaded with"
                            : "a setting keeps the nvidia module from being loaded",
      .evidence = cite({line, first_event(machine, "smi.no-driver")}),
      .cause = argument
                   ? "an option in /etc/modprobe.d is of another release of the driver, or its "
                     "modules are of two releases"
                   : "a line in /etc/modprobe.d (install nvidia /bin/false, a profile of a "
                     "power-saving tool like prime-select or envycontrol), or this is no root",
      .fix = {user_step("grep -rn nvidia /etc/modprobe.d /usr/lib/modprobe.d /lib/modprobe.d",
                        "finds the line", "nothing", "none needed"),
              root_step("sudo prime-select nvidia",
                        "laptops of Ubuntu: gives the card back to the driver, after a reboot",
                        "which card is used", "sudo prime-select intel")},
      .certainty = Certainty::kPossible};
}

Verdict packages_are_whole(const Machine& machine, const Catalog&) {
  const auto* half = first_event(machine, "package.unconfigured");
  const auto* unmet = first_event(machine, "package.unmet");
  if (half == nullptr && unmet == nullptr) return NotApplicable{};
  if (has_event(machine, "dkms.failed") || has_event(machine, "dkms.no-headers"))
    return NotApplicable{};
  const auto* line = half != nullptr ? half : unmet;
  return Finding{
      .statement = unmet != nullptr && half == nullptr
                       ? "the driver's packages cannot be installed: " + value_of(*unmet, "name") +
                             " wants " + value_of(*unmet, "wants")
                       : "a package of the driver is half installed",
      .evidence = cite({line, line == half ? unmet : nullptr}),
      .cause =
          "packages of two sources (Ubuntu, NVIDIA's repository, a PPA) or of two branches are "
          "mixed, or an installation was interrupted",
      .fix = {root_step("sudo apt-get -f install", "ends what was begun", "the packages named",
                        "none needed"),
              root_step("sudo apt-get purge '^nvidia-.*' '^libnvidia-.*' && sudo apt-get update",
                        "when that fails: away with all of them, then one driver from one source",
                        "removes the driver's packages", "install the driver again")},
      .certainty = Certainty::kLikely};
}

constexpr Rule kRules[] = {
    {"driver.module-refused", "the kernel lets the nvidia module in", module_is_let_in,
     Standing::kOwn},
    {"driver.module-build-failed", "the nvidia module was built", module_builds},
    {"driver.module-of-other-kernel", "the nvidia module is of the running kernel",
     module_is_for_kernel},
    {"driver.module-missing-for-kernel", "the running kernel has an nvidia module",
     kernel_has_module},
    {"driver.module-not-loaded", "no setting bars the nvidia module", module_is_not_barred},
    {"driver.package-unfinished", "the driver's packages are whole", packages_are_whole},
};

}  // namespace

std::span<const Rule> log_module_rules() { return kRules; }

}  // namespace gpuwright
