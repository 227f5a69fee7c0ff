#include <algorithm>

#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// What texts tell of the hardware besides error numbers (log_xid.cpp): power, room for memory
// windows, cards that do not start or are gone, other drivers that own them, the bridges above.

namespace gpuwright {
namespace {

Verdict has_power(const Machine& machine, const Catalog& catalog) {
  const auto* line = first_event(machine, "kernel.no-power");
  if (line == nullptr) return NotApplicable{};
  return Finding{
      .statement = told_gpu_name(machine, catalog) +
                   " lacks a power cable: the driver sees the card and cannot start it",
      .evidence = cite({line, first_event(machine, "kernel.adapter-failed")}),
      .cause = "the card's auxiliary power plug is empty, half plugged in or fed by too few cables",
      .fix = {
          advice("switch off; put in every power plug of the card, each with a cable of its own "
                 "from the power supply"),
          root_step("sudo dmesg | grep -i 'power cables'",
                    "after the next boot: empty when the card is content", "nothing",
                    "none needed")}};
}

Verdict has_bar_space(const Machine& machine, const Catalog& catalog) {
  const auto* line = first_event(machine, "kernel.bar-invalid");
  if (line == nullptr) return NotApplicable{};
  return Finding{
      .statement = told_gpu_name(machine, catalog) +
                   " was given no room in the address space (BAR), so the driver cannot start it",
      .evidence = cite({line, event_with(machine, "kernel.bar-invalid", "bar", "1"),
                        first_event(machine, "kernel.adapter-failed")}),
      .cause =
          "the firmware (or the virtual machine) has no window above 4 GiB that is large "
          "enough for the GPU's memory",
      .fix = {advice(
                  "in the firmware's settings: 'Above 4G Decoding' (64-bit BAR, MMIO above 4 GB) "
                  "on, CSM / legacy boot off; a virtual machine needs UEFI firmware and a large "
                  "64-bit MMIO window"),
              advice("or add pci=realloc to the kernel's command line, which lets the kernel deal "
                     "out the regions itself"),
              reboot("the windows are dealt out at boot")},
      .certainty = Certainty::kLikely};
}

// ------------------------------------------------------------------------ other owners

Verdict has_right_owner(const Machine& machine, const Catalog&) {
  for (const auto* event : events_of(machine, "pci.driver")) {
    const auto driver = value_of(*event, "driver");
    if (driver == "nvidia" || driver == "nouveau") continue;
    const auto address = value_of(*event, "address");
    const bool passed = driver == "vfio-pci" || driver == "pci-stub";
    return Finding{
        .severity = smi_works(machine) != nullptr ? Severity::kInfo : Severity::kError,
        .subject = address,
        .statement = value_of(*event, "name") + " at " + address + " belongs to " + driver +
                     ", so the nvidia driver does not get it",
        .evidence = cite({event, first_event(machine, "kernel.other-owner")}),
        .cause = passed ? "the card is set aside for a virtual machine (PCI passthrough)"
                        : "another driver took the card before nvidia did",
        .fix = {
            root_step("grep -rnE 'vfio|" + shell_word(driver) +
                          "' /etc/modprobe.d /etc/default/grub /proc/cmdline",
                      "finds the setting that gives the card away", "nothing", "none needed"),
            root_step("echo " + address + " | sudo tee /sys/bus/pci/devices/" + address +
                          "/driver/unbind && echo " + address +
                          " | sudo tee /sys/bus/pci/drivers/nvidia/bind",
                      "gives it to nvidia until the next boot", "who owns the card", "reboot")}};
  }
  return NotApplicable{};
}

// -------------------------------------------------------------------------------- gone

bool has_fallen_off(const Machine& machine) {
  return has_event(machine, "kernel.off-bus") ||
         event_with(machine, "kernel.xid", "code", "79") != nullptr;
}

// A card that reads 0xff everywhere does not answer: lspci shows revision ff.
Verdict answers(const Machine& machine, const Catalog&) {
  const auto* gone = event_with(machine, "pci.device", "revision", "ff");
  const auto* lost = first_event(machine, "smi.device-lost");
  if ((gone == nullptr && lost == nullptr) || has_fallen_off(machine)) return NotApplicable{};
  if (!events_of(machine, "kernel.xid").empty()) return NotApplicable{};
  const auto address = value_of(gone != nullptr ? *gone : *lost, "address");
  return Finding{
      .subject = address,
      .statement = "GPU " + (address.empty() ? std::string() : address + " ") +
                   "does not answer any more: the GPU is lost",
      .evidence = cite({lost, gone}),
      .cause =
          "it stopped answering on the bus: power, heat, slot or riser, a hung firmware, or a "
          "defect; its first Xid in the kernel's log tells which",
      .fix = {root_step("sudo dmesg -T | grep -E 'NVRM|Xid|AER'",
                        "the reason in the kernel's words", "nothing", "none needed"),
              reboot("brings it back if it can; else switch the machine off completely"),
              advice("when it comes again: check power plugs, seat, riser and cooling")},
      .certainty = Certainty::kLikely};
}

// RmInitAdapter is where every card that does not start ends; these causes have rules of their own.
bool start_is_explained(const Machine& machine) {
  for (const auto* id :
       {"kernel.needs-open-module", "kernel.firmware-missing", "kernel.ignores-gpu",
        "kernel.legacy-branch", "kernel.gpu-unsupported", "kernel.no-power", "kernel.bar-invalid",
        "kernel.api-mismatch", "kernel.other-owner"})
    if (has_event(machine, id)) return true;
  return has_fallen_off(machine) || !events_of(machine, "kernel.xid").empty();
}

/// NV_STATUS, the second number in "RmInitAdapter failed! (0x62:0x65:1792)".
struct StatusText {
  std::string_view number;
  const char* text;
};
constexpr StatusText kStatuses[] = {
    {":0xf:", "the GPU is lost on the bus"},
    {":0xb:", "its memory has an error that ECC cannot correct"},
    {":0x1c:", "it has too little power"},
    {":0x47:", "its memory could not be trained"},
    {":0x61:", "the driver rejects its video BIOS"},
    {":0x62:", "it needs a reset first"},
    {":0x65:", "it did not answer in time"},
    {":0x72:", "its memory has an error"},
};

Verdict starts(const Machine& machine, const Catalog& catalog) {
  const auto* line = first_event(machine, "kernel.adapter-failed");
  if (line == nullptr || start_is_explained(machine)) return NotApplicable{};
  std::string why = "the driver does not get the GPU going";
  for (const auto& status : kStatuses)
    if (value_of(*line, "status").find(status.number) != std::string::npos)
      why = std::string("the driver gave up because ") + status.text;
  return Finding{
      .subject = value_of(*line, "address"),
      .statement = "the driver finds " + told_gpu_name(machine, catalog) +
                   " and fails to start it (RmInitAdapter failed)",
      .evidence = cite({line, first_event(machine, "smi.no-devices")}),
      .cause = why + "; the lines around it in the kernel's log tell where it stopped",
      .fix = {advice("switch the machine off completely (a plain reboot does not take the card's "
                     "power away), then start it again"),
              advice(
                  "then: seat the card and its power plugs again, try another slot without riser, "
                  "update the mainboard's firmware"),
              advice("or another driver branch, when this one began to fail with an upgrade"),
              root_step("sudo nvidia-bug-report.sh", "collects what NVIDIA's support asks for",
                        "writes nvidia-bug-report.log.gz here", "rm nvidia-bug-report.log.gz")},
      .certainty = Certainty::kLikely};
}

// ------------------------------------------------------------------------------- bridges

// Access control on a bridge sends every word between two GPUs up to the IOMMU and back; there it
// gets lost on many machines, and NCCL waits for ever. Inside a virtual machine ACS has to be on.
const Event* redirecting_bridge(const Machine& machine) {
  for (const auto* event : events_of(machine, "pci.acs")) {
    const auto control = value_of(*event, "control");
    if (control.find("ReqRedir+") != std::string::npos ||
        control.find("SrcValid+") != std::string::npos)
      return event;
  }
  return nullptr;
}

const Event* peer_event(const Machine& machine) {
  for (const auto& event : machine.events) {
    const auto text = lower(event.text);
    if (text.find("via p2p") != std::string::npos ||
        text.find("nccl_p2p_disable") != std::string::npos)
      return &event;
  }
  return nullptr;
}

Verdict peers_reach_each_other(const Machine& machine, const Catalog&) {
  const auto* bridge = redirecting_bridge(machine);
  const auto* peers = peer_event(machine);
  if (bridge == nullptr || peers == nullptr) return NotApplicable{};
  const auto address = value_of(*bridge, "address");
  return Finding{
      .subject = address,
      .statement = "PCIe access control (ACS) is on at bridge " + address +
                   ", so traffic between GPUs is redirected through the IOMMU, where collectives "
                   "hang",
      .evidence = cite({bridge, first_event(machine, "kernel.iommu-translated"), peers}),
      .cause =
          "the firmware or the IOMMU switches ACS on for virtual machines; peer-to-peer "
          "between GPUs (NCCL's P2P) does not survive it on many boards",
      .fix = {advice("switch ACS (or the IOMMU) off in the firmware's settings"),
              root_step("sudo setpci -s " + address + " ECAP_ACS+0x6.w=0000",
                        "or at run time, for every bridge above a GPU (sudo lspci -vvv | grep -E "
                        "'^[0-9a-f].*bridge|ACSCtl' shows them)",
                        "ACS of this bridge until the next boot", "reboot"),
              user_step("export NCCL_P2P_DISABLE=1",
                        "work-around: NCCL goes through host memory, with less bandwidth",
                        "this shell", "unset NCCL_P2P_DISABLE")},
      .certainty = Certainty::kLikely};
}

constexpr Rule kRules[] = {
    {"hardware.power-cable", "each GPU has its power cables", has_power, Standing::kOwn},
    {"hardware.bar-space", "each GPU has room for its memory windows", has_bar_space,
     Standing::kOwn},
    {"hardware.bound-to-other-driver", "the nvidia driver owns the GPU", has_right_owner},
    {"hardware.gpu-lost", "each GPU answers", answers, Standing::kOwn},
    {"hardware.gpu-not-started", "the driver can start each GPU that it finds", starts},
    {"hardware.peer-access-blocked", "bridges let GPUs reach each other", peers_reach_each_other,
     Standing::kOwn},
};

}  // namespace

std::span<const Rule> log_hardware_rules() { return kRules; }

}  // namespace gpuwright
