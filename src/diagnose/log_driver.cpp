#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"

// What nvidia-smi, NVML and the kernel's log say about the driver.

namespace gpuwright {
namespace {

// The versions stand in the kernel's own message, in the line that NVML adds since 535, or in other
// commands of the paste; the message alone is proof enough that they differ.
Verdict one_version(const Machine& machine, const Catalog&) {
  const auto* nvml = event_saying(machine, "nvml.init-failed", "version mismatch");
  const auto* kernel = first_event(machine, "kernel.api-mismatch");
  const auto* code = event_with(machine, "cuda.count-failed", "code", "803");
  if (nvml == nullptr && kernel == nullptr && code == nullptr) return NotApplicable{};
  const auto* module = first_event(machine, "kernel.module-version-line");
  if (module == nullptr) module = last_event(machine, "kernel.module-loaded");
  const auto* library = first_event(machine, "nvml.library-version");
  const auto loaded = module == nullptr ? "" : value_of(*module, "version");
  auto client = library == nullptr ? "" : value_of(*library, "version");
  if (kernel != nullptr && !value_of(*kernel, "client").empty())
    client = value_of(*kernel, "client");
  Finding finding;
  finding.statement =
      loaded.empty() && client.empty()
          ? "the loaded kernel module and the driver's libraries are of different versions"
          : "the loaded kernel module is " + (loaded.empty() ? "of another version" : loaded) +
                " and the driver's libraries are " + (client.empty() ? "of another" : client);
  finding.evidence = cite({nvml, kernel, code, library, module});
  finding.cause = "the driver's packages were upgraded and the old module is still loaded";
  finding.fix = {
      reboot("loads the module that belongs to the libraries"),
      root_step("sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo modprobe nvidia",
                "instead of a reboot, when no process uses the GPU", "loads the new module",
                "none needed")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

constexpr Rule kRules[] = {
    {"driver.version-mismatch", "module and libraries of the driver are one build", one_version},
};

}  // namespace

std::span<const Rule> log_driver_rules() { return kRules; }

}  // namespace gpuwright
