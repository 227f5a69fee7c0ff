#include <algorithm>
#include <map>

#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// Error numbers of the kernel's driver (Xid) and of NVSwitches (SXid). One fault throws several of
// them within seconds, on several GPUs: the one that leads is told, the others are its evidence.
// What a number means stands in the catalogue.

namespace gpuwright {
namespace {

using Events = std::vector<const Event*>;

/// All numbers of one GPU.
struct Incident {
  std::string address;  ///< "0000:52:00"
  Events lines;
  const Event* recovery = nullptr;  ///< The last 154: what the driver itself asks for.
};

// Kubernetes' device plugin names a GPU by its UUID.
bool is_of_plugin(const Event& event) {
  return event.id == "kubernetes.unhealthy" && event.values.contains("code");
}

std::uint64_t code_of(const Event& event) {
  if (event.id == "kernel.off-bus") return 79;
  if (event.id == "kernel.gsp-timeout") return 119;
  return parse_unsigned(value_of(event, "code")).value_or(0);
}

// "0000:01:00.0", "00000000:01:00" and "0000:01:00" are one slot.
std::string slot_of(const Event& event) {
  if (is_of_plugin(event)) return value_of(event, "device");
  auto address = lower(value_of(event, "address"));
  if (const auto dot = address.find('.'); dot != std::string::npos) address.resize(dot);
  if (address.size() > 10 && address.starts_with("0000")) address.erase(0, address.size() - 10);
  return address;
}

// "... changed from 0x0 (None) to 0x2 (Node Reboot Required)"
std::string wanted_by(const Event& recovery) {
  const auto detail = value_of(recovery, "detail");
  const auto at = detail.find(" to 0x");
  return at == std::string::npos ? "" : detail.substr(at + 6, 1);
}

std::vector<Incident> incidents(const Machine& machine) {
  std::map<std::string, Incident> by_gpu;
  for (const auto& event : machine.events) {
    if (event.id != "kernel.xid" && event.id != "kernel.off-bus" &&
        event.id != "kernel.gsp-timeout" && !is_of_plugin(event))
      continue;
    auto slot = slot_of(event);
    // The message of the probe has its address in the line before.
    if (slot.empty() && !by_gpu.empty()) slot = by_gpu.rbegin()->first;
    auto& one = by_gpu[slot];
    one.address = slot;
    if (code_of(event) == 154) {
      one.recovery = &event;
      // All that stood before is over.
      if (wanted_by(event) == "0") one.lines.clear();
      continue;
    }
    one.lines.push_back(&event);
  }
  std::vector<Incident> out;
  for (auto& [slot, one] : by_gpu)
    if (!one.lines.empty() || (one.recovery != nullptr && wanted_by(*one.recovery) != "0"))
      out.push_back(std::move(one));
  return out;
}

// The catalogue's order of causes (meta.burst.root_order): a number that stands earlier explains
// those that come later.
constexpr std::uint64_t kRootOrder[] = {79,  167, 173, 95,  140, 48,  64,  110, 62,
                                        120, 119, 158, 143, 46,  74,  136, 155, 144,
                                        145, 146, 147, 148, 149, 150, 109, 94,  63};
constexpr std::uint64_t kMemory[] = {48, 63, 64, 94, 95, 140, 171, 172, 156, 157, 160, 161};
// Seen on GPUs that are sound while another one, or their link, fails.
constexpr std::uint64_t kFollowing[] = {13, 31, 43, 45, 74, 137, 154, 174};

template <std::size_t N>
bool among(const std::uint64_t (&list)[N], std::uint64_t code) {
  return std::find(std::begin(list), std::end(list), code) != std::end(list);
}

std::size_t rank_of(std::uint64_t code) {
  return static_cast<std::size_t>(std::find(std::begin(kRootOrder), std::end(kRootOrder), code) -
                                  std::begin(kRootOrder));
}

// NVLink 5 numbers say in their text whether they are fatal.
bool is_fatal(const Catalog& catalog, const Event& event) {
  const auto code = code_of(event);
  if (code >= 144 && code <= 150)
    return value_of(event, "detail").find(" Fatal") != std::string::npos;
  const auto xid = catalog.xid(code);
  return xid && xid->severity == XidSeverity::kFatal;
}

bool is_of_memory(const Event& event) { return among(kMemory, code_of(event)); }

/// The line that leads among those for which `counts` holds; null when there is none.
template <class Condition>
const Event* leader(const Incident& incident, Condition counts) {
  const Event* best = nullptr;
  for (const auto* line : incident.lines)
    if (counts(*line) && (best == nullptr || rank_of(code_of(*line)) < rank_of(code_of(*best))))
      best = line;
  return best;
}

std::vector<Evidence> evidence_of(const Incident& incident, std::size_t most = 6) {
  std::vector<Evidence> out;
  for (const auto* line : incident.lines)
    if (out.size() < most) out.push_back(cite(*line));
  if (incident.recovery != nullptr) out.push_back(cite(*incident.recovery));
  return out;
}

Xid xid_of(const Catalog& catalog, std::uint64_t code) {
  if (const auto known = catalog.xid(code)) return *known;
  Xid xid;
  xid.code = code;
  xid.meaning = "A number that the catalogue does not know.";
  xid.severity = XidSeverity::kError;
  return xid;
}

std::string title_of(const Catalog& catalog, std::uint64_t code) {
  const auto xid = catalog.xid(code);
  return "Xid " + std::to_string(code) + (xid ? ", " + xid->title : "");
}

FixStep reset_gpu(const std::string& slot) {
  return root_step("sudo nvidia-smi --gpu-reset -i " + shell_word(slot + ".0"),
                   "after every program on it has ended (sudo fuser -v /dev/nvidia*); on a board "
                   "with NVSwitch all GPUs together, without -i; when it is refused, reboot",
                   "ends what runs on this GPU", "none needed");
}

// 154 is the driver's own judgement and goes before what the number says in general.
std::string action_of(const Incident& incident, const Xid& xid) {
  if (incident.recovery == nullptr) return xid.action;
  const auto wanted = wanted_by(*incident.recovery);
  if (wanted == "1") return "reset_gpu";
  if (wanted == "2") return "reboot";
  if (wanted == "3") return "drain_p2p";
  if (wanted == "4") return "reset_when_idle";
  if (wanted == "5") return "restart_imex";
  return xid.action;
}

FixStep support() {
  return root_step("sudo nvidia-bug-report.sh", "what NVIDIA's or the vendor's support asks for",
                   "writes nvidia-bug-report.log.gz here", "rm nvidia-bug-report.log.gz");
}

void add_off_bus(std::vector<FixStep>& steps) {
  steps.push_back(
      advice("switch the machine off completely, wait, and start it again: a card that "
             "has left the bus seldom comes back with a warm reboot"));
  steps.push_back(reboot("when it stands out of reach"));
  steps.push_back(
      advice("check and reseat the power plugs of the card, the card itself, riser or eGPU cable; "
             "power supply, temperature and firmware of the mainboard come next"));
  steps.push_back(root_step("sudo nvidia-smi -lgc 300,1500",
                            "to confirm a power problem: lower clocks draw less at the peaks",
                            "clocks of all GPUs until the next reboot", "sudo nvidia-smi -rgc"));
}

void add_by_action(const std::string& action, const Incident& incident,
                   std::vector<FixStep>& steps) {
  if (action == "reset_gpu" || action == "reset_when_idle") {
    steps.push_back(reset_gpu(incident.address));
  } else if (action == "reboot") {
    steps.push_back(reboot("the GPU takes no work before"));
  } else if (action == "drain_p2p") {
    steps.push_back(
        advice("stop the jobs that use this GPU's connections to other GPUs; work on "
               "one GPU may go on"));
  } else if (action == "restart_imex") {
    steps.push_back(root_step("sudo systemctl restart nvidia-imex",
                              "on every node of the NVLink domain", "ends its jobs",
                              "none needed"));
  } else if (action == "check_mechanicals") {
    steps.push_back(advice("check power cables, seat, riser and cooling of the card"));
  } else if (action == "restart_vm") {
    steps.push_back(advice("restart the virtual machine"));
  } else if (action == "update_software") {
    steps.push_back(advice("try another version of the driver and of the GPU's firmware"));
  } else if (action == "check_nvlink") {
    steps.push_back(
        user_step("nvidia-smi nvlink -e", "error counters of the links", "nothing", "none needed"));
  } else if (action == "check_pcie") {
    steps.push_back(user_step("nvidia-smi -q | grep -A12 'GPU Link Info'",
                              "link width and generation, replay counters", "nothing",
                              "none needed"));
  }
}

std::vector<FixStep> recover(const Incident& incident, const Xid& xid) {
  std::vector<FixStep> steps;
  if (xid.code == 79) {
    add_off_bus(steps);
  } else {
    add_by_action(action_of(incident, xid), incident, steps);
    if (steps.empty()) steps.push_back(reset_gpu(incident.address));
  }
  if (xid.fault == "firmware")
    steps.push_back(
        advice("when it comes again: another version of the driver, whose firmware (GSP) "
               "comes with it"));
  if (xid.fault == "interconnect")
    steps.push_back(
        user_step("nvidia-smi nvlink -e", "error counters of the links", "nothing", "none needed"));
  if (xid.fault == "hardware" || xid.fault == "mixed" || xid.fault == "interconnect")
    steps.push_back(support());
  return steps;
}

std::string cause_of(const Incident& incident, const Xid& xid) {
  std::string cause = xid.meaning;
  if (incident.recovery != nullptr) {
    const auto detail = value_of(*incident.recovery, "detail");
    const auto open = detail.rfind('('), close = detail.rfind(')');
    if (open != std::string::npos && close != std::string::npos && close > open)
      cause += (cause.empty() ? "" : " ") + std::string("The driver itself asks for: ") +
               detail.substr(open + 1, close - open - 1) + ".";
  }
  return cause;
}

void join_finding(std::vector<Finding>& findings, std::uint64_t code, Finding finding,
                  std::map<std::uint64_t, std::size_t>& by_code) {
  const auto known = by_code.find(code);
  if (known == by_code.end()) {
    by_code[code] = findings.size();
    findings.push_back(std::move(finding));
    return;
  }
  Finding& first = findings[known->second];
  first.subject += ", " + finding.subject;
  first.statement += " (also " + finding.subject + ")";
  for (const auto& evidence : finding.evidence)
    if (first.evidence.size() < 10) first.evidence.push_back(evidence);
}

// ------------------------------------------------------------------------- fatal numbers

Events fatal_switch_errors(const Machine& machine) {
  Events found;
  for (const auto* event : events_of(machine, "kernel.sxid"))
    if (lower(value_of(*event, "class")) == "fatal") found.push_back(event);
  return found;
}

Verdict without_fatal_xid(const Machine& machine, const Catalog& catalog) {
  const auto all = incidents(machine);
  const bool switch_failed = !fatal_switch_errors(machine).empty();
  std::size_t best = std::size(kRootOrder) + 1;
  const auto counts = [&](const Event& line) {
    return is_fatal(catalog, line) && !is_of_memory(line) &&
           !(switch_failed && code_of(line) == 74);
  };
  for (const auto& one : all)
    if (const auto* line = leader(one, counts)) best = std::min(best, rank_of(code_of(*line)));
  std::vector<Finding> findings;
  std::map<std::uint64_t, std::size_t> by_code;
  for (const auto& one : all) {
    const auto* line = leader(one, counts);
    // A number that always follows others is none of its own beside a better one.
    if (line == nullptr || (rank_of(code_of(*line)) != best && among(kFollowing, code_of(*line))))
      continue;
    const auto xid = xid_of(catalog, code_of(*line));
    Finding finding;
    finding.subject = one.address;
    finding.statement =
        "GPU " + one.address + " reported a fatal error: " + title_of(catalog, xid.code);
    finding.evidence = evidence_of(one);
    for (const auto* id : {"smi.device-lost", "kernel.aer"})
      if (const auto* other = first_event(machine, id)) finding.evidence.push_back(cite(*other));
    finding.cause = cause_of(one, xid);
    finding.fix = recover(one, xid);
    finding.certainty = Certainty::kLikely;
    join_finding(findings, xid.code, std::move(finding), by_code);
  }
  if (findings.empty()) return NotApplicable{};
  return findings;
}

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

// -------------------------------------------------------------------------- other numbers

bool is_of_a_program(const Catalog& catalog, const Event& line) {
  const auto xid = catalog.xid(code_of(line));
  return xid && xid->fault == "application" && xid->severity >= XidSeverity::kWarning;
}

// Beside a fatal number or a memory error a program's own number is nothing but its end.
bool is_sick(const Catalog& catalog, const Incident& one) {
  return leader(one, [&](const Event& line) {
           return is_fatal(catalog, line) || is_of_memory(line);
         }) != nullptr;
}

// Numbers that are neither fatal nor of a program: the driver, its firmware, the bus.
Verdict without_other_xid(const Machine& machine, const Catalog& catalog) {
  std::vector<Finding> findings;
  std::map<std::uint64_t, std::size_t> by_code;
  for (const auto& one : incidents(machine)) {
    if (is_sick(catalog, one)) continue;
    const auto* line = leader(one, [&](const Event& other) {
      return !is_of_a_program(catalog, other) && code_of(other) != 45 && code_of(other) != 43;
    });
    if (line == nullptr) continue;
    const auto code = code_of(*line);
    const auto xid = xid_of(catalog, code);
    Finding finding;
    const bool harmless = value_of(*line, "detail").find(" Nonfatal") != std::string::npos;
    finding.severity = harmless                              ? Severity::kInfo
                       : xid.severity >= XidSeverity::kError ? Severity::kError
                       : xid.severity == XidSeverity::kWarning && xid.action != "ignore"
                           ? Severity::kWarning
                           : Severity::kInfo;
    finding.subject = one.address;
    finding.statement = "GPU " + one.address + " reported " + title_of(catalog, code);
    finding.evidence = cite({line, one.recovery});
    finding.cause = cause_of(one, xid);
    add_by_action(action_of(one, xid), one, finding.fix);
    if (finding.fix.empty())
      finding.fix.push_back(advice(finding.severity == Severity::kInfo
                                       ? "nothing to do"
                                       : "start the program again; when it comes again, another "
                                         "version of the driver"));
    finding.certainty = Certainty::kLikely;
    join_finding(findings, code, std::move(finding), by_code);
  }
  if (findings.empty()) return NotApplicable{};
  return findings;
}

// The program's own words, of which such a number is the kernel's side.
bool program_spoke(const Machine& machine) {
  constexpr std::string_view kWords[] = {"cuda error",         "cuda_error",     "illegal memory",
                                         "device-side assert", "launch failure", "acceleratorerror",
                                         "cudnn_status",       "cudaerror"};
  return std::any_of(machine.events.begin(), machine.events.end(), [&](const Event& event) {
    if (event.id.starts_with("kernel.")) return false;
    const auto text = lower(event.text);
    return std::any_of(std::begin(kWords), std::end(kWords),
                       [&](std::string_view word) { return text.find(word) != std::string::npos; });
  });
}

Verdict without_program_faults(const Machine& machine, const Catalog& catalog) {
  const auto all = incidents(machine);
  if (std::any_of(all.begin(), all.end(),
                  [&](const Incident& one) { return is_sick(catalog, one); }))
    return NotApplicable{};
  Finding finding;
  const Event* lead = nullptr;
  for (const auto& one : all)
    for (const auto* line : one.lines) {
      if (!is_of_a_program(catalog, *line)) continue;
      // 45 and 43 are what is swept up after the number that tells the fault.
      const bool better = lead == nullptr ||
                          ((code_of(*lead) == 45 || code_of(*lead) == 43) && code_of(*line) != 45);
      if (better) lead = line;
      if (finding.evidence.size() < 4) finding.evidence.push_back(cite(*line));
    }
  if (lead == nullptr) return NotApplicable{};
  const auto xid = catalog.xid(code_of(*lead));
  auto who = value_of(*lead, "name");
  if (who.empty() || who.starts_with("<")) who = "a program";
  const auto pid = value_of(*lead, "pid");
  if (!pid.empty() && !pid.starts_with("<")) who += " (pid " + pid + ")";
  finding.severity =
      program_spoke(machine) || code_of(*lead) == 45 ? Severity::kInfo : Severity::kError;
  finding.subject = slot_of(*lead);
  finding.statement = who + " made GPU " + slot_of(*lead) +
                      " fault: " + title_of(catalog, code_of(*lead)) +
                      "; the error is the program's, the GPU is in order";
  finding.cause = xid->meaning;
  finding.fix = {user_step("CUDA_LAUNCH_BLOCKING=1 python3 SCRIPT.py",
                           "makes the traceback name the operation that failed", "this run alone",
                           "none needed"),
                 user_step("compute-sanitizer python3 SCRIPT.py",
                           "finds the illegal access; slow, from the CUDA toolkit",
                           "this run alone", "none needed"),
                 advice("when many different programs meet it on this GPU alone: test the card "
                        "(dcgmi diag -r 3)")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

constexpr Rule kRules[] = {
    {"hardware.xid", "no GPU has reported a fatal error", without_fatal_xid, Standing::kOwn},
    {"hardware.memory-worn", "faulty memory can be repaired", memory_has_spares, Standing::kOwn},
    {"hardware.memory-errors", "memory has no error that ECC cannot correct", memory_is_right,
     Standing::kOwn},
    {"hardware.memory-repair-pending", "no repair of memory waits for a reset", no_repair_waits,
     Standing::kOwn},
    {"hardware.switch-error", "no NVSwitch has reported an error", switches_are_right,
     Standing::kOwn},
    {"hardware.xid-other", "the driver has reported no lesser error", without_other_xid,
     Standing::kOwn},
};

constexpr Rule kProgramRules[] = {
    {"work.gpu-fault", "no program has made a GPU fault", without_program_faults, Standing::kOwn},
};

}  // namespace

std::span<const Rule> log_xid_rules() { return kRules; }
std::span<const Rule> log_gpu_fault_rules() { return kProgramRules; }

}  // namespace gpuwright
