#include "diagnose/diagnose.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/framework.h"
#include "diagnose/ladder.h"
#include "diagnose/run_answer.h"
#include "diagnose/text.h"
#include "diagnose/verdict.h"

namespace gpuwright {
namespace {

// Rungs that carry the ones above: an error on one of them leaves nothing for GPU work to stand on.
// Libraries and Python are files, and a framework is judged for itself.
bool carries(Rung rung) { return rung <= Rung::kCuda; }

class Judge {
 public:
  Judge(const Machine& machine, const Catalog& catalog, const DiagnoseOptions& options,
        Diagnosis& diagnosis)
      : machine_(machine), catalog_(catalog), options_(options), diagnosis_(diagnosis) {}

  /// Tables about lines of a log come after all others, so that there only lower rungs count.
  void judge(Rung rung, const Rule& rule, bool log) {
    RuleOutcome outcome{rule.id, rule.holds, rung, RuleState::kNotReached};
    const bool behind = broken_ && (!log || *broken_ <= rung) && depends_on_chain(rung);
    const bool reached = !behind || rule.standing != Standing::kLink;
    if (reached) {
      Verdict verdict = rule.judge(machine_, catalog_);
      outcome.state = state_of(verdict);
      if (const auto* undecided = std::get_if<Undecided>(&verdict))
        outcome.missing = undecided->missing;
      collect(rung, rule, std::move(verdict));
    }
    if (is_skipped(rule)) outcome.state = RuleState::kSkipped;
    diagnosis_.rules.push_back(std::move(outcome));
  }

 private:
  bool is_skipped(const Rule& rule) const { return options_.skip.contains(rule.id); }

  static RuleState state_of(const Verdict& verdict) {
    if (std::holds_alternative<NotApplicable>(verdict)) return RuleState::kNotApplicable;
    if (std::holds_alternative<Undecided>(verdict)) return RuleState::kUndecided;
    if (std::holds_alternative<Fine>(verdict)) return RuleState::kFine;
    const auto* findings = std::get_if<std::vector<Finding>>(&verdict);
    return findings != nullptr && findings->empty() ? RuleState::kFine : RuleState::kFinding;
  }

  void collect(Rung rung, const Rule& rule, Verdict verdict) {
    if (const auto* undecided = std::get_if<Undecided>(&verdict)) {
      if (rule.standing != Standing::kAdvice && !is_skipped(rule)) add(rung, rule, *undecided);
    } else if (auto* finding = std::get_if<Finding>(&verdict)) {
      add(rung, rule, std::move(*finding));
    } else if (auto* findings = std::get_if<std::vector<Finding>>(&verdict)) {
      for (auto& one : *findings) add(rung, rule, std::move(one));
    }
  }

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
  const DiagnoseOptions& options_;
  Diagnosis& diagnosis_;
  std::optional<Rung> broken_;  ///< The lowest rung with an error.
};

// One file of rules about logs reads lines of one kind, which tell of faults of several rungs: the
// id says of which.
Rung rung_of(std::string_view id) {
  for (const auto rung : {Rung::kHost, Rung::kHardware, Rung::kDriver, Rung::kCuda,
                          Rung::kLibraries, Rung::kPython, Rung::kFramework, Rung::kWork})
    if (id.substr(0, id.find('.')) == name_of(rung)) return rung;
  return Rung::kSpeed;
}

void judge_all(const Machine& machine, const Catalog& catalog, const DiagnoseOptions& options,
               Diagnosis& diagnosis) {
  Judge judge(machine, catalog, options, diagnosis);
  for (const auto& table : all_rules()) {
    if (table.log && machine.events.empty()) continue;
    for (const auto& rule : table.rules)
      judge.judge(table.log ? rung_of(rule.id) : table.rung, rule, table.log);
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

// The ignore that speaks of this finding; one that counts before one whose day has passed.
const Ignore* ignore_of(const Finding& finding, const DiagnoseOptions& options) {
  const Ignore* found = nullptr;
  for (const auto& ignore : options.ignores) {
    if (ignore.id != finding.id) continue;
    if (!ignore.subject.empty() && !glob_match(ignore.subject, finding.subject)) continue;
    if (ignore.until.empty() || ignore.until >= options.today) return &ignore;
    found = &ignore;
  }
  return found;
}

// Takes out what the user does not want counted. The frameworks' answers stay what they are: an
// ignored cause still has its effect.
void set_aside(const DiagnoseOptions& options, Diagnosis& diagnosis) {
  std::erase_if(diagnosis.findings, [&](const Finding& f) { return options.skip.contains(f.id); });
  std::erase_if(diagnosis.findings, [&](const Finding& finding) {
    const Ignore* ignore = ignore_of(finding, options);
    if (ignore == nullptr) return false;
    const bool counts = ignore->until.empty() || ignore->until >= options.today;
    if (counts)
      diagnosis.ignored.push_back({finding, *ignore});
    else
      diagnosis.expired.push_back(*ignore);
    return counts;
  });
}

/// What --only leaves.
class Selection {
 public:
  Selection(const DiagnoseOptions& options, const std::vector<RuleOutcome>& rules)
      : options_(options), rungs_(options.only) {
    for (const auto& rule : rules)
      if (options.only_ids.contains(rule.id)) rungs_.insert(rule.rung);
  }

  /// Empty when all are wanted.
  const std::set<Rung>& rungs() const { return rungs_; }
  bool wants(Rung rung, const std::string& id) const {
    return rungs_.empty() || options_.only.contains(rung) || options_.only_ids.contains(id);
  }
  /// A rung of which single rules are wanted is judged by these alone.
  bool counts(Rung rung, const std::string& id) const {
    return !rungs_.contains(rung) || wants(rung, id);
  }

 private:
  const DiagnoseOptions& options_;
  std::set<Rung> rungs_;
};

template <class Keep>
void keep_if(Diagnosis& diagnosis, Keep keep) {
  std::erase_if(diagnosis.findings, [&](const Finding& f) { return !keep(f.rung, f.id); });
  std::erase_if(diagnosis.undecided, [&](const Undecision& u) { return !keep(u.rung, u.id); });
}

void keep_only(const Selection& selection, const DiagnoseOptions& options, Diagnosis& diagnosis) {
  const auto wants = [&](Rung rung, const std::string& id) { return selection.wants(rung, id); };
  keep_if(diagnosis, wants);
  std::erase_if(diagnosis.ignored,
                [&](const auto& i) { return !wants(i.finding.rung, i.finding.id); });
  std::erase_if(diagnosis.rules, [&](const RuleOutcome& r) { return !wants(r.rung, r.id); });
  const bool all = selection.rungs().empty();
  if (!all && !options.only.contains(Rung::kFramework)) diagnosis.frameworks.clear();
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
  judge_all(machine, catalog, options, diagnosis);
  if (options.text_alone) return finish_text(machine, std::move(diagnosis));
  doubt_what_was_cut_off(machine, diagnosis);
  forget_unknowns_above_errors(diagnosis);
  forget_what_a_run_answers(diagnosis);
  doubt_answers(diagnosis);
  set_aside(options, diagnosis);
  const Selection selection(options, diagnosis.rules);
  keep_if(diagnosis, [&](Rung rung, const std::string& id) { return selection.counts(rung, id); });
  diagnosis.rungs = climb(machine, catalog, diagnosis, selection.rungs());
  keep_only(selection, options, diagnosis);
  diagnosis.outcome = outcome_of(diagnosis);
  diagnosis.verdict = verdict_of(machine, catalog, diagnosis);
  return diagnosis;
}

}  // namespace gpuwright
