#include "probe/python_environments.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "probe/facts.h"
#include "probe/python_distributions.h"
#include "probe/python_interpreter.h"
#include "probe/python_layout.h"

namespace gpuwright {
namespace {

constexpr std::size_t kMostEnvironments = 64;

// Import packages of the frameworks: one look each tells whether the metadata are worth listing.
constexpr std::array<const char*, 4> kPackages = {"tensorflow", "torch", "jax", "jaxlib"};

constexpr std::array<const char*, 11> kFrameworkDistributions = {
    "tensorflow", "tensorflow-cpu",     "tensorflow-gpu",   "tensorflow-rocm", "tensorflow-intel",
    "tf-nightly", "tensorflow-cpu-aws", "intel-tensorflow", "torch",           "jax",
    "jaxlib",
};

// Directories each of whose subdirectories is an environment; "~" is the home directory.
struct Nest {
  const char* directory;
  const char* kind;
};
constexpr Nest kNests[] = {
    {"~/.virtualenvs", "venv"},                 // virtualenvwrapper
    {"~/.local/share/virtualenvs", "venv"},     // pipenv
    {"~/.cache/pypoetry/virtualenvs", "venv"},  // poetry
    {"~/.conda/envs", "conda"},
};

// Installations of conda: an environment itself, and more under envs/.
constexpr std::array<const char*, 8> kCondaRoots = {
    "~/miniconda3", "~/anaconda3", "~/miniforge3",    "~/mambaforge",
    "~/micromamba", "/opt/conda",  "/opt/miniconda3", "/opt/anaconda3",
};

constexpr std::array<const char*, 3> kVenvNames = {".venv", "venv", "env"};

constexpr std::array<const char*, 3> kKernelDirectories = {
    "~/.local/share/jupyter/kernels",
    "/usr/local/share/jupyter/kernels",
    "/usr/share/jupyter/kernels",
};

bool is_framework(const Distribution& distribution) {
  return std::find(kFrameworkDistributions.begin(), kFrameworkDistributions.end(),
                   distribution.name) != kFrameworkDistributions.end();
}

// The directories under `prefix` that hold packages, without asking the interpreter.
std::vector<std::string> package_directories(const System& system, const std::string& prefix) {
  std::vector<std::string> found;
  for (const auto* library : {"lib", "lib64"}) {
    const auto directory = path_join(prefix, library);
    const auto entries = system.list(directory);
    if (!entries) continue;
    for (const auto& entry : *entries) {
      if (!entry.name.starts_with("python")) continue;
      for (const auto* packages : {"site-packages", "dist-packages"})
        found.push_back(path_join(path_join(directory, entry.name), packages));
    }
  }
  return found;
}

std::vector<std::string> system_package_directories(const std::string& program,
                                                    const std::string& series) {
  const auto prefix = path_directory(path_directory(program));
  std::vector<std::string> found{path_join(prefix, "lib/python3/dist-packages")};
  std::vector<std::string> prefixes{prefix};
  if (prefix == "/usr") prefixes.emplace_back("/usr/local");
  for (const auto& root : prefixes)
    for (const auto* library : {"lib/python", "lib64/python"})
      for (const auto* packages : {"/site-packages", "/dist-packages"})
        found.push_back(path_join(root, library + series + packages));
  return found;
}

// A place of the tables above, "~" filled in.
std::string expanded(std::string_view path, const std::string& home) {
  return path.starts_with("~/") ? path_join(home, path.substr(2)) : std::string(path);
}

std::vector<std::string> frameworks_in(const System& system,
                                       const std::vector<std::string>& directories) {
  std::set<std::string> found;  // lib and lib64 may be one directory
  for (const auto& directory : directories) {
    const bool worthwhile = std::any_of(kPackages.begin(), kPackages.end(), [&](const char* name) {
      return exists(system, path_join(directory, name));
    });
    if (!worthwhile) continue;
    for (const auto& distribution : distributions_in(system, directory))
      if (is_framework(distribution)) found.insert(distribution.name + " " + distribution.version);
  }
  return {found.begin(), found.end()};
}

// Collects environments, each prefix once.
class Collector {
 public:
  Collector(const System& system, const Interpreter& chosen)
      : system_(system), chosen_prefix_(identity(chosen.prefix)) {
    seen_.insert(chosen_prefix_);
    // The base of a virtual environment is another environment, with packages of its own.
    if (chosen.kind != "venv") seen_.insert(chosen.real_path);
  }

  bool is_full() const { return found_.size() >= kMostEnvironments; }
  std::vector<OtherEnvironment> take() { return std::move(found_); }

  // A directory with an interpreter in it.
  void add_environment(const std::string& prefix, const std::string& kind) {
    if (is_full() || interpreter_of_environment(system_, prefix).empty()) return;
    if (!seen_.insert(identity(prefix)).second) return;
    found_.push_back({prefix, kind, frameworks_in(system_, package_directories(system_, prefix))});
  }

  void add_nest(const std::string& directory, const std::string& kind) {
    const auto entries = system_.list(directory);
    if (!entries) return;
    for (const auto& entry : *entries) add_environment(path_join(directory, entry.name), kind);
  }

  // /usr/bin/python3.11: the interpreters of one bin directory share a prefix, not their packages.
  void add_system_interpreter(const std::string& program) {
    if (is_full() || !is_executable_file(system_, program)) return;
    const auto real = identity(program);
    const auto series = parse_python_series(path_name(real));
    if (series.empty() || !seen_.insert(real).second) return;
    found_.push_back(
        {real, "system", frameworks_in(system_, system_package_directories(real, series))});
  }

  // Listed beside its environment: a kernel is what a notebook runs, whatever the shell says.
  void add_kernel(const std::string& file) {
    const auto program = parse_kernelspec(system_.read(file).value_or(""));
    if (is_full() || program.empty() || !seen_.insert("kernel " + program).second) return;
    const auto prefix = path_directory(path_directory(program));
    if (identity(prefix) == chosen_prefix_) return;
    found_.push_back(
        {program, "jupyter kernel", frameworks_in(system_, package_directories(system_, prefix))});
  }

  void add_kernels(const std::string& directory) {
    const auto entries = system_.list(directory);
    if (!entries) return;
    for (const auto& entry : *entries)
      add_kernel(path_join(path_join(directory, entry.name), "kernel.json"));
  }

 private:
  std::string identity(const std::string& path) const {
    return system_.resolve(path).value_or(path);
  }

  const System& system_;
  std::string chosen_prefix_;
  std::set<std::string> seen_;
  std::vector<OtherEnvironment> found_;
};

void add_system_interpreters(const System& system, Collector& collector) {
  for (const auto* directory : {"/usr/bin", "/usr/local/bin"}) {
    const auto entries = system.list(directory);
    if (!entries) continue;
    for (const auto& entry : *entries)  // python3 and python3.11, not python3.11-config
      if (entry.name == "python3" || entry.name == "python" + parse_python_series(entry.name))
        collector.add_system_interpreter(path_join(directory, entry.name));
  }
}

void add_conda(const System& system, const std::string& home, Collector& collector) {
  for (const auto* root : kCondaRoots) {
    const auto prefix = expanded(root, home);
    collector.add_environment(prefix, "conda");
    collector.add_nest(path_join(prefix, "envs"), "conda");
  }
  // Every environment that conda ever made for this user, one prefix a line.
  const auto text = system.read(path_join(home, ".conda/environments.txt")).value_or("");
  for (const auto line : lines(text))
    if (line.starts_with('/')) collector.add_environment(std::string(trim(line)), "conda");
}

}  // namespace

std::vector<std::string> frameworks_of_prefix(const System& system, const std::string& prefix) {
  return frameworks_in(system, package_directories(system, prefix));
}

std::string parse_kernelspec(std::string_view json) {
  const auto spec = nlohmann::json::parse(json, nullptr, false);
  if (!spec.is_object()) return {};
  const auto argv = spec.find("argv");
  if (argv == spec.end() || !argv->is_array() || argv->empty()) return {};
  const auto& program = argv->front();
  if (!program.is_string()) return {};
  const auto& path = program.get_ref<const std::string&>();
  return path.starts_with('/') ? path : std::string();
}

std::vector<OtherEnvironment> find_other_environments(const System& system,
                                                      const EnvironmentBlock& environment,
                                                      const Interpreter& chosen) {
  Collector collector(system, chosen);
  const auto home = home_directory(system, environment);
  const auto here = system.working_directory().value_or("/");
  for (const auto* name : kVenvNames) {
    const auto prefix = path_join(here, name);
    const bool conda = exists(system, path_join(prefix, "conda-meta"));
    collector.add_environment(prefix, conda ? "conda" : "venv");
  }
  // Kernels and the system's interpreters are few, nests may be large: those come last.
  for (const auto* directory : kKernelDirectories) collector.add_kernels(expanded(directory, home));
  if (!chosen.prefix.empty())
    collector.add_kernels(path_join(chosen.prefix, "share/jupyter/kernels"));
  add_system_interpreters(system, collector);
  add_conda(system, home, collector);
  const auto pyenv = variable(environment, "PYENV_ROOT");
  collector.add_nest(path_join(pyenv.empty() ? path_join(home, ".pyenv") : pyenv, "versions"),
                     "pyenv");
  for (const auto& nest : kNests) collector.add_nest(expanded(nest.directory, home), nest.kind);
  return collector.take();
}

}  // namespace gpuwright
