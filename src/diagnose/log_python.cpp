#include <algorithm>

#include "base/text.h"
#include "base/version.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"

// What pip, conda and failing imports say about the packages of an environment.

namespace gpuwright {
namespace {

FixStep package_step(std::string command, std::string text) {
  return user_step(std::move(command), std::move(text), "packages of this environment",
                   "install the versions that pip list shows now");
}

bool is_below(const std::string& version, const char* bound) {
  const auto parsed = Version::parse(version);
  return parsed && *parsed < Version::of(bound);
}

// -------------------------------------------------------------------------- NumPy 2

// The same break speaks in several voices: NumPy's own paragraph, an attribute that is not there, a
// size that changed. The versions stand in a list of packages, if there is one.
Verdict numpy_of_one_side(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "python.numpy-abi");
  if (symptom == nullptr) return NotApplicable{};
  const auto* version = first_event(machine, "python.numpy-version");
  const auto* package = package_event(machine, "numpy");
  const auto numpy = version != nullptr   ? value_of(*version, "version")
                     : package != nullptr ? value_of(*package, "version")
                                          : std::string();
  const auto* file = first_event(machine, "python.user-site-file");
  const auto* tensorflow = package_event(machine, "tensorflow");
  const auto who = tensorflow != nullptr && is_below(value_of(*tensorflow, "version"), "2.18")
                       ? "TensorFlow " + value_of(*tensorflow, "version")
                   : file != nullptr ? value_of(*file, "package")
                                     : std::string("a compiled module");
  Finding finding;
  finding.statement = who + " was built against NumPy 1.x and is imported with NumPy " +
                      (numpy.empty() ? "2" : numpy);
  finding.evidence = cite({symptom, version, package, file});
  finding.cause = "numpy was upgraded to 2.x, by itself or as the dependency of another package";
  finding.fix = {package_step("python -m pip install 'numpy<2'", "the side it was built for"),
                 package_step("python -m pip install --upgrade 'tensorflow>=2.18'",
                              "or builds that are made for NumPy 2")};
  return finding;
}

Verdict numpy_has_the_aliases(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "python.numpy-alias");
  if (symptom == nullptr) return NotApplicable{};
  const auto name = value_of(*symptom, "name");
  constexpr std::string_view kRemoved124[] = {"bool",    "int",  "float",   "object",  "str",
                                              "complex", "long", "unicode", "typeDict"};
  const bool old_alias =
      std::find(std::begin(kRemoved124), std::end(kRemoved124), name) != std::end(kRemoved124);
  Finding finding;
  finding.statement =
      "code uses numpy." + name + ", which NumPy " + (old_alias ? "1.24" : "2.0") + " removed";
  finding.evidence = cite({symptom, package_event(machine, "numpy")});
  finding.cause = "numpy is newer than the code that uses it, an old TensorFlow or the program";
  const std::string bound = old_alias ? "1.24" : "2";
  finding.fix = {
      package_step("python -m pip install 'numpy<" + bound + "'", "a numpy of its time")};
  return finding;
}

// ------------------------------------------------------------------------- protobuf

Verdict protobuf_fits(const Machine& machine, const Catalog& catalog) {
  const auto* symptom = first_event(machine, "python.protobuf-descriptors");
  if (symptom == nullptr) symptom = first_event(machine, "python.protobuf-other");
  if (symptom == nullptr) return NotApplicable{};
  static_cast<void>(catalog);
  const auto* protobuf = package_event(machine, "protobuf");
  const auto* tensorflow = package_event(machine, "tensorflow");
  const bool too_new = symptom->id == "python.protobuf-descriptors";
  const bool builder = symptom->text.find("builder") != std::string::npos;
  Finding finding;
  finding.statement =
      std::string("protobuf ") + (protobuf ? value_of(*protobuf, "version") + " " : "") +
      (too_new   ? "is too new: the generated code here is for protobuf 3.20 and older"
       : builder ? "is too old: the generated code here needs 3.20 or newer"
                 : "does not fit the generated code that is imported");
  if (tensorflow != nullptr)
    finding.statement += " (TensorFlow " + value_of(*tensorflow, "version") + ")";
  finding.evidence = cite({symptom, protobuf, tensorflow});
  finding.cause = "another package moved protobuf to a version that this one was not made for";
  if (too_new)
    finding.fix = {package_step("python -m pip install 'protobuf<3.21'", "3.20 or older")};
  else if (builder)
    finding.fix = {package_step("python -m pip install 'protobuf>=3.20,<4'", "3.20 or newer")};
  else
    finding.fix = {package_step("python -m pip install --upgrade --force-reinstall tensorflow",
                                "brings the protobuf that belongs to it")};
  return finding;
}

// ------------------------------------------------------------- two sources of packages

Verdict user_site_apart(const Machine& machine, const Catalog&) {
  const auto* file = first_event(machine, "python.user-site-file");
  const auto* python = first_event(machine, "python.is-at");
  if (file == nullptr || python == nullptr) return NotApplicable{};
  const auto at = value_of(*python, "path");
  const bool environment = at.find("/envs/") != std::string::npos ||
                           at.find("venv") != std::string::npos ||
                           at.find("conda") != std::string::npos;
  if (!environment) return NotApplicable{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement =
      value_of(*file, "package") + " comes from ~/.local, not from the environment of " + at;
  finding.evidence = cite({python, file});
  finding.cause =
      "pip install --user, or pip without write access, put packages into ~/.local/lib, which "
      "every "
      "Python of that version reads before nothing hides it";
  finding.fix = {user_step("export PYTHONNOUSERSITE=1", "leaves ~/.local out", "this shell",
                           "unset PYTHONNOUSERSITE"),
                 package_step("python -m pip install " + value_of(*file, "package"),
                              "then install it into the environment itself")};
  return finding;
}

Verdict kernel_is_the_environment(const Machine& machine, const Catalog&) {
  const auto all = events_of(machine, "python.is-at");
  const Event* kernel = nullptr;
  for (const auto* event : all)
    if (event->text.find("Out[") != std::string::npos) kernel = event;
  if (kernel == nullptr) return NotApplicable{};
  const auto runs = value_of(*kernel, "path");
  for (const auto* event : all) {
    const auto shell = value_of(*event, "path");
    if (event == kernel || path_directory(shell) == path_directory(runs)) continue;
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.statement = "the notebook runs " + runs + ", the shell beside it " + shell;
    finding.evidence = cite({kernel, event});
    finding.cause = "Jupyter was started from another environment, and its kernel is that one's";
    finding.fix = {user_step(
        shell + " -m pip install ipykernel && " + shell + " -m ipykernel install --user --name " +
            std::string(path_name(path_directory(path_directory(shell)))),
        "offers that environment as a kernel of its own", "~/.local/share/jupyter/kernels",
        "jupyter kernelspec remove the same name")};
    return finding;
  }
  return NotApplicable{};
}

Verdict module_is_the_package(const Machine& machine, const Catalog&) {
  const Event* symptom = nullptr;
  for (const auto* event : events_of(machine, "python.partially-initialised")) symptom = event;
  for (const auto* event : events_of(machine, "python.no-module"))
    if (!value_of(*event, "parent").empty()) symptom = event;
  if (symptom == nullptr) return NotApplicable{};
  const auto parent = value_of(*symptom, "parent");
  const auto module = parent.empty() ? value_of(*symptom, "module") : parent;
  Finding finding;
  finding.statement =
      "a file " + module + ".py of your own is imported instead of the package " + module;
  finding.evidence = cite({symptom});
  finding.cause = "Python looks into the script's directory first";
  finding.fix = {user_step("mv " + module + ".py my_" + module + ".py && rm -rf __pycache__",
                           "give the file another name", "the name of your file",
                           "mv my_" + module + ".py " + module + ".py")};
  finding.certainty = value_of(*symptom, "path").empty() && parent.empty() ? Certainty::kLikely
                                                                           : Certainty::kProven;
  return finding;
}

// --------------------------------------------------------------------- installing

bool is_framework(const std::string& requirement) {
  for (const auto* name : {"tensorflow", "torch", "jaxlib", "jax"})
    if (lower(requirement).starts_with(name)) return true;
  return false;
}

// "from versions: none" is said when no file of any release fits this Python and platform.
Verdict wheels_exist(const Machine& machine, const Catalog& catalog) {
  const Event* symptom = nullptr;
  std::string name;
  for (const auto* id : {"pip.no-version", "pip.no-solution"})
    for (const auto* event : events_of(machine, id)) {
      const auto wanted = value_of(*event, event->id == "pip.no-version" ? "requirement" : "name");
      if (symptom != nullptr || !is_framework(wanted)) continue;
      symptom = event;
      name = wanted;
    }
  if (symptom == nullptr) return NotApplicable{};
  const auto* python = first_event(machine, "python.version");
  if (python == nullptr) return Undecided{{{"python3 --version; uname -m", ""}}};
  const auto version = Version::parse(value_of(*python, "version"));
  if (!version) return NotApplicable{};
  const auto minor =
      std::to_string(version->major_part()) + "." + std::to_string(version->minor_part());
  Finding finding;
  const bool too_new = *version >= Version::of("3.12");
  finding.statement = "there is no wheel of " + name + " for Python " + minor;
  finding.evidence = cite({symptom, python});
  const auto upper = name.find('<');
  static_cast<void>(catalog);
  finding.cause =
      too_new ? "a new Python comes out before the frameworks are built for it: TensorFlow up to "
                "2.15 ends at Python 3.11, up to 2.19 at 3.12, 2.20 and later at 3.13"
              : "the release that is asked for has no build for a Python this old";
  if (upper != std::string::npos)
    finding.cause += "; the bound in the requirement leaves only older releases";
  finding.fix = {
      user_step("uv venv --python 3.12 tf && . tf/bin/activate",
                "an environment with a Python that has wheels (python3.12 -m venv tf does "
                "the same where it is installed)",
                "makes the directory tf", "rm -r tf"),
      package_step("python -m pip install 'tensorflow[and-cuda]'", "there")};
  if (!lower(name).starts_with("tensorflow"))
    finding.fix.back() = package_step("python -m pip install " + name, "there");
  return finding;
}

Verdict one_dependency_set(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "pip.conflict");
  if (symptom == nullptr || !is_framework(value_of(*symptom, "who"))) return NotApplicable{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = value_of(*symptom, "who") + " " + value_of(*symptom, "who_version") +
                      " requires " + value_of(*symptom, "wants") + ", and " +
                      value_of(*symptom, "has") + " is " + value_of(*symptom, "has_version");
  finding.evidence = cite({symptom});
  finding.cause = "a later pip install moved a package that this one depends on";
  finding.fix = {package_step("python -m pip install " + shell_word(value_of(*symptom, "wants")),
                              "what the framework asks for")};
  return finding;
}

Verdict no_stub_package(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "pip.tensorflow-gpu-stub");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = "the package tensorflow-gpu is an empty one that refuses to be installed";
  finding.evidence = cite({symptom});
  finding.cause =
      "since 2.1 the package tensorflow holds the GPU code, and tensorflow-gpu ended with 2.12";
  finding.fix = {package_step("python -m pip install 'tensorflow[and-cuda]'",
                              "TensorFlow with its CUDA libraries")};
  return finding;
}

constexpr Rule kRules[] = {
    {"framework.numpy-abi", "NumPy and what is compiled against it are of one side of NumPy 2",
     numpy_of_one_side, Standing::kOwn},
    {"python.numpy-alias-removed", "code uses names that this NumPy has", numpy_has_the_aliases,
     Standing::kOwn},
    {"framework.protobuf-version", "protobuf fits the generated code", protobuf_fits,
     Standing::kOwn},
    {"python.user-site-shadows", "packages of ~/.local do not come before the environment's",
     user_site_apart, Standing::kOwn},
    {"python.kernel-elsewhere", "the notebook runs the environment that is meant",
     kernel_is_the_environment, Standing::kOwn},
    {"python.module-shadowed", "no file has the name of a module that is imported",
     module_is_the_package, Standing::kOwn},
    {"python.no-wheels", "the frameworks have wheels for this Python", wheels_exist,
     Standing::kOwn},
    {"framework.dependency-version", "no package that the import needs is too old or too new",
     one_dependency_set, Standing::kAdvice},
    {"framework.stub-package", "no package is a stub", no_stub_package, Standing::kOwn},
};

}  // namespace

std::span<const Rule> log_python_rules() { return kRules; }

}  // namespace gpuwright
