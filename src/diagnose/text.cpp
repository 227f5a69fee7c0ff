#include "diagnose/text.h"

#include <algorithm>
#include <set>
#include <string>

#include "diagnose/events.h"

namespace gpuwright {
namespace {

// Lines that show a GPU at work. With one of them, and without a fault, a text says that all is
// well.
constexpr const char* kSound[] = {"tensorflow.gpu-created", "work.gpu-result"};

const Event* sound_event(const Machine& machine) {
  for (const auto* id : kSound)
    if (const auto* event = first_event(machine, id)) return event;
  return nullptr;
}

std::set<std::string> ids_of_log_rules() {
  std::set<std::string> ids;
  for (const auto& table : all_rules())
    if (table.log)
      for (const auto& rule : table.rules) ids.insert(rule.id);
  return ids;
}

// A rule about facts may share its id with one about lines; a fact has a reason why it is unknown,
// and of a text it is always that nobody looked.
bool asks_for_facts(const Undecision& undecided) {
  return std::any_of(undecided.missing.begin(), undecided.missing.end(), [](const Evidence& one) {
    return one.text.find("unknown, not looked at") != std::string::npos;
  });
}

bool has(const Diagnosis& diagnosis, Severity severity) {
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                     [&](const Finding& f) { return f.severity == severity; });
}

std::string verdict(const Machine& machine, const Diagnosis& diagnosis) {
  const auto count = [&](Severity severity) {
    return std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                         [&](const Finding& f) { return f.severity == severity; });
  };
  const auto errors = count(Severity::kError), warnings = count(Severity::kWarning);
  const auto first = [&](Severity severity) {
    return *std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                         [&](const Finding& f) { return f.severity == severity; });
  };
  const auto more = [](std::ptrdiff_t n) {
    return n > 0 ? " (and " + std::to_string(n) + " more)" : std::string();
  };
  if (errors > 0) {
    const auto finding = first(Severity::kError);
    return "Broken at " + std::string(name_of(finding.rung)) + ": " + finding.statement +
           more(errors - 1) + ".";
  }
  if (warnings > 0)
    return "Works, but " + first(Severity::kWarning).statement + more(warnings - 1) + ".";
  if (const auto* event = sound_event(machine))
    return "Nothing is wrong: the GPU is in use (" + event->source + ").";
  if (!diagnosis.findings.empty())
    return "Nothing is wrong: " + first(Severity::kInfo).statement + ".";
  return "Cannot tell: no line of this text names a fault that is known.";
}

}  // namespace

Diagnosis finish_text(const Machine& machine, Diagnosis diagnosis) {
  const auto ids = ids_of_log_rules();
  std::erase_if(diagnosis.undecided,
                [&](const Undecision& u) { return !ids.contains(u.id) || asks_for_facts(u); });
  diagnosis.frameworks.clear();
  if (has(diagnosis, Severity::kError))
    std::erase_if(diagnosis.findings,
                  [](const Finding& f) { return f.id == "framework.gpu-in-use"; });
  diagnosis.verdict = verdict(machine, diagnosis);
  const bool faults = std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                  [](const Finding& f) { return f.severity != Severity::kInfo; });
  diagnosis.outcome = faults ? Outcome::kProblems
                      : sound_event(machine) != nullptr || !diagnosis.findings.empty()
                          ? Outcome::kRight
                          : Outcome::kUndecided;
  return diagnosis;
}

}  // namespace gpuwright
