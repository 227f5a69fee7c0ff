#include "probe/python_path.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "base/text.h"
#include "probe/facts.h"

// CPython's site.py: what follows the standard library on sys.path. The order is: in a virtual
// environment its own site-packages; the user's, unless the environment is closed or
// PYTHONNOUSERSITE is set; those of the base installation. Each of them may hold .pth files, whose
// lines are further directories or code. The interpreter's own copy of site.py says which patches
// the distribution applied, so it is read instead of guessing by the distribution's name.

namespace gpuwright {
namespace {

using Scheme = SiteRules::Scheme;

// .pth files that run code and leave sys.path alone.
constexpr std::array<const char*, 6> kHarmlessPth = {
    "distutils-precedence.pth",  // setuptools: a shim in front of distutils
    "_virtualenv.pth",           // virtualenv, uv: a patch of distutils' configuration
    "*-nspkg.pth",               // setuptools: declares a namespace package in sys.modules
    "a1_coverage.pth",           // coverage: starts measuring when asked to
    "coverage.pth",
    "*pytest-cov.pth",
};

bool is_harmless(std::string_view name) {
  return std::any_of(kHarmlessPth.begin(), kHarmlessPth.end(),
                     [&](const char* pattern) { return glob_match(pattern, name); });
}

// setuptools (__editable___NAME_finder), scikit-build-core (_NAME_editable) and meson-python
// (NAME-editable) install a hook that finds the package outside sys.path.
bool is_editable_hook(std::string_view name) {
  return name.starts_with("__editable__") || name.find("editable") != std::string_view::npos;
}

// Builds the list: no directory twice, as site.py's known_paths sees to.
class PathBuilder {
 public:
  PathBuilder(const System& system, SiteRules rules, std::string working_directory)
      : system_(system), rules_(rules), working_directory_(std::move(working_directory)) {}

  void add(std::string_view path, const std::string& origin) {
    const auto absolute = absolute_path(working_directory_, path);
    if (known_.insert(absolute).second)
      found_.entries.push_back({absolute, origin, exists(system_, absolute)});
  }

  // site.addsitedir: a directory that is not there does not get on the list at all.
  bool add_site(const std::string& directory, const std::string& origin) {
    const auto status = system_.status(directory);
    if (!status || status->kind != FileKind::kDirectory) {
      if (!status && !is_not_there(status.error())) note(status.error().text());
      return false;
    }
    add(directory, origin);
    const auto entries = system_.list(directory);
    if (!entries) {
      note(entries.error().text());
      return true;
    }
    const bool first_look = seen_.emplace(status->device, status->inode).second;
    for (const auto& entry : *entries)
      if (entry.name.ends_with(".pth") && !(rules_.skips_hidden_pth && entry.name.starts_with('.')))
        add_pth(directory, entry.name, first_look);
    return true;
  }

  void add_user_site(const std::string& directory) {
    found_.user_site = add_site(directory, "user site");
  }

  void note(std::string sentence) { found_.unknowns.push_back(std::move(sentence)); }

  // sitecustomize and usercustomize are imported at the end and may do anything.
  void note_customization(const std::string& module) {
    for (const auto& entry : found_.entries) {
      const auto file = path_join(entry.path, module + ".py");
      if (!exists(system_, file)) continue;
      // Debian's is a link to a file that installs a crash reporter at most.
      if (!system_.resolve(file).value_or("").starts_with("/etc/python")) note(file + " runs code");
      return;
    }
  }

  SearchPath take() { return std::move(found_); }

 private:
  // lib64 is a link to lib in most virtual environments: its files count twice and are noted once.
  void add_pth(const std::string& directory, const std::string& name, bool first_look) {
    const auto file = path_join(directory, name);
    const auto text = system_.read(file);
    if (!text) {
      if (first_look) note(text.error().text());
      return;
    }
    const auto pth = parse_pth(*text);
    for (const auto& line : pth.paths) {
      const auto path = absolute_path(directory, line);
      if (exists(system_, path)) add(path, name);
    }
    if (pth.runs_code && first_look && !is_harmless(name))
      note(file + " runs code" +
           (is_editable_hook(name) ? ": an import hook finds the packages of an editable install"
                                   : ""));
  }

  const System& system_;
  SiteRules rules_;
  std::string working_directory_;
  std::set<std::string> known_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;  // device and inode of directories
  SearchPath found_;
};

void add_python_path(const EnvironmentBlock& environment, PathBuilder& builder) {
  const auto value = variable(environment, "PYTHONPATH");
  if (value.empty()) return;
  for (const auto element : split(value, ':')) builder.add(element, "PYTHONPATH");
}

void add_standard_library(const PythonLayout& layout, PathBuilder& builder) {
  const std::string origin = "standard library";
  const auto library = layout.standard_library();
  const auto dynamic = path_join(path_join(layout.base_exec_prefix, layout.library_directory),
                                 layout.directory_name() + "/lib-dynload");
  builder.add(path_join(path_directory(library), standard_library_zip(layout.series)), origin);
  builder.add(library, origin);
  // Python 2 compiled a longer list in (Modules/Setup.dist: PYTHONPATH).
  if (layout.is_python2())
    for (const auto* name : {"plat-linux2", "lib-tk", "lib-old"})
      builder.add(path_join(library, name), origin);
  builder.add(dynamic, origin);
}

std::vector<std::string> upstream_site_directories(const PythonLayout& layout,
                                                   const std::string& prefix) {
  std::vector<std::string> found;
  for (const auto& library : {layout.library_directory, std::string("lib")}) {
    const auto directory =
        path_join(path_join(prefix, library), layout.directory_name() + "/site-packages");
    if (found.empty() || found.back() != directory) found.push_back(directory);
  }
  return found;
}

// Debian keeps its own packages, its users' (pip as root) and virtual environments apart.
std::vector<std::string> debian_site_directories(const PythonLayout& layout,
                                                 const std::string& prefix) {
  const auto versioned = layout.directory_name();
  std::vector<std::string> found;
  if (layout.venv) found.push_back(path_join(prefix, "lib/" + versioned + "/site-packages"));
  found.push_back(path_join(prefix, "local/lib/" + versioned + "/dist-packages"));
  if (!layout.is_python2()) found.push_back(path_join(prefix, "lib/python3/dist-packages"));
  found.push_back(path_join(prefix, "lib/" + versioned + "/dist-packages"));
  return found;
}

void add_site_packages(const PythonLayout& layout, const SiteRules& rules,
                       const std::string& prefix, PathBuilder& builder) {
  const auto directories = rules.scheme == Scheme::kDebian
                               ? debian_site_directories(layout, prefix)
                               : upstream_site_directories(layout, prefix);
  for (const auto& directory : directories) builder.add_site(directory, "site-packages");
}

std::string user_site_directory(const System& system, const EnvironmentBlock& environment,
                                const PythonLayout& layout) {
  const auto base = variable(environment, "PYTHONUSERBASE");
  return path_join(base.empty() ? path_join(home_directory(system, environment), ".local") : base,
                   "lib/" + layout.directory_name() + "/site-packages");
}

// site.ENABLE_USER_SITE. Its other condition, that real and effective ids agree, holds for every
// program that is started the ordinary way.
bool is_user_site_enabled(const EnvironmentBlock& environment, const PythonLayout& layout) {
  return variable(environment, "PYTHONNOUSERSITE").empty() &&
         (!layout.venv || layout.venv->system_site);
}

// The prefixes of the last round. Fedora puts /usr/local in front unless it is building a package.
std::vector<std::string> base_prefixes(const EnvironmentBlock& environment,
                                       const PythonLayout& layout, const SiteRules& rules) {
  std::vector<std::string> prefixes;
  if (rules.scheme == Scheme::kFedora && is_user_site_enabled(environment, layout) &&
      !environment.contains("RPM_BUILD_ROOT"))
    prefixes.emplace_back("/usr/local");
  if (layout.venv && !layout.venv->system_site) return prefixes;
  prefixes.push_back(layout.base_prefix);
  if (layout.base_exec_prefix != layout.base_prefix) prefixes.push_back(layout.base_exec_prefix);
  return prefixes;
}

void add_site(const System& system, const EnvironmentBlock& environment, const PythonLayout& layout,
              const SiteRules& rules, PathBuilder& builder) {
  if (layout.venv) add_site_packages(layout, rules, layout.prefix, builder);
  const bool enabled = is_user_site_enabled(environment, layout);
  if (enabled) builder.add_user_site(user_site_directory(system, environment, layout));
  for (const auto& prefix : base_prefixes(environment, layout, rules))
    add_site_packages(layout, rules, prefix, builder);
  builder.note_customization("sitecustomize");
  if (enabled) builder.note_customization("usercustomize");
}

}  // namespace

SiteRules parse_site_rules(std::string_view site_py) {
  const auto says = [&](std::string_view text) {
    return site_py.find(text) != std::string_view::npos;
  };
  SiteRules rules;
  if (says("\"dist-packages\"")) rules.scheme = Scheme::kDebian;
  if (says("PREFIXES.insert(0, \"/usr/local\")")) rules.scheme = Scheme::kFedora;
  rules.skips_hidden_pth = says("not name.startswith(\".\")");
  return rules;
}

PthFile parse_pth(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  PthFile pth;
  for (const auto line : lines(text)) {
    // Python stops at a line that it cannot take for a path.
    if (line.find('\0') != std::string_view::npos) break;
    if (line.starts_with('#') || trim(line).empty()) continue;
    if (line.starts_with("import ") || line.starts_with("import\t"))
      pth.runs_code = true;
    else
      pth.paths.emplace_back(line.substr(0, line.find_last_not_of(" \t\r\n\v\f") + 1));
  }
  return pth;
}

SearchPath find_search_path(const System& system, const EnvironmentBlock& environment,
                            const PythonLayout& layout) {
  const auto site_py = system.read(path_join(layout.standard_library(), "site.py"));
  const auto rules = parse_site_rules(site_py.value_or(""));
  PathBuilder builder(system, rules, system.working_directory().value_or("/"));
  if (!layout.standard_library_found)
    builder.note("the standard library of " + layout.real_executable + " was not found");
  if (!variable(environment, "PYTHONPLATLIBDIR").empty())
    builder.note("PYTHONPLATLIBDIR is set, and its effect is not followed");
  add_python_path(environment, builder);
  add_standard_library(layout, builder);
  add_site(system, environment, layout, rules, builder);
  return builder.take();
}

}  // namespace gpuwright
