#include <algorithm>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework_rule.h"
#include "diagnose/packages.h"
#include "diagnose/python_leaks.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// Which interpreter, whose packages: launchers, kernels, leaks, shadows.

namespace gpuwright {
namespace {

bool is_below(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

// ------------------------------------------------------------------------ environment

// bin/python of a virtual environment is a link: an upgrade of the system's Python from 3.10
// to 3.12 leaves the packages in lib/python3.10, where the new one does not look.
Verdict environment_is_of_this_python(const Machine& machine, const Catalog&) {
  const Python& python = machine.python;
  if (!python.interpreter.is_known() || python.interpreter->kind != "venv" ||
      python.sys_path.empty())
    return NotApplicable{};
  const auto& prefix = python.interpreter->prefix;
  const auto has_own = [&](const auto& entry) { return is_below(entry.path, prefix); };
  const auto tells = [&](const auto& text) { return text.find(prefix) != std::string::npos; };
  if (std::ranges::any_of(python.sys_path, has_own) ||
      std::ranges::any_of(python.path_unknowns, tells))
    return Fine{};
  const auto series = python_series(machine);
  if (series.empty()) return NotApplicable{};
  const auto site = path_join(prefix, "lib/python" + series + "/site-packages");
  Finding finding;
  finding.severity = machine.frameworks.empty() ? Severity::kError : Severity::kWarning;
  finding.subject = prefix;
  finding.statement = "the environment " + prefix + " was made for another Python than the " +
                      series + " that runs it now: " + site +
                      " is not there, and nothing installed in it is "
                      "found";
  finding.evidence = {cite("version of the interpreter", python.interpreter->version),
                      {site + " does not exist", "sys.path"}};
  finding.cause =
      "the system's Python was upgraded, or bin/python was changed; the packages stay in "
      "the directory of the old version";
  finding.fix = {{.command = "python" + series + " -m venv --clear " + shell_word(prefix),
                  .text = "makes it anew; keep a list of what was in it first (the names are in "
                          "lib/python*/site-packages)",
                  .needs_root = false,
                  .changes = "empties the environment",
                  .undo = "none: install the packages again"},
                 advice("or install the old Python beside the new one")};
  return finding;
}

// ------------------------------------------------------------------------------- pip

const Launcher* launcher(const Machine& machine, std::string_view command) {
  const auto& all = machine.python.launchers;
  if (!all.is_known()) return nullptr;
  const auto found = std::ranges::find(*all, command, &Launcher::command);
  return found == all->end() ? nullptr : &*found;
}

// The frameworks that were seen in an environment, whatever path it was listed under.
std::vector<std::string> frameworks_below(const Machine& machine, const std::string& prefix) {
  for (const auto& other : machine.python.others)
    if (!other.frameworks.empty() && is_below(other.path, prefix)) return other.frameworks;
  return {};
}

// Told where it explains something: the packages went into the environment of pip's Python, or the
// active environment has none. A uv environment without pip and a system with one are no fault.
Verdict pip_is_of_this_python(const Machine& machine, const Catalog&) {
  const auto& python = machine.python.interpreter;
  if (!python.is_known() || python->chosen_by == "--python") return NotApplicable{};
  const auto* pip_command = launcher(machine, "pip");
  if (pip_command == nullptr) pip_command = launcher(machine, "pip3");
  if (pip_command == nullptr || !pip_command->prefix.is_known()) return NotApplicable{};
  const auto& prefix = *pip_command->prefix;
  if (prefix == python->prefix) return Fine{};
  const auto there = frameworks_below(machine, prefix);
  const bool active = python->chosen_by != "PATH" && machine.frameworks.empty();
  if (there.empty() && !active) return Fine{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.subject = pip_command->path;
  finding.statement =
      "'" + pip_command->command + "' installs into " + prefix + ", and '" +
      std::string(path_name(python->path)) + "' runs " + python->prefix +
      (there.empty() ? ", which has no framework" : "; " + join(there, ", ") + " is in the former");
  finding.evidence = {{pip_command->command + " is " + pip_command->path, "PATH"},
                      {"its first line runs " + pip_command->interpreter.value_or("another Python"),
                       pip_command->path},
                      {"the Python here is " + python->path, python->chosen_by}};
  finding.cause = "the environment has no pip of its own, or another directory of PATH comes first";
  finding.fix = {environment_step(pip(machine) + " install PACKAGE",
                                  "the pip of this very Python ('No module named pip': 'python -m "
                                  "ensurepip' first, or 'uv pip install')")};
  return finding;
}

// --------------------------------------------------------------------------- notebooks

bool runs_here(const JupyterKernel& kernel, const Interpreter& python) {
  return kernel.prefix.is(python.prefix);
}

Finding gone_kernel(const JupyterKernel& kernel) {
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.subject = kernel.path;
  finding.statement = "the Jupyter kernel '" + kernel.name + "' starts " + kernel.program +
                      ", which is not there: notebooks with it do not start";
  finding.evidence = {{"argv[0] is " + kernel.program, kernel.path}};
  finding.cause = "its environment was removed, renamed or moved";
  finding.fix = {{.command = "jupyter kernelspec remove " + shell_word(kernel.name),
                  .text = "takes the entry away; choose another kernel in the notebook",
                  .needs_root = false,
                  .changes = "the list of kernels",
                  .undo = "python -m ipykernel install --user --name " + shell_word(kernel.name)}};
  return finding;
}

Finding no_kernel_here(const Machine& machine, const std::vector<JupyterKernel>& kernels) {
  const auto& python = *machine.python.interpreter;
  std::vector<std::string> names;
  for (const auto& framework : machine.frameworks) names.push_back(label_of(framework));
  Finding finding;
  finding.severity = Severity::kInfo;
  finding.subject = python.prefix;
  finding.statement = "no Jupyter kernel runs " + python.prefix + ", which has " +
                      join(names, ", ") + ": notebooks run another environment";
  for (const auto& kernel : kernels)
    if (finding.evidence.size() < 5)
      finding.evidence.push_back(
          {"kernel '" + kernel.name + "' runs " + kernel.prefix.value_or(kernel.program) + " (" +
               (kernel.frameworks.empty() ? "no framework" : join(kernel.frameworks, ", ")) + ")",
           kernel.path});
  finding.cause = "activating an environment does not make a kernel of it";
  const auto name = std::string(path_name(python.prefix));
  finding.fix = {environment_step(pip(machine) + " install ipykernel", "what a kernel needs"),
                 {.command = shell_word(python.path) + " -m ipykernel install --user --name " +
                             shell_word(name),
                  .text = "makes a kernel of this environment; choose it in the notebook",
                  .needs_root = false,
                  .changes = "a file in ~/.local/share/jupyter/kernels",
                  .undo = "jupyter kernelspec remove " + shell_word(name)}};
  return finding;
}

Verdict kernels_run_here(const Machine& machine, const Catalog&) {
  const auto& python = machine.python.interpreter;
  const auto& kernels = machine.python.kernels;
  if (!python.is_known() || !kernels.is_known() || kernels->empty()) return NotApplicable{};
  std::vector<Finding> findings;
  for (const auto& kernel : *kernels)
    if (kernel.prefix.is_absent() && findings.size() < 3) findings.push_back(gone_kernel(kernel));
  // A kernel that cannot be told may well be this environment's.
  const bool elsewhere = std::ranges::all_of(*kernels, [&](const auto& kernel) {
    return !kernel.prefix.is_unknown() && !runs_here(kernel, *python) && kernel.frameworks.empty();
  });
  const bool any_runs =
      std::ranges::any_of(*kernels, [](const auto& kernel) { return kernel.prefix.is_known(); });
  if (!machine.frameworks.empty() && elsewhere && any_runs)
    findings.push_back(no_kernel_here(machine, *kernels));
  return findings.empty() ? Verdict(Fine{}) : Verdict(findings);
}

// What a kernel.json sets holds for its notebooks, and the shell does not show it.
std::string hiding_variable(const JupyterKernel& kernel) {
  const auto value = [&](const char* name) -> std::optional<std::string> {
    const auto found = kernel.variables.find(name);
    return found == kernel.variables.end() ? std::nullopt : std::optional(found->second);
  };
  const auto devices = value("CUDA_VISIBLE_DEVICES");
  if (devices &&
      (trim(*devices).empty() || trim(*devices).starts_with('-') || lower(*devices) == "none"))
    return "CUDA_VISIBLE_DEVICES";
  if (const auto platforms = value("JAX_PLATFORMS"); platforms && trim(*platforms) == "cpu")
    return "JAX_PLATFORMS";
  return "";
}

Verdict kernels_see_gpus(const Machine& machine, const Catalog&) {
  const auto& kernels = machine.python.kernels;
  if (!kernels.is_known()) return NotApplicable{};
  std::vector<Finding> findings;
  for (const auto& kernel : *kernels) {
    const auto name = hiding_variable(kernel);
    if (name.empty() || (kernel.frameworks.empty() && !kernel.prefix.is_unknown())) continue;
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.subject = kernel.path;
    finding.statement = "the Jupyter kernel '" + kernel.name + "' sets " + name + "='" +
                        printable(kernel.variables.at(name)) + "': its notebooks see no GPU";
    finding.evidence = {{"env of kernel.json", kernel.path}};
    finding.cause = "whoever made the kernel wanted one without a GPU, or copied one";
    finding.fix = {advice("take " + name + " out of \"env\" in " + kernel.path +
                          " and restart the kernel, or choose another one")};
    findings.push_back(std::move(finding));
  }
  return findings.empty() ? Verdict(Fine{}) : Verdict(findings);
}

// ------------------------------------------------------------------------------ wheels

bool has_gpu(const Machine& machine) {
  const auto& gpus = machine.hardware.gpus;
  return has_gpu_node(machine) == Tristate::kYes || (gpus.is_known() && !gpus->empty());
}

// The newest TensorFlow with wheels for this Python.
std::optional<Version> release_for(const Catalog& catalog, const Version& series) {
  for (auto minor = catalog.newest_tensorflow().minor_part(); minor > 0; --minor) {
    const auto release = catalog.tensorflow(Version::of("2." + std::to_string(minor)));
    if (release && release->python_min && release->python_max && *release->python_min <= series &&
        series <= *release->python_max)
      return release->version;
  }
  return std::nullopt;
}

FixStep environment_with(const std::string& series) {
  return {.command = "uv venv --python " + series + " .venv",
          .text = "an environment with another Python (conda: conda create -n gpu python=" +
                  series + ")",
          .needs_root = false,
          .changes = "a new directory .venv",
          .undo = "rm -r .venv"};
}

// pip answers 'No matching distribution found' and says nothing about the version of Python, or
// installs a release of years ago without a word.
Verdict has_wheels(const Machine& machine, const Catalog& catalog) {
  const auto& python = machine.python.interpreter;
  const auto series = Version::parse(python_series(machine));
  if (!series || !python.is_known() || python->chosen_by == "PATH" || !machine.frameworks.empty() ||
      !has_gpu(machine))
    return NotApplicable{};
  // Who has one elsewhere asks about that one.
  if (std::ranges::any_of(machine.python.others,
                          [](const auto& other) { return !other.frameworks.empty(); }))
    return NotApplicable{};
  const auto newest = catalog.tensorflow(catalog.newest_tensorflow());
  if (!newest || !newest->python_min || !newest->python_max) return NotApplicable{};
  const bool too_new = *series > *newest->python_max;
  if (!too_new && *series >= *newest->python_min) return Fine{};
  const auto older = release_for(catalog, *series);
  const std::string range = newest->python_min->text() + " to " + newest->python_max->text();
  Finding finding;
  finding.severity = Severity::kInfo;
  finding.subject = python->path;
  finding.statement = "this environment has Python " + series->text() + ", and TensorFlow " +
                      newest->version.text() + " has wheels for Python " + range + ": pip " +
                      (older ? "installs TensorFlow " + older->text() + ", the last one for it"
                             : "finds none and says 'No matching distribution found'");
  finding.evidence = {
      cite("version of the interpreter", python->version),
      {"TensorFlow " + newest->version.text() + " is for Python " + range, "catalogue"}};
  finding.cause = too_new ? "the distribution's Python is newer than the framework's last release"
                          : "the distribution's Python is older than what frameworks support now";
  finding.fix = {environment_with(newest->python_max->text())};
  return finding;
}

constexpr Rule kRules[] = {
    {"python.venv-of-other-python", "the environment is made for the Python that runs it",
     environment_is_of_this_python, Standing::kOwn},
    {"python.pip-of-other-python", "pip installs into the environment that python runs",
     pip_is_of_this_python, Standing::kAdvice},
    {"python.kernel-elsewhere", "Jupyter's kernels start, and one runs this environment",
     kernels_run_here, Standing::kAdvice},
    {"python.kernel-hides-gpu", "no Jupyter kernel hides the GPUs", kernels_see_gpus,
     Standing::kAdvice},
    {"python.user-site-shadows", "packages of ~/.local do not come before the environment's",
     user_site_stays_out, Standing::kAdvice},
    {"python.pythonpath-leaks", "PYTHONPATH brings no packages of another Python or environment",
     pythonpath_stays_out, Standing::kOwn},
    {"python.module-shadowed", "no file has the name of a module that a framework imports",
     modules_are_themselves, Standing::kAdvice},
    {"python.no-wheels", "the frameworks have wheels for this Python", has_wheels,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> python_environment_rules() { return kRules; }

}  // namespace gpuwright
