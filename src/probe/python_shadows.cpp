#include "probe/python_shadows.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "probe/facts.h"

// People call a first script after what they want to try (tensorflow.py), or after what it does
// (random.py). `python -c`, a prompt and a notebook look in the working directory first, a script
// in its own, which is most often the same.

namespace gpuwright {
namespace {

constexpr std::array kPackages = {"tensorflow", "torch", "jax",   "jaxlib",
                                  "numpy",      "keras", "triton"};

// Imported while a framework is, and names that people give to files. Not those that Python has
// imported itself before it looks anywhere (os, io, abc).
constexpr std::array kStandard = {
    "random", "types",  "typing", "copy", "queue",    "inspect",  "logging", "platform", "string",
    "json",   "signal", "socket", "enum", "tempfile", "tokenize", "struct",  "calendar", "secrets"};

bool is_package(const System& system, const std::string& directory, const std::string& module) {
  return exists(system, path_join(path_join(directory, module), "__init__.py"));
}

// Where the module is found on sys.path behind `directory`; on all of it for the working directory,
// which stands before it. Empty when nowhere.
std::string real_module(const System& system, const std::vector<SysPathEntry>& search_path,
                        const std::string& directory, const std::string& module) {
  const auto here = std::find_if(search_path.begin(), search_path.end(),
                                 [&](const auto& entry) { return entry.path == directory; });
  for (auto entry = here == search_path.end() ? search_path.begin() : here + 1;
       entry != search_path.end(); ++entry)
    if (entry->exists && is_package(system, entry->path, module))
      return path_join(entry->path, module);
  return {};
}

// Whether a name is free for the programs of this directory: a package's own modules are imported
// under the package's name.
bool is_inside_package(const System& system, const std::string& directory) {
  return exists(system, path_join(directory, "__init__.py"));
}

void look_for_packages(const System& system, const std::vector<SysPathEntry>& search_path,
                       const std::string& directory, const std::string& origin,
                       std::vector<ModuleShadow>& found) {
  for (const std::string module : kPackages) {
    const auto hidden = real_module(system, search_path, directory, module);
    if (hidden.empty()) continue;
    const auto file = path_join(directory, module + ".py");
    // A directory further back on sys.path is an installation of its own, not a file in the way.
    const bool checkout = origin == "working directory" && is_package(system, directory, module);
    if (checkout)
      found.push_back({module, path_join(directory, module), origin, hidden});
    else if (exists(system, file) && !is_package(system, directory, module))
      found.push_back({module, file, origin, hidden});
  }
}

void look_for_standard(const System& system, const std::string& directory,
                       const std::string& origin, std::vector<ModuleShadow>& found) {
  for (const std::string module : kStandard) {
    const auto file = path_join(directory, module + ".py");
    if (exists(system, file)) found.push_back({module, file, origin, ""});
  }
}

bool on_search_path(const std::vector<SysPathEntry>& search_path, const std::string& directory) {
  return std::any_of(search_path.begin(), search_path.end(),
                     [&](const auto& entry) { return entry.path == directory; });
}

}  // namespace

std::vector<ModuleShadow> find_shadows(const System& system,
                                       const std::vector<SysPathEntry>& search_path) {
  std::vector<ModuleShadow> found;
  const auto here = system.working_directory();
  if (here && !on_search_path(search_path, *here)) {
    look_for_packages(system, search_path, *here, "working directory", found);
    if (!is_inside_package(system, *here))
      look_for_standard(system, *here, "working directory", found);
  }
  std::size_t looked = 0;
  for (const auto& entry : search_path) {
    // The standard library stands before the user's site, behind PYTHONPATH.
    const bool first = entry.origin == "PYTHONPATH";
    if (!entry.exists || (!first && entry.origin != "user site") || ++looked > 20) continue;
    look_for_packages(system, search_path, entry.path, entry.origin, found);
    if (first) look_for_standard(system, entry.path, entry.origin, found);
  }
  return found;
}

}  // namespace gpuwright
