#include "probe/python_interpreter.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "probe/facts.h"
#include "probe/python_shim.h"

namespace gpuwright {
namespace {

// Where an environment variable or PATH leads, before the file is examined.
struct Candidate {
  std::string path;
  std::string chosen_by;
  std::string source;
};

Result<ChosenPython> examine(const System& system, const EnvironmentBlock& environment,
                             const Candidate& candidate) {
  return follow_shim(system, environment, candidate.path)
      .or_else([&](const Error& error) -> Result<FoundProgram> {
        // A file that cannot be read is left to find_python_layout, which says more.
        if (error.code != 0) return FoundProgram{candidate.path, {}};
        return tl::unexpected(error);
      })
      .and_then([&](const FoundProgram& program) -> Result<ChosenPython> {
        const auto layout = find_python_layout(system, environment, program.path);
        if (!layout) return tl::unexpected(layout.error());
        const auto source =
            candidate.source + (program.note.empty() ? "" : " (" + program.note + ")");
        return ChosenPython{*layout, candidate.chosen_by, source};
      });
}

Result<Candidate> candidate_in_directory(const System& system, const std::string& directory,
                                         const std::string& wanted) {
  const auto program = interpreter_of_environment(system, directory);
  if (!program.empty()) return Candidate{program, "--python", "--python " + wanted};
  const bool environment = exists(system, path_join(directory, "pyvenv.cfg")) ||
                           is_directory(system, path_join(directory, "conda-meta"));
  return fail(environment ? "is an environment without an interpreter: bin/python is missing"
                          : "is a directory and no Python environment: bin/python is missing",
              wanted);
}

Result<Candidate> wanted_candidate(const System& system, const EnvironmentBlock& environment,
                                   const std::string& wanted) {
  const Candidate named{{}, "--python", "--python " + wanted};
  const auto path = absolute_path(system.working_directory().value_or("/"), wanted);
  if (wanted.find('/') == std::string::npos) {
    const auto on_path = find_on_path(system, environment, wanted);
    if (!on_path.empty()) return Candidate{on_path, named.chosen_by, named.source};
    if (!system.link_status(path))
      return fail("is neither a command on PATH nor a directory here", wanted);
  }
  if (is_directory(system, path)) return candidate_in_directory(system, path, wanted);
  if (!system.link_status(path)) return fail("no such file or directory", wanted);
  return Candidate{path, named.chosen_by, named.source};
}

// Place of `directory` among the elements of PATH; past the end when it is not among them.
std::ptrdiff_t place_on_path(const EnvironmentBlock& environment, const std::string& directory) {
  const auto path = variable(environment, "PATH");
  const auto elements = split(path, ':');
  return std::find(elements.begin(), elements.end(), directory) - elements.begin();
}

// VIRTUAL_ENV before CONDA_PREFIX, unless PATH says otherwise: activating a conda environment
// inside a venv leaves VIRTUAL_ENV set, and the command line follows PATH. A variable whose
// directory has no interpreter (a deleted environment) chooses nothing, as in the shell.
std::vector<Candidate> activated_candidates(const System& system,
                                            const EnvironmentBlock& environment) {
  std::vector<Candidate> found;
  for (const std::string name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto prefix = variable(environment, name);
    if (!prefix.starts_with('/')) continue;
    const auto program = interpreter_of_environment(system, prefix);
    if (!program.empty()) found.push_back({program, name, name});
  }
  std::stable_sort(found.begin(), found.end(), [&](const Candidate& a, const Candidate& b) {
    return place_on_path(environment, path_directory(a.path)) <
           place_on_path(environment, path_directory(b.path));
  });
  return found;
}

// "PATH", and the variables that name an environment without an interpreter: their owner thinks
// that it is active.
std::string source_on_path(const EnvironmentBlock& environment) {
  std::string source = "PATH";
  for (const std::string name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const auto prefix = variable(environment, name); !prefix.empty())
      source.append(", ").append(name).append("=").append(prefix).append(" has no interpreter");
  return source;
}

// `python` is what most people type; where that is Python 2, no framework of today can be meant.
Result<ChosenPython> choose_on_path(const System& system, const EnvironmentBlock& environment) {
  const auto python = find_on_path(system, environment, "python");
  const auto python3 = find_on_path(system, environment, "python3");
  const auto source = source_on_path(environment);
  if (python.empty() && python3.empty()) return fail("no python and no python3", "PATH", ENOENT);
  if (!python.empty()) {
    auto chosen = examine(system, environment, {python, "PATH", source});
    if (python3.empty() || !chosen || !chosen->layout.is_python2()) return chosen;
  }
  return examine(system, environment, {python3, "PATH", source});
}

bool is_pyenv(const EnvironmentBlock& environment, const PythonLayout& layout) {
  const auto root = variable(environment, "PYENV_ROOT");
  return layout.base_prefix.find("/.pyenv/versions/") != std::string::npos ||
         (!root.empty() && layout.base_prefix.starts_with(path_join(root, "versions/")));
}

std::string kind_of(const System& system, const EnvironmentBlock& environment,
                    const PythonLayout& layout) {
  if (layout.venv) return "venv";
  if (is_directory(system, path_join(layout.prefix, "conda-meta"))) return "conda";
  if (is_pyenv(environment, layout)) return "pyenv";
  return layout.base_prefix == "/usr" ? "system" : "other";
}

}  // namespace

std::string interpreter_of_environment(const System& system, const std::string& prefix) {
  for (const auto* name : {"bin/python", "bin/python3"}) {
    auto path = path_join(prefix, name);
    if (system.link_status(path) && !is_directory(system, path)) return path;
  }
  return {};
}

Result<ChosenPython> choose_python(const System& system, const EnvironmentBlock& environment,
                                   const std::string& wanted) {
  if (!wanted.empty())
    return wanted_candidate(system, environment, wanted).and_then([&](const Candidate& candidate) {
      return examine(system, environment, candidate);
    });
  const auto activated = activated_candidates(system, environment);
  if (!activated.empty()) return examine(system, environment, activated.front());
  return choose_on_path(system, environment);
}

Interpreter describe_interpreter(const System& system, const EnvironmentBlock& environment,
                                 const ChosenPython& python, bool user_site) {
  const auto& layout = python.layout;
  return Interpreter{
      .path = layout.executable,
      .real_path = layout.real_executable,
      .chosen_by = python.chosen_by,
      .kind = kind_of(system, environment, layout),
      .prefix = layout.prefix,
      .base_prefix = layout.base_prefix,
      .version = layout.version,
      .libc = layout.libc,
      .user_site = user_site,
  };
}

}  // namespace gpuwright
