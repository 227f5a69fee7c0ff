#include "diagnose/run_framework.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/fix.h"

// What a framework did under `check --run` against what was predicted. The prediction is the
// diagnosis of the same machine without what its frameworks did.

namespace gpuwright {
namespace {

std::string what_was_predicted(const FrameworkAnswer& answer) {
  switch (answer.answer) {
    case Answer::kUses:
      return "predicted: uses " +
             (answer.gpus.empty() ? "the GPU" : "GPU " + join(answer.gpus, ", "));
    case Answer::kDoesNot:
      return "predicted: will not use the GPU, because " + answer.because;
    case Answer::kCannotTell:
      break;
  }
  return "predicted: cannot tell, because " + answer.because;
}

FixStep report_the_difference(const char* what) {
  return {.command = "gpuwright snapshot -o machine.json",
          .text = std::string(what) + ": a report with this file helps to mend the prediction",
          .changes = "writes machine.json",
          .undo = "rm machine.json"};
}

// ---------------------------------------------------------------------------------- no answer

Verdict answers_in_time(const Machine& machine, const Catalog&) {
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    if (!run.result.starts_with("no answer")) return Fine{};
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.statement = title(framework) + " gave " + printable(run.result);
    finding.evidence = {result_of(machine, run)};
    add_messages(run, finding);
    finding.cause =
        "a first import from a slow or network file system takes minutes; kernels that are "
        "compiled "
        "for a new GPU likewise; or a call into the driver hangs";
    finding.fix = {
        user_step("gpuwright check --run --run-timeout 600 --framework " + framework.name,
                  "waits longer; a second import is faster", "nothing", "none needed")};
    finding.certainty = Certainty::kPossible;
    return finding;
  });
}

// ----------------------------------------------------------------------- devices it has seen

Finding saw_none(const Machine& machine, const Framework& framework, const FrameworkRun& run,
                 const FrameworkAnswer& predicted) {
  Finding finding;
  const bool open = predicted.answer == Answer::kCannotTell;
  finding.statement =
      title(framework) + " saw no GPU when it was run" +
      (open ? "" : ", although nothing on this machine was found that keeps it from it");
  finding.evidence = {{what_was_predicted(predicted), "the files of this machine"},
                      result_of(machine, run)};
  add_messages(run, finding);
  finding.cause =
      run.messages.empty() && run.error.empty()
          ? "it says nothing itself; something that files do not show keeps it from the "
            "GPU"
          : "its own messages above name what it met first";
  const std::string verbose = framework.name == "tensorflow" ? "TF_CPP_MIN_LOG_LEVEL=0 "
                              : framework.name == "jax"
                                  ? "JAX_DEBUG_LOG_MODULES=jax._src.xla_bridge "
                                  : "";
  const std::string question =
      framework.name == "tensorflow"
          ? "import tensorflow as tf; print(tf.config.list_physical_devices(\"GPU\"))"
      : framework.name == "torch" ? "import torch; torch.cuda.init()"
                                  : "import jax; print(jax.devices(\"cuda\"))";
  finding.fix = {user_step(verbose + python_word(machine) + " -c '" + question + "'",
                           "says what it does, step by step", "nothing", "none needed"),
                 report_the_difference("when the cause is found")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

Finding works_after_all(const Machine& machine, const Framework& framework, const FrameworkRun& run,
                        const FrameworkAnswer& predicted) {
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement =
      title(framework) + " used the GPU when it was run, although this was predicted not to work";
  finding.evidence = {
      {what_was_predicted(predicted),
       predicted.finding_id.empty() ? "" : "finding " + predicted.finding_id},
      {"when run: devices " + fact_text(*run.devices) + "; matrix product " +
           fact_text(*run.matmul),
       machine.python.interpreter.is_known() ? machine.python.interpreter->path : ""}};
  finding.cause = "the prediction is wrong here, or the fault does not touch this framework";
  finding.fix = {report_the_difference("the run is right")};
  return finding;
}

Finding other_count(const FrameworkRun& run, const Framework& framework,
                    const FrameworkAnswer& predicted) {
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = title(framework) + " saw " + std::to_string(run.devices->size()) +
                      (run.devices->size() == 1 ? " GPU" : " GPUs") +
                      " when it was run, predicted were " + std::to_string(predicted.gpus.size());
  finding.evidence = {{what_was_predicted(predicted), "the files of this machine"},
                      {"when run: " + fact_text(*run.devices), run.devices.source()}};
  add_messages(run, finding);
  finding.cause =
      "a GPU that does not start is left out; TensorFlow leaves out GPUs that are much smaller "
      "than "
      "the best one, and those older than its code";
  finding.fix = {
      user_step("nvidia-smi -L", "the GPUs that the driver reaches", "nothing", "none needed"),
      report_the_difference("when all of them work")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

// WSL and some containers do not tell how many GPUs there are.
bool count_was_predicted(const Machine& machine, const FrameworkAnswer& predicted) {
  return predicted.answer == Answer::kUses && !predicted.gpus.empty() &&
         !gpus_are_divided(machine) && reachable_gpus(machine).count_known;
}

Verdict runs_as_predicted(const Machine& machine, const Catalog& catalog) {
  if (machine.run.frameworks.empty()) return NotApplicable{};
  const Diagnosis predicted = predict(machine, catalog);
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    const FrameworkAnswer* answer = answer_of(predicted, framework);
    if (answer == nullptr || run.result != "imported" || !run.devices.is_known())
      return NotApplicable{};
    if (run.devices->empty())
      return answer->answer == Answer::kDoesNot
                 ? Verdict(Fine{})
                 : Verdict(saw_none(machine, framework, run, *answer));
    if (answer->answer == Answer::kDoesNot && works(run))
      return works_after_all(machine, framework, run, *answer);
    if (count_was_predicted(machine, *answer) && answer->gpus.size() != run.devices->size())
      return other_count(run, framework, *answer);
    return Fine{};
  });
}

// ----------------------------------------------------------------------------- it computes

bool died_at_work(const FrameworkRun& run) {
  return run.result.starts_with("died of") && !failed_in_import(run);
}

/// Kinds of failing work by their text.
struct WorkFault {
  const char* mark;
  const char* cause;
};
constexpr WorkFault kWorkFaults[] = {
    {"out of memory", "the GPU's memory is full: another process, or a left-over one, holds it"},
    {"OUT_OF_MEMORY", "the GPU's memory is full: another process, or a left-over one, holds it"},
    {"RESOURCE_EXHAUSTED",
     "the GPU's memory is full: another process, or a left-over one, holds it"},
    {"no kernel image", "the build has no code for this GPU"},
    {"busy or unavailable", "the GPU is in exclusive compute mode and taken, or closed to compute"},
    {"uncorrectable ECC", "the GPU's memory is failing"},
    {"illegal memory access", "a fault of the GPU, of its driver, or of the build"},
    {"CUBLAS_STATUS_NOT_INITIALIZED", "cuBLAS does not start: most often the GPU's memory is full"},
    {"CUBLAS_STATUS", "cuBLAS fails: its version does not go with the driver or the build"},
    {"DNN library", "cuDNN does not start: its version does not go with the build"},
    {"libdevice", "the compiler's libdevice.10.bc is not found"},
    {"ptxas", "the compiler ptxas is missing or does not go with the build"},
};

void cite_memory(const Machine& machine, Finding& finding) {
  if (!machine.run.nvml.is_known()) return;
  for (const auto& gpu : machine.run.nvml->gpus)
    if (gpu.memory_used_bytes.is_known() && gpu.memory_total_bytes.is_known())
      finding.evidence.push_back({"GPU " + std::to_string(gpu.index) + ": " +
                                      std::to_string(*gpu.memory_used_bytes >> 20) + " of " +
                                      std::to_string(*gpu.memory_total_bytes >> 20) +
                                      " MiB used before it was run",
                                  "NVML"});
}

Finding work_failed(const Machine& machine, const Framework& framework, const FrameworkRun& run) {
  const std::string text = died_at_work(run) ? run.result : run.matmul.value_or("");
  Finding finding;
  finding.statement =
      title(framework) + " sees the GPU and cannot compute on it: " + printable(text);
  finding.evidence = {{"a product of two matrices of 64 x 64: " + printable(text),
                       run.matmul.is_known() ? run.matmul.source() : run.framework}};
  cite_memory(machine, finding);
  add_messages(run, finding);
  finding.cause = "driver, GPU and build do not work together, for a reason in the message";
  for (const auto& fault : kWorkFaults)
    if (text.find(fault.mark) != std::string::npos) {
      finding.cause = fault.cause;
      break;
    }
  finding.fix = {user_step("nvidia-smi", "who uses the GPU, and its memory, mode and errors",
                           "nothing", "none needed"),
                 root_step("sudo dmesg | grep -iE 'nvrm|xid' | tail", "what the driver met",
                           "nothing", "none needed")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

Verdict work_succeeds(const Machine& machine, const Catalog& catalog) {
  if (machine.run.frameworks.empty()) return NotApplicable{};
  const Diagnosis predicted = predict(machine, catalog);
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    const bool failed = run.matmul.is_known() && run.matmul->starts_with("failed");
    if (!failed && !died_at_work(run))
      return run.matmul.is_known() ? Verdict(Fine{}) : NotApplicable{};
    const FrameworkAnswer* answer = answer_of(predicted, framework);
    if (answer != nullptr && answer->answer == Answer::kDoesNot) return Fine{};
    return work_failed(machine, framework, run);
  });
}

// The numbers are small and whole, so that every format a GPU multiplies in holds them exactly.
Verdict result_is_right(const Machine& machine, const Catalog&) {
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    if (!run.matmul.is_known()) return NotApplicable{};
    if (!run.matmul->starts_with("wrong")) return Fine{};
    Finding finding;
    finding.statement =
        title(framework) + " computes wrongly on the GPU: " + printable(run.matmul->substr(0, 200));
    finding.evidence = {{"a product of two matrices of 64 x 64 with small whole numbers, exact in "
                         "every format: " +
                             printable(*run.matmul),
                         run.matmul.source()},
                        {"devices " + fact_text(run.devices.value_or({})), run.devices.source()}};
    finding.cause =
        "a failing GPU (memory or compute unit), an unstable overclock or power supply, "
        "or libraries that were not built for this GPU";
    finding.fix = {
        user_step("nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT",
                  "errors that the board has counted", "nothing", "none needed"),
        advice("do not train on this GPU; take it out of service, set clocks and power to "
               "the board's own, and have it exchanged when it stays so")};
    return finding;
  });
}

// --------------------------------------------------------------------------- files it mapped

// "libcudnn.so.9" and "/venv/.../libcudnn.so.9.1.0".
bool is_file_of(const std::string& path, const std::string& name) {
  const auto file = path_name(path);
  return file == name || (file.starts_with(name) && file[name.size()] == '.');
}

// The file that serves `name` in the process; empty when there is none.
std::string mapped_for(const FrameworkRun& run, const std::string& name) {
  for (const auto& path : run.libraries)
    if (is_file_of(path, name)) return path;
  return {};
}

bool is_mapped(const FrameworkRun& run, const std::string& path) {
  return std::find(run.libraries.begin(), run.libraries.end(), path) != run.libraries.end();
}

Verdict maps_as_predicted(const Machine& machine, const Catalog&) {
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    if (run.result != "imported" || run.libraries.empty()) return NotApplicable{};
    Finding finding;
    std::vector<std::string> names;
    for (const auto& library : framework.libraries) {
      if (library.state != "found" || is_mapped(run, library.real_path)) continue;
      const std::string other = mapped_for(run, library.name);
      if (other.empty() || std::find(names.begin(), names.end(), library.name) != names.end())
        continue;
      names.push_back(library.name);
      finding.evidence.push_back({library.name + " predicted: " + printable(library.real_path) +
                                      " (" + printable(library.rule) + ")",
                                  library.opener});
      finding.evidence.push_back(
          {library.name + " mapped: " + printable(other), "/proc/self/maps"});
    }
    if (names.empty()) return Fine{};
    finding.severity = Severity::kInfo;
    finding.statement =
        title(framework) + " maps another file than predicted for " + join(names, ", ");
    finding.cause =
        "something loaded its own copy first: a hook of site-packages, a package that the "
        "framework imports, or a search that the prediction does not follow";
    finding.fix = {report_the_difference("when the file that is mapped is the wrong one, or not")};
    return finding;
  });
}

constexpr Rule kRules[] = {
    {"framework.import-fails-when-run", "the import succeeds in a child process", import_succeeds,
     Standing::kOwn},
    {"framework.no-answer", "the framework answers in time", answers_in_time},
    {"framework.run-differs", "it sees the GPUs that were predicted", runs_as_predicted,
     Standing::kOwn},
    {"framework.compute-fails", "it multiplies two matrices on the GPU it sees", work_succeeds},
    {"framework.wrong-result", "the product is right", result_is_right, Standing::kOwn},
    {"framework.libraries-differ", "it maps the files that were predicted", maps_as_predicted,
     Standing::kAdvice},
};

}  // namespace

Diagnosis predict(const Machine& machine, const Catalog& catalog) {
  Machine before = machine;
  before.run.frameworks.clear();
  return diagnose(before, catalog);
}

const FrameworkAnswer* answer_of(const Diagnosis& predicted, const Framework& framework) {
  for (const auto& answer : predicted.frameworks)
    if (answer.framework == framework.name) return &answer;
  return nullptr;
}

Evidence result_of(const Machine& machine, const FrameworkRun& run) {
  const auto& python = machine.python.interpreter;
  return {
      "when run: " + printable(run.result) + (run.error.empty() ? "" : ", " + printable(run.error)),
      python.is_known() ? python->path : ""};
}

void add_messages(const FrameworkRun& run, Finding& finding) {
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < run.messages.size() && i < kMost; ++i)
    finding.evidence.push_back({printable(run.messages[i]), "standard error of " + run.framework});
}

std::string python_word(const Machine& machine) {
  const auto& python = machine.python.interpreter;
  return python.is_known() ? shell_word(python->path) : "python3";
}

std::span<const Rule> run_framework_rules() { return kRules; }

}  // namespace gpuwright
