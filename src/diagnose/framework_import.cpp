#include "diagnose/framework_import.h"

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework_rule.h"

// An object of the import that the loader refuses.

namespace gpuwright {
namespace {

// The newest TensorFlow whose wheel runs on this glibc.
std::optional<Version> release_for(const Catalog& catalog, const Version& glibc) {
  for (auto minor = catalog.newest_tensorflow().minor_part(); minor >= 4; --minor) {
    const auto release = catalog.tensorflow(Version::of("2." + std::to_string(minor)));
    if (release && release->glibc_min && *release->glibc_min <= glibc) return release->version;
  }
  return std::nullopt;
}

// pip chooses wheels by the glibc that it sees, so such an environment was made somewhere else.
void explain_glibc(const Machine& machine, const Catalog& catalog, const Framework& framework,
                   const MissingSymbolVersion& missing, Finding& finding) {
  const auto& here = machine.host.glibc;
  finding.evidence.push_back(cite("glibc of this system", here));
  finding.cause = "it needs glibc " + missing.version + " and this system has " +
                  (here.is_known() ? here->text() : "an older one") +
                  ": the environment was made on a newer system (a shared disk, an image, a copy)";
  const auto release = here.is_known() && framework.name == "tensorflow"
                           ? release_for(catalog, *here)
                           : std::nullopt;
  if (release)
    finding.fix.push_back(
        environment_step(pip(machine) + " install 'tensorflow==" + release->text() + ".*'",
                         "the newest release for this glibc"));
  else
    finding.fix.push_back(environment_step(
        pip(machine) + " install --force-reinstall " + framework.name,
        "lets pip choose a build for this system, if there is one for this Python"));
  finding.fix.push_back(advice(
      "or run it on a newer distribution; a container brings its own glibc and uses this driver"));
}

void explain_cxx(const Machine& machine, const MissingSymbolVersion& missing, Finding& finding) {
  const auto& runtime = machine.host.cxx_runtime;
  const bool same = runtime.is_known() && runtime->path == missing.file;
  if (same)
    finding.evidence.push_back({"newest in it: GLIBCXX_" + runtime->glibcxx, runtime->path});
  finding.cause = "it needs " + missing.prefix + missing.version + ", and " + missing.file +
                  (same ? " ends at GLIBCXX_" + runtime->glibcxx : " is older") +
                  ": an older C++ runtime comes first in the search, or the system's is older";
  const auto& path = machine.cuda.library_path;
  const auto directory = path_directory(missing.file);
  bool by_variable = false;
  if (path.is_known())
    for (const auto& element : *path) by_variable = by_variable || trim(element.text) == directory;
  if (by_variable)
    finding.fix.push_back(
        shell_step("unset LD_LIBRARY_PATH", "that directory is on the search path by it"));
  finding.fix.push_back(environment_step("conda install -c conda-forge 'libstdcxx>=13'",
                                         "in a conda environment: a newer C++ runtime of its own"));
  if (!in_conda(machine))
    finding.fix.back() =
        advice("install a newer libstdc++6 (of a newer distribution), or run it in a container");
}

}  // namespace

std::optional<MissingSymbolVersion> parse_missing_version(std::string_view error) {
  const auto at = error.find(": version `");
  if (at == std::string_view::npos) return std::nullopt;
  const auto symbol = error.substr(at + 11, error.find('\'', at) - (at + 11));
  const auto underscore = symbol.rfind('_');
  if (underscore == std::string_view::npos || error.find('\'', at) == std::string_view::npos)
    return std::nullopt;
  // gdb's and Python's prefixes may stand before the path.
  const auto before = error.substr(0, at);
  const auto slash = before.rfind(" /");
  const auto file = slash == std::string_view::npos ? before : before.substr(slash + 1);
  return MissingSymbolVersion{printable(file), printable(symbol.substr(0, underscore + 1)),
                              printable(symbol.substr(underscore + 1))};
}

Verdict import_works(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.import_problems.empty()) return Fine{};
    const auto& problem = framework.import_problems.front();
    Finding finding;
    finding.statement = title(framework) + " cannot be imported: " + printable(problem.error);
    for (const auto& each : framework.import_problems)
      finding.evidence.push_back({printable(each.error), each.object});
    const auto missing = parse_missing_version(problem.error);
    if (missing && missing->prefix == "GLIBC_") {
      explain_glibc(machine, catalog, framework, *missing, finding);
    } else if (missing) {
      explain_cxx(machine, *missing, finding);
    } else {
      finding.cause = "a library it is linked against is not where its search looks";
      finding.fix = {environment_step(
          pip(machine) + " install --force-reinstall " +
              (framework.distribution.empty() ? framework.name : framework.distribution),
          "brings the libraries it is linked against")};
    }
    return finding;
  });
}

}  // namespace gpuwright
