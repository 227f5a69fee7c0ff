#include "diagnose/run_answer.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {

const FrameworkRun* run_of(const Machine& machine, const Framework& framework) {
  for (const auto& run : machine.run.frameworks)
    if (run.framework == framework.name) return &run;
  return nullptr;
}

bool works(const FrameworkRun& run) {
  return run.result == "imported" && run.devices.is_known() && !run.devices->empty() &&
         run.matmul.is("right");
}

bool gpus_are_divided(const Machine& machine) {
  if (machine.driver.mps_daemon.is(true)) return true;  // its server decides who sees what
  if (machine.driver.mig.is_known())
    for (const auto& gpu : *machine.driver.mig)
      if (gpu.gpu_instances > 0) return true;
  if (!machine.run.nvml.is_known()) return false;
  const auto& gpus = machine.run.nvml->gpus;
  return std::any_of(gpus.begin(), gpus.end(), [](const NvmlGpu& gpu) { return gpu.mig.is(true); });
}

void apply_run(const Machine& machine, const Framework& framework, FrameworkAnswer& answer) {
  const FrameworkRun* run = run_of(machine, framework);
  if (run == nullptr) return;
  if (works(*run)) {
    const bool same = answer.answer == Answer::kUses && answer.gpus.size() == run->devices->size();
    if (!same) {
      answer.gpus.clear();
      for (const auto& device : *run->devices) answer.gpus.push_back(printable(device));
    }
    answer.answer = Answer::kUses;
    answer.because.clear();
    answer.finding_id.clear();
    answer.confidence = kConfirmed;
    answer.caveats.clear();
  } else if (run->result.starts_with("no answer")) {
    answer.caveats.push_back("when run it gave " + printable(run->result));
  } else if (answer.answer == Answer::kDoesNot) {
    // A run that ended in the import says nothing about what would have come after it.
    const bool seen =
        run->devices.is_known() || answer.finding_id.find(".import-") != std::string::npos;
    if (seen) answer.confidence = kConfirmed;
  }
}

void forget_what_a_run_answers(Diagnosis& diagnosis) {
  const bool working = std::any_of(
      diagnosis.frameworks.begin(), diagnosis.frameworks.end(), [](const FrameworkAnswer& answer) {
        return answer.answer == Answer::kUses && answer.confidence == kConfirmed;
      });
  if (working)
    std::erase_if(diagnosis.undecided, [](const Undecision& u) { return u.rung <= Rung::kCuda; });
}

}  // namespace gpuwright
