#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"

namespace gpuwright {
namespace {

FixStep check_with(const std::string& python) {
  return user_step("gpuwright check --python " + shell_word(python), "examines that environment",
                   "nothing", "none needed");
}

// A machine that only trains by other means, or a host of containers, needs none.
Verdict has_interpreter(const Machine& machine, const Catalog&) {
  const auto& interpreter = machine.python.interpreter;
  if (interpreter.is_known()) return Fine{};
  if (interpreter.is_unknown()) return Undecided{{cite("Python interpreter", interpreter)}};
  std::vector<FixStep> fix;
  for (const auto& other : machine.python.others) fix.push_back(check_with(other.path));
  if (fix.empty()) fix.push_back(check_with("/path/to/python"));
  return Finding{
      .severity = Severity::kInfo,
      .statement = "no Python interpreter was found, so no framework was examined",
      .evidence = {cite("Python interpreter", interpreter)},
      .cause = "none is on PATH and no environment is active (VIRTUAL_ENV, CONDA_PREFIX)",
      .fix = std::move(fix),
  };
}

Verdict has_glibc(const Machine& machine, const Catalog&) {
  const auto& interpreter = machine.python.interpreter;
  if (!interpreter.is_known() || interpreter->libc.is_absent()) return NotApplicable{};
  const auto& libc = interpreter->libc;
  if (!libc.is_known()) return Undecided{{cite("libc of the interpreter", libc)}};
  if (*libc != "musl") return Fine{};
  return Finding{
      .severity = Severity::kWarning,
      .subject = interpreter->path,
      .statement =
          "this Python is built on musl, and neither the frameworks' wheels nor NVIDIA's "
          "driver libraries load without glibc",
      .evidence = {cite("libc of the interpreter", libc)},
      .cause = "the distribution is Alpine or another one on musl, often a slim container image",
      .fix = {advice(
          "take an image on glibc, such as python:3.12-slim or one of the framework's own")},
  };
}

// Why the environment with the frameworks is not the one that was examined.
std::string why_elsewhere(const Machine& machine, std::vector<FixStep>& fix) {
  const auto& python = *machine.python.interpreter;
  if (machine.host.sudo_user.is_known() && python.chosen_by == "PATH") {
    fix.push_back(
        advice("run it without sudo: GPU work needs no root; or name the environment's own "
               "python after sudo, with its full path"));
    return "this runs under sudo, which takes a PATH of its own and drops VIRTUAL_ENV and "
           "CONDA_PREFIX: the environment that was active is not any more";
  }
  const auto& variables = machine.cuda.variables;
  const auto name = variables.find("CONDA_DEFAULT_ENV");
  if (name != variables.end() && name->second == "base" && python.chosen_by == "CONDA_PREFIX") {
    fix.push_back(user_step("conda activate NAME", "the environment with the framework",
                            "this shell", "conda deactivate"));
    return "conda's base environment is active, which every new shell starts with";
  }
  return "the environment with the frameworks is not the active one";
}

// People install into one environment and run in another; the usual signs are a ModuleNotFoundError
// and a notebook that differs from the terminal.
Verdict frameworks_are_here(const Machine& machine, const Catalog&) {
  const Python& python = machine.python;
  if (!python.interpreter.is_known()) return NotApplicable{};
  if (!machine.frameworks.empty()) return Fine{};
  std::vector<Evidence> evidence;
  std::vector<FixStep> fix;
  for (const auto& other : python.others) {
    if (other.frameworks.empty()) continue;
    evidence.push_back({other.kind + " with " + join(other.frameworks, ", "), other.path});
    fix.push_back(check_with(other.path));
  }
  if (evidence.empty()) return NotApplicable{};
  const auto cause = why_elsewhere(machine, fix);
  const std::string where = evidence.front().source;
  const std::string what = evidence.front().text;
  return Finding{
      .severity = Severity::kInfo,
      .subject = python.interpreter->path,
      .statement =
          python.interpreter->path + " has no deep-learning framework; " + where + " does: " + what,
      .evidence = std::move(evidence),
      .cause = cause,
      .fix = std::move(fix),
  };
}

constexpr Rule kRules[] = {
    {"python.none", "there is a Python interpreter", has_interpreter, Standing::kAdvice},
    {"python.musl", "the interpreter is built on glibc", has_glibc, Standing::kAdvice},
    {"python.frameworks-elsewhere", "the frameworks are in the environment that is examined",
     frameworks_are_here, Standing::kAdvice},
};

}  // namespace

std::span<const Rule> python_rules() { return kRules; }

}  // namespace gpuwright
