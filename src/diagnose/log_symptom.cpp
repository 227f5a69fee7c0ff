#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// Symptoms that many causes share. They are judged last of their rung and speak only where no line
// of the text tells the cause; what they name is where to look.

namespace gpuwright {
namespace {

Verdict smi_reaches_driver(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "smi.no-driver");
  if (line == nullptr) line = event_saying(machine, "nvml.init-failed", "Driver Not Loaded");
  if (line == nullptr) line = event_saying(machine, "nvml.init-failed", "DriverNotLoaded");
  if (line == nullptr) return NotApplicable{};
  return Finding{
      .statement = "nvidia-smi is there and reaches no kernel module: nvidia is not loaded",
      .evidence = cite({line, first_event(machine, "node.none"),
                        first_event(machine, "dkms.status"), first_event(machine, "host.kernel")}),
      .cause =
          "the module was not built for the running kernel, was refused by Secure Boot, found no "
          "card that it serves, or nouveau has the card: loading it by hand tells which",
      .fix = {root_step("sudo modprobe nvidia && nvidia-smi", "its error names the cause",
                        "loads the module", "sudo modprobe -r nvidia"),
              root_step("sudo dmesg | grep -iE 'nvrm|nvidia|nouveau' | tail -20",
                        "what the kernel says about it", "nothing", "none needed"),
              user_step("uname -r; dkms status", "whether the module was built for this kernel",
                        "nothing", "none needed")},
      .certainty = Certainty::kPossible};
}

Verdict driver_has_a_gpu(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "smi.no-devices");
  const auto* kernel = first_event(machine, "kernel.no-gpu-found");
  if (kernel == nullptr) kernel = first_event(machine, "kernel.probe-failed");
  if (kernel == nullptr) kernel = first_event(machine, "module.no-device");
  if (line == nullptr && kernel == nullptr) return NotApplicable{};
  return Finding{
      .statement = "the driver finds no GPU that it can use",
      .evidence = cite({line, kernel, first_event(machine, "pci.device")}),
      .cause =
          "the card is not on the bus, does not start, belongs to another driver, or is too old "
          "or too new for this driver: the kernel's log tells which",
      .fix = {root_step("sudo dmesg | grep -iE 'nvrm|xid|nouveau|vfio' | tail -30",
                        "the reason in the kernel's words", "nothing", "none needed"),
              user_step("lspci -nnk -d 10de:", "whether the card is on the bus, and whose it is",
                        "nothing", "none needed")},
      .certainty = Certainty::kPossible};
}

Verdict driver_is_installed(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "smi.command-missing");
  const auto* library = first_event(machine, "smi.no-library");
  if (library == nullptr) library = event_saying(machine, "nvml.init-failed", "LibraryNotFound");
  if (library == nullptr) library = event_saying(machine, "nvml.init-failed", "LIBRARY_NOT_FOUND");
  if ((line == nullptr && library == nullptr) || smi_works(machine) != nullptr)
    return NotApplicable{};
  return Finding{
      .statement =
          "NVIDIA's driver is not installed here, or this is a container that was not given "
          "the GPU",
      .evidence = cite({line, library}),
      .cause =
          "nvidia-smi and libnvidia-ml.so.1 come with the driver; a container gets them from its "
          "host",
      .fix = {user_step("docker run --gpus all IMAGE", "in a container: start it with the GPU",
                        "nothing on the host", "start it without the option"),
              root_step(
                  "sudo ubuntu-drivers install",
                  "on a machine: install the driver (Ubuntu; elsewhere the distribution's way)",
                  "adds the driver's packages", "remove the packages that it named"),
              user_step("lspci -nn -d 10de:", "whether there is a card at all", "nothing",
                        "none needed")},
      .certainty = Certainty::kPossible};
}

// Unknown Error of NVML without a word about a container.
Verdict nvml_starts(const Machine& machine, const Catalog&) {
  const auto* line = event_saying(machine, "nvml.init-failed", "Unknown Error");
  if (line == nullptr) return NotApplicable{};
  return Finding{
      .statement = "NVML cannot open the GPUs' device nodes (Unknown Error)",
      .evidence = cite({line}),
      .cause =
          "in a container that worked before: its device cgroup was rewritten (systemctl "
          "daemon-reload on the host); else the nodes in /dev are closed or broken",
      .fix = {user_step("docker restart CONTAINER", "in a container: gives the nodes back",
                        "restarts the container", "none needed"),
              user_step("ls -l /dev/nvidia*; nvidia-smi -L", "the same on the host", "nothing",
                        "none needed")},
      .certainty = Certainty::kPossible};
}

constexpr Rule kRules[] = {
    {"driver.container-lost-devices", "NVML may open the GPUs", nvml_starts},
    {"driver.module-not-loaded", "the nvidia module is loaded", smi_reaches_driver},
    {"driver.no-usable-gpu", "the driver finds a GPU", driver_has_a_gpu},
    {"driver.not-installed", "NVIDIA's driver is installed", driver_is_installed},
};

}  // namespace

std::span<const Rule> log_symptom_rules() { return kRules; }

}  // namespace gpuwright
