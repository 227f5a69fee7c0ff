#include <algorithm>
#include <map>

#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_incident.h"
#include "diagnose/rule.h"

// Error numbers of the kernel's driver (Xid) besides those of memory (log_gpu_memory.cpp). One
// fault throws several of them, on several GPUs: the one that leads is told, the others are its
// evidence.

namespace gpuwright {
namespace {

// Seen on GPUs that are sound while another one, or their link, fails.
constexpr std::uint64_t kFollowing[] = {13, 31, 43, 45, 74, 137, 154, 174};

template <std::size_t N>
bool among(const std::uint64_t (&list)[N], std::uint64_t code) {
  return std::find(std::begin(list), std::end(list), code) != std::end(list);
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

Verdict without_fatal_xid(const Machine& machine, const Catalog& catalog) {
  const auto all = incidents(machine);
  const bool switch_failed = !fatal_switch_errors(machine).empty();
  std::size_t best = last_rank();
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
    finding.statement = (one.address.empty() ? std::string("a GPU") : "GPU " + one.address) +
                        " reported a fatal error: " + title_of(catalog, xid.code);
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
    finding.statement = (one.address.empty() ? std::string("a GPU") : "GPU " + one.address) +
                        " reported " + title_of(catalog, code);
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
