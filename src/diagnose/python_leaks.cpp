#include "diagnose/python_leaks.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework_rule.h"
#include "diagnose/packages.h"

namespace gpuwright {
namespace {

// The frameworks, what they import with compiled code, and NVIDIA's libraries.
bool matters(std::string_view name) {
  constexpr std::array kPatterns = {"tensorflow*", "tf-nightly*", "intel-tensorflow*",
                                    "keras",       "tf-keras",    "torch",
                                    "torchvision", "torchaudio",  "triton",
                                    "jax",         "jaxlib",      "jax-cuda*",
                                    "numpy",       "scipy",       "ml-dtypes",
                                    "h5py",        "protobuf",    "nvidia-*"};
  return std::ranges::any_of(kPatterns,
                             [&](const char* pattern) { return glob_match(pattern, name); });
}

const SysPathEntry* entry_of(const Machine& machine, const std::string& directory) {
  const auto& path = machine.python.sys_path;
  const auto found = std::ranges::find(path, directory, &SysPathEntry::path);
  return found == path.end() ? nullptr : &*found;
}

// A package found in a directory of this origin, and the copy further back that it hides.
struct Hidden {
  const Distribution* taken;
  const Distribution* hidden;
};

std::vector<Hidden> hidden_by(const Machine& machine, std::string_view origin) {
  std::vector<Hidden> found;
  const auto& all = machine.python.distributions;
  for (auto taken = all.begin(); taken != all.end(); ++taken) {
    const auto* entry = entry_of(machine, taken->location);
    if (entry == nullptr || entry->origin != origin || !matters(taken->name)) continue;
    if (installed(machine, taken->name) != &*taken) continue;
    for (auto later = taken + 1; later != all.end(); ++later) {
      if (later->name != taken->name || later->version == taken->version) continue;
      const auto* other = entry_of(machine, later->location);
      if (other == nullptr || other->origin == origin) continue;
      found.push_back({&*taken, &*later});
      break;
    }
  }
  return found;
}

std::string listed(const std::vector<Hidden>& hidden) {
  std::vector<std::string> names;
  for (const auto& pair : hidden)
    names.push_back(pair.taken->name + " " + pair.taken->version + " instead of " +
                    pair.hidden->version);
  if (names.size() > 3) {
    const auto more = names.size() - 3;
    names.resize(3);
    names.push_back(std::to_string(more) + " more");
  }
  return join(names, ", ");
}

std::vector<Evidence> evidence_of(const std::vector<Hidden>& hidden) {
  std::vector<Evidence> evidence;
  for (std::size_t i = 0; i < hidden.size() && i < 5; ++i) {
    evidence.push_back(cite_package(*hidden[i].taken));
    evidence.push_back({"hides " + hidden[i].hidden->name + " " + hidden[i].hidden->version,
                        hidden[i].hidden->location});
  }
  return evidence;
}

// "3.10" of "/opt/x/lib/python3.10/site-packages"; empty where the path does not tell.
std::string series_of_path(std::string_view path) {
  for (const auto part : split(path, '/')) {
    if (!part.starts_with("python3.")) continue;
    const auto minor = part.substr(8);
    if (parse_unsigned(minor)) return "3." + std::string(minor);
  }
  return "";
}

std::string variable_text(const Machine& machine) {
  return printable(variable(machine, "PYTHONPATH").value_or(""));
}

// Packages of a PYTHONPATH directory that is made for another Python: their compiled parts bear
// another name and are not found.
std::vector<const Distribution*> of_other_python(const Machine& machine) {
  const auto here = python_series(machine);
  std::vector<const Distribution*> found;
  for (const auto& distribution : machine.python.distributions) {
    const auto* entry = entry_of(machine, distribution.location);
    if (entry == nullptr || entry->origin != "PYTHONPATH" || here.empty()) continue;
    const auto series = series_of_path(entry->path);
    if (series.empty() || series == here || !matters(distribution.name)) continue;
    if (distribution.name.starts_with("nvidia-")) continue;  // plain libraries, of no Python
    if (installed(machine, distribution.name) == &distribution) found.push_back(&distribution);
  }
  return found;
}

Finding other_python_finding(const Machine& machine,
                             const std::vector<const Distribution*>& packages) {
  Finding finding;
  const auto& first = *packages.front();
  // Without NumPy nothing loads; a framework of another Python is told as such.
  const bool breaks = std::ranges::any_of(packages, [](const auto* package) {
    return package->name == "numpy" || package->name == "ml-dtypes";
  });
  finding.severity = breaks && !machine.frameworks.empty() ? Severity::kError : Severity::kWarning;
  finding.statement = "PYTHONPATH puts " + first.name + " " + first.version + " of Python " +
                      series_of_path(first.location) + " before the packages of this Python " +
                      python_series(machine) + ": its compiled part is not found";
  for (std::size_t i = 0; i < packages.size() && i < 5; ++i)
    finding.evidence.push_back(cite_package(*packages[i]));
  finding.evidence.push_back({"PYTHONPATH='" + variable_text(machine) + "'", "environment"});
  finding.cause =
      "a profile, a module file or another tool's setup exports PYTHONPATH, which every "
      "Python obeys";
  finding.fix = {shell_step("unset PYTHONPATH", "leaves each Python its own packages")};
  return finding;
}

}  // namespace

// pip install --user, or pip of a system Python that may not write, puts packages into ~/.local;
// every Python of the same minor version takes them, conda's too, and before its own.
Verdict user_site_stays_out(const Machine& machine, const Catalog&) {
  const auto& python = machine.python.interpreter;
  if (!python.is_known() || (python->kind != "conda" && python->kind != "venv"))
    return NotApplicable{};
  const auto hidden = hidden_by(machine, "user site");
  if (hidden.empty()) return Fine{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.subject = python->path;
  finding.statement = "packages of ~/.local come before those of this " + python->kind +
                      " environment: " + listed(hidden);
  finding.evidence = evidence_of(hidden);
  finding.cause =
      "'pip install --user', or a pip without the right to write, put them there; every Python of "
      "this version takes them";
  finding.fix = {shell_step("export PYTHONNOUSERSITE=1", "leaves ~/.local out, in this shell"),
                 advice("for good: set it on activation of the environment, or uninstall the "
                        "packages with 'PIP_USER=1 python -m pip uninstall NAME'")};
  return finding;
}

Verdict pythonpath_stays_out(const Machine& machine, const Catalog&) {
  if (!machine.python.interpreter.is_known()) return NotApplicable{};
  if (const auto others = of_other_python(machine); !others.empty())
    return other_python_finding(machine, others);
  const auto hidden = hidden_by(machine, "PYTHONPATH");
  if (hidden.empty()) return Fine{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement =
      "PYTHONPATH puts packages of another place before those of this environment: " +
      listed(hidden);
  finding.evidence = evidence_of(hidden);
  finding.evidence.push_back({"PYTHONPATH='" + variable_text(machine) + "'", "environment"});
  finding.cause =
      "a profile, a module file or another tool's setup exports PYTHONPATH, which every "
      "Python obeys";
  finding.fix = {shell_step("unset PYTHONPATH", "leaves this environment its own packages")};
  return finding;
}

namespace {

// What is on sys.path holds for every program, what lies in the working directory for those that
// are started from there. A file in place of a framework breaks that one, in place of NumPy all.
void weigh(const Machine& machine, const ModuleShadow& shadow, Finding& finding) {
  finding.severity = Severity::kWarning;
  finding.subject = shadow.path;
  if (shadow.origin == "working directory" || shadow.hides.empty()) return;
  for (const auto& framework : machine.frameworks)
    if (framework.name == shadow.module || (framework.name == "jax" && shadow.module == "jaxlib")) {
      finding.severity = Severity::kError;
      finding.subject = label_of(framework);
    }
  if (shadow.module == "numpy") {
    finding.severity = Severity::kError;
    finding.subject.clear();
  }
}

Finding shadow_finding(const Machine& machine, const ModuleShadow& shadow) {
  const bool here = shadow.origin == "working directory";
  Finding finding;
  weigh(machine, shadow, finding);
  finding.statement = (here ? "programs that are started from here import " : "'import' takes ") +
                      shadow.path + (here ? " as '" : " for '") + shadow.module + "', and not " +
                      (shadow.hides.empty() ? "the module of the standard library" : shadow.hides);
  finding.evidence = {{"found in the " + shadow.origin + ", which comes first", shadow.path}};
  if (!shadow.hides.empty()) finding.evidence.push_back({"hidden", shadow.hides});
  finding.cause =
      "a file has the name of a module; the sign is 'partially initialized module' or "
      "'has no attribute'";
  const bool file = shadow.path.ends_with(".py");
  if (file) {
    const auto renamed = path_join(path_directory(shadow.path), "my_" + shadow.module + ".py");
    finding.fix = {{.command = "mv -i " + shell_word(shadow.path) + " " + shell_word(renamed),
                    .text = "gives the file another name",
                    .needs_root = false,
                    .changes = "the name of that file; imports of it need the new one",
                    .undo = "mv -i " + shell_word(renamed) + " " + shell_word(shadow.path)}};
  } else {
    finding.fix = {
        shell_step("cd ..", "start the program from another directory than the sources")};
  }
  return finding;
}

}  // namespace

Verdict modules_are_themselves(const Machine& machine, const Catalog&) {
  const auto& shadows = machine.python.shadows;
  if (!shadows.is_known() || machine.frameworks.empty()) return NotApplicable{};
  std::vector<Finding> findings;
  for (const auto& shadow : *shadows)
    if (findings.size() < 5) findings.push_back(shadow_finding(machine, shadow));
  return findings.empty() ? Verdict(Fine{}) : Verdict(findings);
}

}  // namespace gpuwright
