#include <algorithm>

#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_incident.h"
#include "diagnose/rule.h"

// Errors and repairs of GPU memory, and of the NVSwitches between GPUs, as the kernel's log and
// nvidia-smi -q tell of them.

namespace gpuwright {
namespace {

// -------------------------------------------------------------------------------- memory

const Event* outline(const Machine& machine, std::string_view key, const std::string& slot,
                     std::string_view value) {
  for (const auto* event : events_of(machine, "smi.q")) {
    if (value_of(*event, "key") != key || lower(value_of(*event, "value")) != value) continue;
    const auto gpu = lower(value_of(*event, "gpu"));
    if (slot.empty() || gpu.empty() || gpu.starts_with(slot)) return event;
  }
  return nullptr;
}

const Event* pending_of(const Machine& machine, const std::string& slot) {
  for (const auto* key :
       {"Remapped Rows/Pending", "Retired Pages/Pending", "Retired Pages/Pending Page Blacklist"})
    if (const auto* event = outline(machine, key, slot, "yes")) return event;
  return nullptr;
}

const Event* worn_of(const Machine& machine, const std::string& slot) {
  return outline(machine, "Remapped Rows/Remapping Failure Occurred", slot, "yes");
}

std::vector<FixStep> repair_memory(const std::string& slot) {
  return {
      reset_gpu(slot),
      user_step("nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER -i " + shell_word(slot + ".0"),
                "afterwards: Pending has to be No", "nothing", "none needed"),
      advice("start the job again from its last checkpoint; ask for another card only when a "
             "remapping failure is recorded or errors keep coming")};
}

bool kills_programs(const Event& line) {
  const auto code = code_of(line);
  return code == 48 || code == 94 || code == 95 || code == 140 || code == 171 || code == 172;
}

Verdict memory_is_right(const Machine& machine, const Catalog& catalog) {
  std::vector<Finding> findings;
  for (const auto& one : incidents(machine)) {
    const auto* line = leader(one, kills_programs);
    if (line == nullptr) continue;
    const auto* pending = pending_of(machine, one.address);
    const bool marked = std::any_of(one.lines.begin(), one.lines.end(),
                                    [](const Event* other) { return code_of(*other) == 63; });
    Finding finding;
    finding.subject = one.address;
    finding.statement = "GPU " + one.address + " had a memory error that ECC could not correct (" +
                        title_of(catalog, code_of(*line)) + ")" +
                        (pending != nullptr || marked
                             ? ": the faulty row is marked and its repair is pending until a reset"
                             : "");
    finding.evidence = evidence_of(one);
    if (pending != nullptr) finding.evidence.push_back(cite(*pending));
    finding.cause =
        "memory cells of the card fail; the programs that met them were ended, and a reset "
        "takes the row out of use";
    finding.fix = repair_memory(one.address);
    finding.certainty = Certainty::kProven;
    findings.push_back(std::move(finding));
  }
  if (findings.empty()) return NotApplicable{};
  return findings;
}

Verdict no_repair_waits(const Machine& machine, const Catalog&) {
  std::vector<Finding> findings;
  std::string told;
  for (const auto& one : incidents(machine)) {
    told += one.address + " ";
    const auto* line = leader(
        one, [](const Event& other) { return code_of(other) == 63 || code_of(other) == 156; });
    if (line == nullptr || leader(one, kills_programs) != nullptr) continue;
    findings.push_back({.severity = Severity::kWarning,
                        .subject = one.address,
                        .statement = "GPU " + one.address +
                                     " has marked faulty memory; its repair is pending until a "
                                     "reset",
                        .evidence = evidence_of(one),
                        .cause = "a memory row or page failed; the card exchanges it at its next "
                                 "start only",
                        .fix = repair_memory(one.address),
                        .certainty = Certainty::kLikely});
  }
  const auto* pending = pending_of(machine, "");
  if (pending != nullptr && findings.empty()) {
    const auto gpu = value_of(*pending, "gpu");
    const auto slot = gpu.empty() ? std::string("GPU") : gpu.substr(0, gpu.find('.'));
    if (gpu.empty() || told.find(slot) == std::string::npos)
      findings.push_back(
          {.severity = Severity::kWarning,
           .subject = slot,
           .statement = "a repair of memory is pending on " +
                        (gpu.empty() ? "a GPU" : "GPU " + gpu) + " until its reset",
           .evidence = cite({pending}),
           .cause = "a memory row or page failed; the card exchanges it at its next start only",
           .fix = repair_memory(gpu.empty() ? "0000:00:00" : slot)});
  }
  if (findings.empty()) return NotApplicable{};
  return findings;
}

Verdict memory_has_spares(const Machine& machine, const Catalog& catalog) {
  for (const auto& one : incidents(machine)) {
    const auto* line = leader(one, [](const Event& other) { return code_of(other) == 64; });
    if (line == nullptr) continue;
    return Finding{.subject = one.address,
                   .statement = "memory of GPU " + one.address + " can no longer be repaired (" +
                                title_of(catalog, 64) + ")",
                   .evidence = evidence_of(one),
                   .cause = "no spare row is left for the faulty one",
                   .fix = {advice("take the card out of use and have it replaced"), support()}};
  }
  const auto* worn = worn_of(machine, "");
  if (worn == nullptr) return NotApplicable{};
  return Finding{.subject = value_of(*worn, "gpu"),
                 .statement = "memory of GPU " + value_of(*worn, "gpu") +
                              " can no longer be repaired: a remapping failed",
                 .evidence = cite({worn}),
                 .cause = "no spare row is left for the faulty one",
                 .fix = {advice("take the card out of use and have it replaced"), support()}};
}

// ------------------------------------------------------------------------------ NVSwitch

Verdict switches_are_right(const Machine& machine, const Catalog&) {
  const auto all = events_of(machine, "kernel.sxid");
  if (all.empty()) return NotApplicable{};
  const auto fatal = fatal_switch_errors(machine);
  const auto* lead = fatal.empty() ? all.front() : fatal.front();
  const auto code = value_of(*lead, "code");
  const bool acl = code == "11004" || code == "12028";
  Finding finding;
  finding.severity = !fatal.empty() ? Severity::kError : acl ? Severity::kWarning : Severity::kInfo;
  finding.subject = lower(value_of(*lead, "address"));
  finding.statement = "NVSwitch " + lower(value_of(*lead, "address")) + " reported SXid " + code +
                      (fatal.empty() ? ", not fatal" : ", fatal: NVLink between GPUs is broken");
  for (const auto* event : fatal.empty() ? all : fatal)
    if (finding.evidence.size() < 4) finding.evidence.push_back(cite(*event));
  for (const auto* event : events_of(machine, "kernel.xid"))
    if (code_of(*event) == 74 && finding.evidence.size() < 8)
      finding.evidence.push_back(cite(*event));
  if (!fatal.empty()) {
    finding.cause =
        "a link of the switch is down or its data is not to be trusted; jobs that used it "
        "have ended, and the GPUs at the link log Xid 74";
    finding.fix = {root_step("sudo systemctl stop nvidia-fabricmanager && sudo nvidia-smi -r && "
                             "sudo systemctl start nvidia-fabricmanager",
                             "resets all GPUs and switches, after all GPU programs have ended",
                             "ends what runs on the GPUs", "none needed"),
                   reboot("when the reset is refused"), support()};
  } else if (acl) {
    finding.cause =
        "a program or guest touched memory to which the switch has no route for it; a "
        "broken partition or a program that runs on after its peer has died";
    finding.fix = {advice("start the job (in a virtual machine: the guest) again")};
  } else {
    finding.cause = "corrected by the switch; work goes on";
    finding.fix = {advice("nothing to do; watch whether it comes often")};
  }
  finding.certainty = Certainty::kLikely;
  return finding;
}

constexpr Rule kRules[] = {
    {"hardware.memory-worn", "faulty memory can be repaired", memory_has_spares, Standing::kOwn},
    {"hardware.memory-errors", "memory has no error that ECC cannot correct", memory_is_right,
     Standing::kOwn},
    {"hardware.memory-repair-pending", "no repair of memory waits for a reset", no_repair_waits,
     Standing::kOwn},
    {"hardware.switch-error", "no NVSwitch has reported an error", switches_are_right,
     Standing::kOwn},
};

}  // namespace

std::span<const Rule> log_gpu_memory_rules() { return kRules; }

}  // namespace gpuwright
