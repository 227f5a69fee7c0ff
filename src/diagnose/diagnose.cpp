#include "diagnose/diagnose.h"

#include <algorithm>

#include "diagnose/framework.h"
#include "diagnose/ladder.h"
#include "diagnose/text.h"
#include "diagnose/verdict.h"

namespace gpuwright {
namespace {

// Rungs that carry the ones above: an error on one of them leaves nothing for GPU work to stand on.
// Libraries and Python are files, and a framework is judged for itself.
bool carries(Rung rung) { return rung <= Rung::kCuda; }

class Judge {
 public:
  Judge(const Machine& machine, const Catalog& catalog, Diagnosis& diagnosis)
      : machine_(machine), catalog_(catalog), diagnosis_(diagnosis) {}

  void judge(Rung rung, const Rule& rule) {
    if (broken_ && *broken_ <= rung && rule.standing == Standing::kLink && depends_on_chain(rung))
      return;
    Verdict verdict = rule.judge(machine_, catalog_);
    if (const auto* undecided = std::get_if<Undecided>(&verdict)) {
      if (rule.standing != Standing::kAdvice) add(rung, rule, *undecided);
    } else if (auto* finding = std::get_if<Finding>(&verdict)) {
      add(rung, rule, std::move(*finding));
    } else if (auto* findings = std::get_if<std::vector<Finding>>(&verdict)) {
      for (auto& one : *findings) add(rung, rule, std::move(one));
    }
  }

 private:
  static bool depends_on_chain(Rung rung) { return carries(rung) || rung >= Rung::kFramework; }

  // What one fact leaves open is told once, at the lowest rule that asked for it.
  void add(Rung rung, const Rule& rule, const Undecided& undecided) {
    for (const auto& other : diagnosis_.undecided)
      if (other.missing == undecided.missing) return;
    diagnosis_.undecided.push_back({rule.id, rung, undecided.missing});
  }

  void add(Rung rung, const Rule& rule, Finding finding) {
    finding.id = rule.id;
    finding.rung = rung;
    if (finding.severity == Severity::kError && carries(rung) && (!broken_ || rung < *broken_))
      broken_ = rung;
    if (auto* known = find(finding)) return merge(*known, finding);
    diagnosis_.findings.push_back(std::move(finding));
  }

  // A fault that facts and lines of a log tell alike is one fault.
  Finding* find(const Finding& finding) {
    for (auto& known : diagnosis_.findings)
      if (known.id == finding.id && known.subject == finding.subject) return &known;
    return nullptr;
  }
  static void merge(Finding& known, const Finding& again) {
    for (const auto& evidence : again.evidence)
      if (std::find(known.evidence.begin(), known.evidence.end(), evidence) == known.evidence.end())
        known.evidence.push_back(evidence);
  }

  const Machine& machine_;
  const Catalog& catalog_;
  Diagnosis& diagnosis_;
  std::optional<Rung> broken_;  ///< The lowest rung with an error.
};

void judge_all(const Machine& machine, const Catalog& catalog, Diagnosis& diagnosis) {
  Judge judge(machine, catalog, diagnosis);
  for (const auto& table : all_rules()) {
    if (table.log && machine.events.empty()) continue;
    for (const auto& rule : table.rules) judge.judge(table.rung, rule);
  }
  std::stable_sort(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     return a.rung != b.rung ? a.rung < b.rung : a.severity < b.severity;
                   });
  diagnosis.frameworks = judge_frameworks(machine, catalog, diagnosis.findings);
}

// With an error in hand, what could not be read on the rungs above it is not the question any more.
void forget_unknowns_above_errors(Diagnosis& diagnosis) {
  const auto broken = lowest_broken(diagnosis.findings);
  if (!broken || !carries(*broken)) return;
  std::erase_if(diagnosis.undecided, [&](const Undecision& u) { return u.rung > *broken; });
}

// "Uses" is a promise about the whole chain, so an unknown link of the machine takes it back.
void doubt_answers(Diagnosis& diagnosis) {
  const auto open = std::find_if(diagnosis.undecided.begin(), diagnosis.undecided.end(),
                                 [](const Undecision& u) { return carries(u.rung); });
  if (open == diagnosis.undecided.end() || open->missing.empty()) return;
  for (auto& answer : diagnosis.frameworks) {
    if (answer.answer != Answer::kUses) continue;
    answer.answer = Answer::kCannotTell;
    answer.because = open->missing.front().text;
    answer.confidence.clear();
    answer.gpus.clear();
  }
}

void keep_only(Rung rung, Diagnosis& diagnosis) {
  std::erase_if(diagnosis.findings, [&](const Finding& f) { return f.rung != rung; });
  std::erase_if(diagnosis.undecided, [&](const Undecision& u) { return u.rung != rung; });
  if (rung != Rung::kFramework) diagnosis.frameworks.clear();
}

// Whoever names a framework wants to know about that one: that it is not there is an answer.
Diagnosis diagnose_one_framework(Machine machine, const Catalog& catalog, DiagnoseOptions options) {
  const std::string name = std::move(options.framework);
  options.framework.clear();
  std::erase_if(machine.frameworks, [&](const Framework& f) { return f.name != name; });
  Diagnosis diagnosis = diagnose(machine, catalog, options);
  const auto& python = machine.python.interpreter;
  if (!machine.frameworks.empty() || !python.is_known() || diagnosis.outcome != Outcome::kRight)
    return diagnosis;
  diagnosis.outcome = Outcome::kProblems;
  diagnosis.verdict = name + " is not installed in " + python->path + ".";
  return diagnosis;
}

}  // namespace

Diagnosis diagnose(const Machine& machine, const Catalog& catalog, const DiagnoseOptions& options) {
  if (!options.framework.empty()) return diagnose_one_framework(machine, catalog, options);
  Diagnosis diagnosis;
  judge_all(machine, catalog, diagnosis);
  if (options.text_alone) return finish_text(machine, std::move(diagnosis));
  forget_unknowns_above_errors(diagnosis);
  doubt_answers(diagnosis);
  diagnosis.rungs = climb(machine, catalog, diagnosis, options.only);
  if (options.only) keep_only(*options.only, diagnosis);
  diagnosis.outcome = outcome_of(diagnosis);
  diagnosis.verdict = verdict_of(machine, catalog, diagnosis);
  return diagnosis;
}

}  // namespace gpuwright
