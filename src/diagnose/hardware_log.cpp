#include <algorithm>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/gpu.h"
#include "diagnose/kernel_log.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// What the kernel's log tells of the hardware: power, room for the GPU's memory windows, GPUs that
// do not start, GPUs that stopped. The log of a running machine is hidden from ordinary users on
// most distributions; then these rules have nothing to say, and nothing is taken as fine either.

namespace gpuwright {
namespace {

using Gpus = std::vector<PciGpu>;

std::string described(const Machine& machine, const Catalog& catalog, const PciGpu& gpu) {
  return gpu_name(machine, catalog, gpu) + " at " + gpu.address;
}

std::string described(const Machine& machine, const Catalog& catalog, const Gpus& gpus) {
  std::vector<std::string> pieces;
  for (const auto& gpu : gpus) pieces.push_back(described(machine, catalog, gpu));
  return join(pieces, ", ");
}

std::string addresses(const Gpus& gpus) {
  std::vector<std::string> pieces;
  for (const auto& gpu : gpus) pieces.push_back(gpu.address);
  return join(pieces, ", ");
}

// An error when no GPU is left, a warning while others work.
Severity severity_of_losing(std::size_t lost, const Machine& machine) {
  return lost == judged_gpus(machine).size() ? Severity::kError : Severity::kWarning;
}

FixStep power_cycle(std::string after) {
  return advice("switch the machine off completely (pull the plug for a minute) and on again" +
                (after.empty() ? std::string() : "; " + after));
}

FixStep bug_report() {
  return root_step("sudo nvidia-bug-report.sh", "collects what NVIDIA's support asks for",
                   "writes nvidia-bug-report.log.gz here", "rm nvidia-bug-report.log.gz");
}

// ------------------------------------------------------------------- does not start

// GPUs that never came up since the module was loaded, for this reason. A line from before a later
// success is no fault of now.
Gpus failed_for(const Machine& machine, StartFailure reason) {
  Gpus found = judged_gpus(machine);
  std::erase_if(found, [&](const PciGpu& gpu) {
    return has_started(machine, gpu) != Started::kNo || start_failure(machine, gpu) != reason;
  });
  return found;
}

void cite_lines(const Machine& machine, const Gpus& gpus,
                std::initializer_list<std::string_view> needles, std::vector<Evidence>& evidence) {
  for (const auto& gpu : gpus) {
    auto lines = lines_about(machine, gpu.address, needles);
    evidence.insert(evidence.end(), lines.begin(), lines.end());
  }
}

Verdict has_power(const Machine& machine, const Catalog& catalog) {
  if (setting_of(machine) != Setting::kHost) return NotApplicable{};
  const auto gpus = failed_for(machine, StartFailure::kPower);
  if (gpus.empty()) return NotApplicable{};
  std::vector<Evidence> evidence;
  cite_lines(machine, gpus, {"power cables", "RmInitAdapter failed"}, evidence);
  return Finding{
      .severity = severity_of_losing(gpus.size(), machine),
      .subject = addresses(gpus),
      .statement = described(machine, catalog, gpus) +
                   " lacks a power cable: the driver sees the card and cannot start it",
      .evidence = std::move(evidence),
      .cause =
          "the card's auxiliary power plug is empty, half plugged in or fed by too few "
          "cables: the slot alone gives 75 W",
      .fix = {advice("switch off; put in every power plug of the card, each with a cable of its "
                     "own from the power supply; a server card with an EPS (CPU type) plug needs "
                     "the adapter that came with it"),
              root_step("sudo dmesg | grep -i 'power cables'",
                        "after the next boot: empty when "
                        "the card is content",
                        "nothing", "none needed")},
  };
}

std::string grub_command(const Machine& machine, const std::string& parameter) {
  const std::string edit =
      "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&" + parameter + " /' /etc/default/grub && ";
  return pick(machine, {.apt = edit + "sudo update-grub",
                        .dnf = "sudo grubby --update-kernel=ALL --args=" + parameter,
                        .zypper = edit + "sudo grub2-mkconfig -o /boot/grub2/grub.cfg",
                        .pacman = ""});
}

FixStep add_kernel_parameter(const Machine& machine, const std::string& parameter,
                             const std::string& text) {
  const auto command = grub_command(machine, parameter);
  if (command.empty())
    return advice("add " + parameter + " to the kernel's command line (boot loader): " + text);
  return root_step(command, text, "the kernel's command line from the next boot on",
                   "take " + parameter + " out again the same way");
}

std::vector<FixStep> find_room(const Machine& machine) {
  if (machine.host.hypervisor.is_known())
    return {advice("give the guest UEFI firmware (OVMF, EFI), not BIOS, and a large window above "
                   "4 GiB: VMware pciPassthru.use64bitMMIO=TRUE and pciPassthru.64bitMMIOSizeGB, "
                   "QEMU -fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=65536"),
            add_kernel_parameter(machine, "pci=realloc",
                                 "on the host, where its own log "
                                 "complains about the same regions")};
  return {advice("in the firmware's settings: 'Above 4G Decoding' (also called 'MMIO above 4 GB', "
                 "'64-bit BAR') on, CSM / legacy boot off; update the firmware when it has no "
                 "such setting"),
          add_kernel_parameter(machine, "pci=realloc",
                               "or lets the kernel deal out the regions itself"),
          reboot("the windows are dealt out at boot")};
}

// The driver maps a small window of registers (BAR 0) and a large one of memory (BAR 1). Old
// firmware places both below 4 GiB, where a data-centre card's window of 16 GiB and more has no
// room, nor that of a second or third card.
Verdict has_bar_space(const Machine& machine, const Catalog& catalog) {
  if (setting_of(machine) != Setting::kHost) return NotApplicable{};
  const auto gpus = failed_for(machine, StartFailure::kBarSpace);
  if (gpus.empty()) return NotApplicable{};
  std::vector<Evidence> evidence =
      log_lines(machine, {"PCI I/O region assigned to your NVIDIA device is invalid"}, 1);
  cite_lines(machine, gpus, {"is 0M @ 0x0", "failed to assign", "no space", "RmInitAdapter failed"},
             evidence);
  return Finding{
      .severity = severity_of_losing(gpus.size(), machine),
      .subject = addresses(gpus),
      .statement = described(machine, catalog, gpus) +
                   " was given no room in the address space (BAR), so the driver cannot start it",
      .evidence = std::move(evidence),
      .cause = machine.host.hypervisor.is_known()
                   ? "the virtual machine has no window above 4 GiB that is large enough for the "
                     "GPU's memory"
                   : "the firmware places PCI windows below 4 GiB, where there is no room for the "
                     "GPU's memory, or gave it to other cards",
      .fix = find_room(machine),
      .certainty = Certainty::kLikely,
  };
}

/// Words beside RmInitAdapter that tell more, the most telling first.
struct StartHint {
  std::string_view text;
  const char* cause;
};
constexpr StartHint kStartHints[] = {
    {"WPR2 already up",
     "the GPU is still in the state that a crash, a warm reboot or a guest left it in; only "
     "taking its power away clears that"},
    {"GFW_BOOT",
     "the GPU's own firmware does not come up: power, slot or riser, a firmware of the mainboard "
     "that is too old for the card, or a defect"},
    {"Open nvidia.ko is only ready for use on Data Center GPUs",
     "the open module of branches 515 to 520 takes GeForce and workstation cards only with "
     "NVreg_OpenRmEnableUnsupportedGpus=1"},
    {"requires use of the NVIDIA open kernel modules",
     "this GPU needs the open kernel module, and the proprietary one is loaded"},
    {"not supported by open", "the open kernel module does not drive this GPU"},
    {"Can't find an IRQ", "the firmware gave the GPU no interrupt"},
    {"Unable to change power state from D3cold",
     "the GPU does not wake from its sleep (D3cold): a laptop's firmware or power management "
     "(NVreg_DynamicPowerManagement), or a slot that lost its power"},
    {"fallen off the bus",
     "the GPU stopped answering on the bus: power, cabling, riser or a defect"},
};

/// NV_STATUS, the second number in "RmInitAdapter failed! (0x62:0x65:1792)".
struct StatusText {
  std::string_view number;
  const char* text;
};
constexpr StatusText kStatuses[] = {
    {"0xf:", "the GPU is lost on the bus"},
    {"0xb:", "its memory has an error that ECC cannot correct"},
    {"0x1c:", "it has too little power"},
    {"0x47:", "its memory could not be trained"},
    {"0x61:", "the driver rejects its video BIOS"},
    {"0x62:", "it needs a reset first"},
    {"0x65:", "it did not answer in time"},
    {"0x72:", "its memory has an error"},
};

std::string meaning_of_status(const std::string& line) {
  const auto open = line.find("failed! (");
  const auto colon = line.find(':', open == std::string::npos ? line.size() : open);
  if (colon == std::string::npos) return {};
  for (const auto& status : kStatuses)
    if (std::string_view(line).substr(colon + 1).starts_with(status.number)) return status.text;
  return {};
}

std::string why_not_started(const Machine& machine, const std::vector<Evidence>& failures) {
  const auto lines = lines_since_load(machine);
  for (const auto& hint : kStartHints)
    for (const auto& line : lines)
      if (line.find(hint.text) != std::string::npos) return hint.cause;
  const auto meaning = failures.empty() ? std::string() : meaning_of_status(failures.back().text);
  return meaning.empty() ? "the driver does not get the GPU going; the lines beside tell where it "
                           "stopped"
                         : "the driver gave up because " + meaning;
}

std::vector<Evidence> hints_of(const Machine& machine) {
  std::vector<Evidence> found;
  const auto lines = lines_since_load(machine);
  for (const auto& hint : kStartHints)
    for (const auto& line : lines)
      if (found.size() < 3 && line.find(hint.text) != std::string::npos) {
        found.push_back({line, machine.driver.kernel_log.source()});
        break;
      }
  return found;
}

// A GPU of the wrong generation for the driver, or without its firmware, has a rule of its own.
bool is_explained(const Machine& machine, const Catalog& catalog, const PciGpu& gpu) {
  const auto driver = installed_driver(machine);
  if (driver && fit(catalog, gpu, *driver) != Fit::kUnknown) return true;
  return !may_be_listed(machine, gpu) || !missing_firmware(machine).empty();
}

Finding not_started(const Machine& machine, const Catalog& catalog, const Gpus& gpus) {
  std::vector<Evidence> failures;
  cite_lines(machine, gpus, {"RmInitAdapter failed!"}, failures);
  std::vector<Evidence> evidence = failures;
  const auto hints = hints_of(machine);
  evidence.insert(evidence.end(), hints.begin(), hints.end());
  return {
      .severity = severity_of_losing(gpus.size(), machine),
      .subject = addresses(gpus),
      .statement = "the driver lists " + described(machine, catalog, gpus) +
                   " and fails to start it (RmInitAdapter failed)",
      .evidence = std::move(evidence),
      .cause = why_not_started(machine, failures),
      .fix = {power_cycle("a plain reboot does not take the card's power away"),
              advice("then: seat the card and its power plugs again, try another slot without "
                     "riser, update the mainboard's firmware"),
              advice("or another driver branch, when this one began to fail with an upgrade"),
              bug_report()},
      .certainty = Certainty::kLikely,
  };
}

Verdict starts(const Machine& machine, const Catalog& catalog) {
  if (setting_of(machine) != Setting::kHost || module_loaded(machine) != Tristate::kYes)
    return NotApplicable{};
  auto gpus = failed_for(machine, StartFailure::kOther);
  std::erase_if(gpus, [&](const PciGpu& gpu) { return is_explained(machine, catalog, gpu); });
  if (gpus.empty()) return NotApplicable{};
  return not_started(machine, catalog, gpus);
}

// ---------------------------------------------------------------------------- stopped

// Errors of memory are a subject of their own (hardware_health.cpp), a GPU that does not start is
// told above.
bool is_of_memory(std::uint64_t code) {
  constexpr std::uint64_t kCodes[] = {48, 63, 64, 92, 94, 95, 140};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

std::vector<XidLine> xids_of(const Machine& machine, const PciGpu& gpu) {
  auto xids = open_xids(machine);
  std::erase_if(xids, [&](const XidLine& xid) { return !is_slot_of(xid.slot, gpu.address); });
  return xids;
}

// The first fatal one of a GPU is the cause of those that come after it.
std::optional<Xid> first_fatal(const Catalog& catalog, const std::vector<XidLine>& xids) {
  for (const auto& line : xids) {
    const auto xid = catalog.xid(line.code);
    if (xid && xid->severity == XidSeverity::kFatal && !is_of_memory(xid->code)) return xid;
  }
  return std::nullopt;
}

bool says_lost(const Machine& machine, const PciGpu& gpu) {
  if (!machine.run.nvml.is_known()) return false;
  for (const auto& other : machine.run.nvml->gpus)
    if (lower(other.address) == lower(gpu.address))
      return other.error.find("GPU_IS_LOST") != std::string::npos ||
             other.error.find("RESET_REQUIRED") != std::string::npos;
  return false;
}

FixStep reset_gpu(const PciGpu& gpu) {
  return root_step("sudo nvidia-smi --gpu-reset -i " + shell_word(gpu.address),
                   "after every program on it has ended (sudo fuser -v /dev/nvidia*); on a board "
                   "with NVSwitch all GPUs together, without -i",
                   "ends what runs on this GPU", "none needed");
}

std::vector<FixStep> recover(const Machine& machine, const Xid& xid, const PciGpu& gpu) {
  std::vector<FixStep> steps;
  if (setting_of(machine) == Setting::kContainer)
    steps.push_back(advice("what follows is to be done on the host of this container"));
  if (xid.action == "reset_gpu" || xid.action == "reset_when_idle") {
    steps.push_back(reset_gpu(gpu));
    steps.push_back(reboot("when the reset is refused or hangs"));
  } else {
    steps.push_back(reboot("brings it back when it is not broken"));
    steps.push_back(power_cycle("when it does not come back by itself"));
  }
  if (xid.fault == "hardware")
    steps.push_back(
        advice("when it comes again: check the power plugs, the seat, the riser and "
               "the cooling; the same GPU in another slot tells card from slot"));
  if (xid.fault == "firmware")
    steps.push_back(advice(machine.driver.module_flavour.is("proprietary")
                               ? "when it comes again: install another driver branch; Turing to "
                                 "Hopper also run without this firmware (options nvidia "
                                 "NVreg_EnableGpuFirmware=0 in /etc/modprobe.d, then a reboot)"
                               : "when it comes again: install another driver branch; the open "
                                 "module always uses this firmware"));
  steps.push_back(bug_report());
  return steps;
}

// A lost GPU stays lost until the next boot. After other Xids a reset brings it back, which leaves
// no line in the log of drivers before branch 550; so they only warn.
Finding stopped(const Machine& machine, const Catalog& catalog, const PciGpu& gpu, const Xid& xid,
                const std::vector<XidLine>& lines) {
  const bool lost = xid.action == "reboot";
  std::vector<Evidence> evidence;
  for (const auto& line : lines)
    if (evidence.size() < 4) evidence.push_back({line.line, machine.driver.kernel_log.source()});
  return {
      .severity = lost && judged_gpus(machine).size() == 1 ? Severity::kError : Severity::kWarning,
      .subject = gpu.address,
      .statement = described(machine, catalog, gpu) + " reported Xid " + std::to_string(xid.code) +
                   " since the driver was loaded: " + xid.title,
      .evidence = std::move(evidence),
      .cause = xid.meaning.empty() ? xid.title : xid.meaning,
      .fix = recover(machine, xid, gpu),
      .certainty = lost ? Certainty::kProven : Certainty::kLikely,
  };
}

Verdict without_fatal_xid(const Machine& machine, const Catalog& catalog) {
  std::vector<Finding> findings;
  std::size_t errors = 0;
  for (const auto& gpu : judged_gpus(machine)) {
    // Told already: as a GPU that the driver does not list, as one that NVML calls lost.
    if (!may_be_listed(machine, gpu) || says_lost(machine, gpu)) continue;
    const auto lines = xids_of(machine, gpu);
    const auto xid = first_fatal(catalog, lines);
    if (!xid) continue;
    findings.push_back(stopped(machine, catalog, gpu, *xid, lines));
    if (findings.back().certainty == Certainty::kProven) ++errors;
  }
  if (findings.empty())
    return machine.driver.kernel_log.is_known() ? Verdict(Fine{}) : NotApplicable{};
  if (errors == judged_gpus(machine).size())
    for (auto& finding : findings) finding.severity = Severity::kError;
  return findings;
}

// ------------------------------------------------------------------ faults of programs

bool is_of_a_program(const Catalog& catalog, const XidLine& line) {
  const auto xid = catalog.xid(line.code);
  return xid && xid->fault == "application" && xid->severity == XidSeverity::kError &&
         line.code != 43;  // follows from another one
}

// People take 13 and 31 for a broken card. They are what an illegal address in a kernel looks like.
Verdict without_program_faults(const Machine& machine, const Catalog& catalog) {
  std::vector<XidLine> faults;
  std::string address;
  for (const auto& gpu : judged_gpus(machine)) {
    const auto lines = xids_of(machine, gpu);
    if (first_fatal(catalog, lines)) return NotApplicable{};
    for (const auto& line : lines)
      if (is_of_a_program(catalog, line)) {
        faults.push_back(line);
        address = gpu.address;
      }
  }
  if (faults.empty()) return NotApplicable{};
  const XidLine& last = faults.back();
  const auto xid = catalog.xid(last.code);
  const std::string who = last.program.empty() ? "a program" : last.program;
  return Finding{
      .severity = Severity::kInfo,
      .subject = address,
      .statement = who + " made the GPU fault (Xid " + std::to_string(last.code) + ", " +
                   xid->title + "): an error of that program; the GPU is in order",
      .evidence = {{last.line, machine.driver.kernel_log.source()}},
      .cause = xid->meaning,
      .fix = {user_step("CUDA_LAUNCH_BLOCKING=1 python3 SCRIPT.py",
                        "makes the traceback name the operation that failed", "this run alone",
                        "none needed"),
              user_step("compute-sanitizer python3 SCRIPT.py",
                        "finds the illegal access; slow, from the CUDA toolkit", "this run alone",
                        "none needed")},
      .certainty = Certainty::kLikely,
  };
}

constexpr Rule kRules[] = {
    {"hardware.power-cable", "each GPU has its power cables", has_power, Standing::kOwn},
    {"hardware.bar-space", "each GPU has room for its memory windows", has_bar_space,
     Standing::kOwn},
    {"hardware.gpu-not-started", "the driver can start each GPU that it lists", starts,
     Standing::kOwn},
    {"hardware.xid", "no GPU has reported a fatal error since the driver was loaded",
     without_fatal_xid, Standing::kOwn},
    {"hardware.xid-of-program", "no program has made a GPU fault", without_program_faults,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> hardware_log_rules() { return kRules; }

}  // namespace gpuwright
