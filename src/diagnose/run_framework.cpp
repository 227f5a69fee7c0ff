#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/diagnose.h"
#include "diagnose/fix.h"
#include "diagnose/framework_rule.h"
#include "diagnose/run_answer.h"

// What a framework did under `check --run` against what was predicted. The prediction is the
// diagnosis of the same machine without what its frameworks did.

namespace gpuwright {
namespace {

struct Predicted {
  Diagnosis diagnosis;
  const FrameworkAnswer* answer_of(const Framework& framework) const {
    for (const auto& answer : diagnosis.frameworks)
      if (answer.framework == framework.name) return &answer;
    return nullptr;
  }
};

Predicted predict(const Machine& machine, const Catalog& catalog) {
  Machine before = machine;
  before.run.frameworks.clear();
  return {diagnose(before, catalog)};
}

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

Evidence result_of(const Machine& machine, const FrameworkRun& run) {
  const auto& python = machine.python.interpreter;
  return {
      "when run: " + printable(run.result) + (run.error.empty() ? "" : ", " + printable(run.error)),
      python.is_known() ? python->path : ""};
}

// The lines of standard error that came first: later ones are consequences.
void add_messages(const FrameworkRun& run, Finding& finding) {
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < run.messages.size() && i < kMost; ++i)
    finding.evidence.push_back({printable(run.messages[i]), "standard error of " + run.framework});
}

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

// -------------------------------------------------------------------------------- the import

// Faults of a framework that an import does not notice. Every other one, of whatever rung above
// cuda, is taken to explain an import that fails.
constexpr std::array<std::string_view, 12> kLeaveTheImport = {"framework.cpu-build",
                                                              "framework.devices-hidden",
                                                              "framework.platform-forced",
                                                              "framework.driver-library-not-found",
                                                              "framework.driver-library-differs",
                                                              "framework.driver-too-old",
                                                              "framework.nvml-missing",
                                                              "framework.libraries-missing",
                                                              "framework.no-code-for-gpu",
                                                              "framework.only-ptx-for-gpu",
                                                              "framework.plugin-version",
                                                              "framework.cudnn-too-old"};

bool import_was_doubted(const Framework& framework, const Diagnosis& predicted) {
  if (!framework.import_problems.empty()) return true;
  return std::any_of(
      predicted.findings.begin(), predicted.findings.end(), [&](const Finding& finding) {
        const bool concerns = finding.subject.empty() || finding.subject == label_of(framework);
        const bool above = finding.rung == Rung::kPython || finding.rung == Rung::kLibraries ||
                           finding.rung == Rung::kFramework;
        return finding.severity == Severity::kError && concerns && above &&
               std::find(kLeaveTheImport.begin(), kLeaveTheImport.end(), finding.id) ==
                   kLeaveTheImport.end();
      });
}

/// Kinds of import errors by their text.
struct ImportFault {
  const char* mark;
  const char* cause;
  const char* fix;  ///< What follows "pip"; empty: install the framework anew.
};
constexpr ImportFault kImportFaults[] = {
    {"SIGILL",
     "the build uses instructions that this CPU, or what the virtual machine shows of it, does not "
     "have",
     ""},
    {"No module named", "a package that it imports is not installed in this environment", ""},
    {"NumPy 1.x", "it was built for NumPy 1 and NumPy 2 is installed", "install 'numpy<2'"},
    {"_ARRAY_API", "it was built for another major version of NumPy", "install 'numpy<2'"},
    {"numpy.core.multiarray", "NumPy is broken or of a version that it was not built for",
     "install --force-reinstall numpy"},
    {"GLIBCXX_", "it needs a newer libstdc++.so.6 than the one this process maps", ""},
    {"GLIBC_", "it needs a newer C library than this distribution has", ""},
    {"cannot open shared object file", "a library that it is linked against is not found", ""},
    {"undefined symbol", "one of its libraries is of another version than it was built with", ""},
    {"circular import", "a file of the same name hides a module, or the installation is half", ""},
    {"Protobuf", "protobuf is of a version that it does not go with", "check"},
    {"Descriptors cannot be created", "protobuf is too new for it", "check"},
};

bool failed_in_import(const FrameworkRun& run) {
  if (run.result.starts_with("no answer")) return false;
  return run.result == "import failed" || run.result.find(" in import ") != std::string::npos ||
         run.result.starts_with("cannot be started") || run.result.starts_with("ended with");
}

Finding import_failed(const Machine& machine, const Framework& framework, const FrameworkRun& run) {
  Finding finding;
  const std::string text = run.error.empty() ? run.result : run.error;
  finding.statement =
      title(framework) + " could not be imported when it was run: " + printable(text);
  finding.evidence = {result_of(machine, run),
                      {"predicted: all objects of the import load", framework.location}};
  add_messages(run, finding);
  const std::string all = run.result + "\n" + run.error;
  const auto* fault =
      std::find_if(std::begin(kImportFaults), std::end(kImportFaults),
                   [&](const auto& row) { return all.find(row.mark) != std::string::npos; });
  const bool known = fault != std::end(kImportFaults);
  finding.cause = known ? fault->cause
                        : "something in the environment that files alone do not show: a hook of "
                          "site-packages, a half installed package, a package of another version";
  const std::string name = framework.distribution.empty() ? framework.name : framework.distribution;
  const std::string arguments =
      known && *fault->fix != '\0' ? fault->fix : "install --force-reinstall " + shell_word(name);
  if (all.find("SIGILL") != std::string::npos)
    finding.evidence.push_back(cite("CPU", machine.host.cpu_model));
  finding.fix = {
      user_step(shell_word(machine.python.interpreter.is_known() ? machine.python.interpreter->path
                                                                 : "python3") +
                    " -X faulthandler -c 'import " + framework.name + "'",
                "shows the whole traceback", "nothing", "none needed"),
      environment_step(pip(machine) + " " + arguments, "mends the environment")};
  finding.certainty = known ? Certainty::kLikely : Certainty::kPossible;
  return finding;
}

Verdict import_succeeds(const Machine& machine, const Catalog& catalog) {
  if (machine.run.frameworks.empty()) return NotApplicable{};
  const Predicted predicted = predict(machine, catalog);
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    if (!failed_in_import(run)) return Fine{};
    if (import_was_doubted(framework, predicted.diagnosis)) return Fine{};
    return import_failed(machine, framework, run);
  });
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
  const std::string python =
      machine.python.interpreter.is_known() ? machine.python.interpreter->path : "python3";
  const std::string question =
      framework.name == "tensorflow"
          ? "import tensorflow as tf; print(tf.config.list_physical_devices(\"GPU\"))"
      : framework.name == "torch" ? "import torch; torch.cuda.init()"
                                  : "import jax; print(jax.devices(\"cuda\"))";
  finding.fix = {user_step(verbose + shell_word(python) + " -c '" + question + "'",
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
  const Predicted predicted = predict(machine, catalog);
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    const FrameworkAnswer* answer = predicted.answer_of(framework);
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
  const Predicted predicted = predict(machine, catalog);
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    const bool failed = run.matmul.is_known() && run.matmul->starts_with("failed");
    if (!failed && !died_at_work(run))
      return run.matmul.is_known() ? Verdict(Fine{}) : NotApplicable{};
    const FrameworkAnswer* answer = predicted.answer_of(framework);
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

std::span<const Rule> run_framework_rules() { return kRules; }

}  // namespace gpuwright
