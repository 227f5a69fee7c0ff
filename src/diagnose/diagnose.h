#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/finding.h"
#include "diagnose/rule.h"
#include "machine/machine.h"

namespace gpuwright {

enum class RungState {
  kRight,          ///< Everything looked at is as it should be.
  kBroken,         ///< An error whose cause lies here.
  kFollows,        ///< Does not work because a lower rung is broken.
  kUnknown,        ///< Something that would decide could not be read.
  kNotApplicable,  ///< Nothing of the kind is here: no Python, no framework.
  kNotJudged,      ///< This command does not look at it (work, speed), or --only left it out.
};

struct RungResult {
  Rung rung = Rung::kHost;
  RungState state = RungState::kUnknown;
  std::string summary{};          ///< One line: "driver 550.54.15, open module, 2 GPUs".
  std::optional<Rung> because{};  ///< For kFollows: the rung that is broken.
};

enum class Answer { kUses, kDoesNot, kCannotTell };

/// Whether one framework will use the GPU.
struct FrameworkAnswer {
  std::string framework;  ///< "tensorflow"
  std::string version;    ///< "2.21.0"; empty when unknown.
  Answer answer = Answer::kCannotTell;
  std::vector<std::string> gpus;     ///< For kUses: "0 (NVIDIA H200, 0000:00:06.0)".
  std::string because;               ///< For the other two: one sentence.
  std::string finding_id;            ///< Of the finding that decides; empty otherwise.
  std::string confidence;            ///< "high", "medium", "confirmed" (by a run)
  std::vector<std::string> caveats;  ///< What remains unseen.
};

enum class Outcome { kRight, kProblems, kUndecided };

struct Undecision {
  std::string id;
  Rung rung = Rung::kHost;
  std::vector<Evidence> missing;
};

/// How one rule ended. What it found stands in `findings`.
enum class RuleState {
  kFine,
  kFinding,        ///< It found something; one that is ignored counts here too.
  kUndecided,      ///< A fact that would decide is unknown.
  kNotApplicable,  ///< The question does not arise on this machine.
  kNotReached,     ///< A broken rung below leaves nothing to judge.
  kSkipped,        ///< The user left it out.
};

struct RuleOutcome {
  const char* id = "";
  const char* holds = "";  ///< Of the rule's row: what is true on a sound machine.
  Rung rung = Rung::kHost;
  RuleState state = RuleState::kNotApplicable;
  std::vector<Evidence> missing{};  ///< For kUndecided.
};

/// A finding that somebody has looked at and decided to live with.
struct Ignore {
  std::string id;
  std::string subject;  ///< Shell pattern of the finding's subject; empty for every one.
  std::string until;    ///< Last day on which it counts, "2026-12-31"; empty for always.
  std::string reason;
  std::string place;  ///< Where it is written: "/etc/gpuwright/ignore:3".
};

struct IgnoredFinding {
  Finding finding;
  Ignore ignore;
};

struct Diagnosis {
  Outcome outcome = Outcome::kUndecided;
  std::string verdict;            ///< The first line of the report.
  std::vector<RungResult> rungs;  ///< All of them, lowest first.
  /// Causes first: by rung, then severity; consequences are left out.
  std::vector<Finding> findings;
  std::vector<FrameworkAnswer> frameworks;
  std::vector<Undecision> undecided;    ///< Unknowns that leave the answer open.
  std::vector<IgnoredFinding> ignored;  ///< Not among `findings`; count for nothing.
  std::vector<Ignore> expired;          ///< Would have counted, had their day not passed.
  std::vector<RuleOutcome> rules;       ///< Of every rule that was asked for, in order of judging.
};

struct DiagnoseOptions {
  /// Report these rungs and rules alone; all when both are empty. Those below are judged all the
  /// same, so that a consequence is still told from a cause.
  std::set<Rung> only{};
  std::set<std::string> only_ids{};
  std::string framework{};       ///< Judge this framework alone; empty for all.
  std::set<std::string> skip{};  ///< Ids of rules whose findings and unknowns are left out.
  std::vector<Ignore> ignores{};
  std::string today{};  ///< "2026-11-30"; empty where no ignore ends.
  /// The machine is known from a text alone: facts that it does not tell leave nothing open, and no
  /// rung is said to be right.
  bool text_alone = false;
};

/// Judges the machine. Pure: the same machine and catalogue give the same diagnosis.
Diagnosis diagnose(const Machine& machine, const Catalog& catalog,
                   const DiagnoseOptions& options = {});

/// A table of rules and the rung it belongs to.
struct RungRules {
  Rung rung;
  std::span<const Rule> rules;
  bool log = false;  ///< About lines of text: judged where there are any.
};
/// All tables in the order of judging, lowest rung first but for what was run.
std::vector<RungRules> all_rules();

}  // namespace gpuwright
