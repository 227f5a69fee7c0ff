#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/run_framework.h"

// An import that fails or crashes although every object of it would load.

namespace gpuwright {
namespace {

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
      user_step(python_word(machine) + " -X faulthandler -c 'import " + framework.name + "'",
                "shows the whole traceback", "nothing", "none needed"),
      environment_step(pip(machine) + " " + arguments, "mends the environment")};
  finding.certainty = known ? Certainty::kLikely : Certainty::kPossible;
  return finding;
}

}  // namespace

bool failed_in_import(const FrameworkRun& run) {
  if (run.result.starts_with("no answer")) return false;
  return run.result == "import failed" || run.result.find(" in import ") != std::string::npos ||
         run.result.starts_with("cannot be started") || run.result.starts_with("ended with");
}

Verdict import_succeeds(const Machine& machine, const Catalog& catalog) {
  if (machine.run.frameworks.empty()) return NotApplicable{};
  const Diagnosis predicted = predict(machine, catalog);
  return each_run(machine, [&](const Framework& framework, const FrameworkRun& run) -> Verdict {
    if (!failed_in_import(run)) return Fine{};
    if (import_was_doubted(framework, predicted)) return Fine{};
    return import_failed(machine, framework, run);
  });
}

}  // namespace gpuwright
