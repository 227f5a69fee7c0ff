#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/framework.h"
#include "diagnose/rule.h"
#include "machine/machine.h"

// What the rules of the framework rung share.

namespace gpuwright {

/// Asks `judge` about every framework and puts the answers together: findings win, then an unknown.
template <class Judge>
Verdict each_framework(const Machine& machine, Judge judge) {
  std::vector<Finding> findings;
  Undecided undecided;
  bool fine = false;
  for (const auto& framework : machine.frameworks) {
    Verdict verdict = judge(framework);
    if (auto* finding = std::get_if<Finding>(&verdict)) {
      finding->subject = label_of(framework);
      findings.push_back(std::move(*finding));
    } else if (auto* open = std::get_if<Undecided>(&verdict)) {
      std::move(open->missing.begin(), open->missing.end(), std::back_inserter(undecided.missing));
    } else if (std::holds_alternative<Fine>(verdict)) {
      fine = true;
    }
  }
  if (!findings.empty()) return findings;
  if (!undecided.missing.empty()) return undecided;
  return fine ? Verdict(Fine{}) : Verdict(NotApplicable{});
}

/// "/venv/bin/python -m pip", for commands that act on the very environment that was examined.
std::string pip(const Machine& machine);
bool in_conda(const Machine& machine);

/// A step that changes packages of the environment.
FixStep environment_step(std::string command, std::string text);
/// A step that changes a variable of the shell.
FixStep shell_step(std::string command, std::string text);

/// An environment variable that is set.
std::optional<std::string> variable(const Machine& machine, const char* name);

/// cuDNN that a build was made with: its own record, or the catalogue's row of the release.
std::optional<Version> cudnn_of_build(const Machine& machine, const Catalog& catalog,
                                      const Framework& framework);

/// "TensorFlow 2.21.0", for sentences.
std::string title(const Framework& framework);

}  // namespace gpuwright
