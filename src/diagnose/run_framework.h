#pragma once

#include "diagnose/diagnose.h"
#include "diagnose/framework_rule.h"
#include "diagnose/run_answer.h"

// What the rules about a framework's run share (run_import.cpp, run_framework.cpp).

namespace gpuwright {

/// The diagnosis of the machine without what its frameworks did: the prediction.
Diagnosis predict(const Machine& machine, const Catalog& catalog);

/// The predicted answer about one framework; null when there is none.
const FrameworkAnswer* answer_of(const Diagnosis& predicted, const Framework& framework);

/// Asks `judge(framework, its run)` about each framework that was run.
template <class Judge>
Verdict each_run(const Machine& machine, Judge judge) {
  if (machine.run.frameworks.empty()) return NotApplicable{};
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const FrameworkRun* run = run_of(machine, framework);
    if (run == nullptr) return NotApplicable{};
    return judge(framework, *run);
  });
}

/// How the run ended, with the last line of its traceback.
Evidence result_of(const Machine& machine, const FrameworkRun& run);
/// The lines of standard error that came first: later ones are consequences.
void add_messages(const FrameworkRun& run, Finding& finding);
/// The interpreter that was examined, as a word of a command.
std::string python_word(const Machine& machine);

/// It did not come as far as the end of its import.
bool failed_in_import(const FrameworkRun& run);
/// The rule framework.import-fails-when-run.
Verdict import_succeeds(const Machine& machine, const Catalog& catalog);

}  // namespace gpuwright
