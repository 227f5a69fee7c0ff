#pragma once

#include <optional>
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
  std::string confidence;            ///< "high", "medium"
  std::vector<std::string> caveats;  ///< What remains unseen.
};

enum class Outcome { kRight, kProblems, kUndecided };

struct Undecision {
  std::string id;
  Rung rung = Rung::kHost;
  std::vector<Evidence> missing;
};

struct Diagnosis {
  Outcome outcome = Outcome::kUndecided;
  std::string verdict;            ///< The first line of the report.
  std::vector<RungResult> rungs;  ///< All of them, lowest first.
  /// Causes first: by rung, then severity; consequences are left out.
  std::vector<Finding> findings;
  std::vector<FrameworkAnswer> frameworks;
  std::vector<Undecision> undecided;  ///< Unknowns that leave the answer open.
};

struct DiagnoseOptions {
  /// Report this rung alone. Those below are judged all the same, so that a consequence is still
  /// told from a cause.
  std::optional<Rung> only;
  std::string framework;  ///< Judge this framework alone; empty for all.
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
/// All tables, lowest rung first; a rung may have several.
std::vector<RungRules> all_rules();

}  // namespace gpuwright
