#include "diagnose/verdict.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/framework.h"
#include "diagnose/gpu.h"
#include "diagnose/ladder.h"
#include "diagnose/setting.h"

namespace gpuwright {
namespace {

std::string label(const FrameworkAnswer& answer) {
  return answer.framework + (answer.version.empty() ? "" : " " + answer.version);
}

// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  if (names.size() == 1) return names.front();
  const std::vector<std::string> first(names.begin(), names.end() - 1);
  return join(first, ", ") + " and " + names.back();
}

std::vector<std::string> labels(const Diagnosis& diagnosis, Answer answer) {
  std::vector<std::string> found;
  for (const auto& one : diagnosis.frameworks)
    if (one.answer == answer) found.push_back(label(one));
  return found;
}

// "1 GPU (NVIDIA H200)": those that a process here reaches and CUDA_VISIBLE_DEVICES leaves. WSL
// shows neither number nor names.
std::string gpus_used(const Machine& machine, const Catalog& catalog) {
  if (is_wsl(machine)) return "the GPU of Windows";
  const auto reachable = reachable_gpus(machine);
  const auto visible = visible_gpus(machine);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reachable.gpus.size(); ++i) {
    const bool left = visible.state == VisibleDevices::State::kAll ||
                      std::find(visible.gpus.begin(), visible.gpus.end(), i) != visible.gpus.end();
    if (left) names.push_back(gpu_name(machine, catalog, reachable.gpus[i]));
  }
  return std::to_string(names.size()) + (names.size() == 1 ? " GPU (" : " GPUs (") +
         counted_names(names) + ")";
}

// "; 2 ignored", so that "all right" never hides what somebody decided to live with.
std::string ignored(const Diagnosis& diagnosis) {
  const auto count = diagnosis.ignored.size();
  return count == 0 ? "" : "; " + std::to_string(count) + " ignored";
}

// "; 2 warnings", for a verdict that has not named them.
std::string warnings(const Diagnosis& diagnosis) {
  const auto count =
      std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                    [](const Finding& finding) { return finding.severity == Severity::kWarning; });
  if (count == 0) return "";
  return "; " + std::to_string(count) + (count == 1 ? " warning" : " warnings");
}

// What the frameworks will do, without a full stop; empty when there is none.
std::string answers(const Machine& machine, const Catalog& catalog, const Diagnosis& diagnosis) {
  std::vector<std::string> pieces;
  if (const auto uses = labels(diagnosis, Answer::kUses); !uses.empty())
    pieces.push_back(listed(uses) + " will use " + gpus_used(machine, catalog));
  if (const auto not_used = labels(diagnosis, Answer::kDoesNot); !not_used.empty())
    pieces.push_back(listed(not_used) + " will not use a GPU");
  if (const auto open = labels(diagnosis, Answer::kCannotTell); !open.empty())
    pieces.push_back(listed(open) + " cannot be judged");
  return join(pieces, "; ");
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

std::string right_verdict(const Machine& machine, const Catalog& catalog,
                          const Diagnosis& diagnosis) {
  const auto text = answers(machine, catalog, diagnosis);
  if (!text.empty()) return "All right: " + text + warnings(diagnosis) + ignored(diagnosis) + ".";
  const auto names = gpu_names(machine, catalog);
  std::string verdict = "All right up to CUDA" + (names.empty() ? "" : ": " + names);
  if (machine.driver.module_version.is_known())
    verdict += ", driver " + machine.driver.module_version->text();
  verdict += machine.python.interpreter.is_known()
                 ? "; no deep-learning framework is in " + machine.python.interpreter->path
                 : "; no Python environment was examined";
  return verdict + warnings(diagnosis) + ignored(diagnosis) + ".";
}

std::string problem_verdict(const Machine& machine, const Catalog& catalog,
                            const Diagnosis& diagnosis) {
  const auto rung = lowest_broken(diagnosis.findings);
  const auto& findings = diagnosis.findings;
  const auto first = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.severity == Severity::kError && finding.rung == rung;
  });
  std::string verdict =
      first->id == "hardware.no-gpu"
          ? capitalised(first->statement)
          : "Broken at " + std::string(name_of(first->rung)) + ": " + first->statement;
  const auto more =
      std::count_if(findings.begin(), findings.end(),
                    [](const Finding& finding) { return finding.severity == Severity::kError; }) -
      1;
  if (more > 0) verdict += " (and " + std::to_string(more) + " more)";
  const auto works = labels(diagnosis, Answer::kUses);
  if (!works.empty()) verdict += "; " + listed(works) + " will use " + gpus_used(machine, catalog);
  return verdict + ".";
}

std::string undecided_verdict(const Diagnosis& diagnosis) {
  for (const auto& answer : diagnosis.frameworks)
    if (answer.answer == Answer::kCannotTell && !answer.because.empty())
      return "Cannot tell whether " + label(answer) + " will use a GPU: " + answer.because + ".";
  // Whether there is a GPU comes first for the reader, what kind of host this is does not.
  const auto& undecided = diagnosis.undecided;
  auto first = std::find_if(undecided.begin(), undecided.end(),
                            [](const auto& one) { return one.rung != Rung::kHost; });
  if (first == undecided.end()) first = undecided.begin();
  if (first == undecided.end() || first->missing.empty()) return "Cannot tell.";
  const Evidence& missing = first->missing.front();
  return "Cannot tell: " + missing.text +
         (missing.source.empty() ? "" : " (" + missing.source + ")") + ".";
}

// A rung that was reported alone and does not work for a reason below it.
std::string follows_verdict(const RungResult& rung) {
  return std::string("Nothing of its own is wrong with ") + name_of(rung.rung) +
         ", but it cannot work: " + name_of(*rung.because) + " is broken.";
}

const RungResult* following(const Diagnosis& diagnosis) {
  for (const auto& rung : diagnosis.rungs)
    if (rung.state == RungState::kFollows) return &rung;
  return nullptr;
}

}  // namespace

Outcome outcome_of(const Diagnosis& diagnosis) {
  if (lowest_broken(diagnosis.findings) || following(diagnosis) != nullptr)
    return Outcome::kProblems;
  const bool open = std::any_of(diagnosis.frameworks.begin(), diagnosis.frameworks.end(),
                                [](const auto& a) { return a.answer == Answer::kCannotTell; });
  return open || !diagnosis.undecided.empty() ? Outcome::kUndecided : Outcome::kRight;
}

std::string verdict_of(const Machine& machine, const Catalog& catalog, const Diagnosis& diagnosis) {
  switch (diagnosis.outcome) {
    case Outcome::kRight:
      return right_verdict(machine, catalog, diagnosis);
    case Outcome::kProblems:
      return lowest_broken(diagnosis.findings) ? problem_verdict(machine, catalog, diagnosis)
                                               : follows_verdict(*following(diagnosis));
    case Outcome::kUndecided:
      break;
  }
  return undecided_verdict(diagnosis);
}

}  // namespace gpuwright
