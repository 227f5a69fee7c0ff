#include "probe/python_shim.h"

#include <optional>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "probe/facts.h"
#include "probe/python_layout.h"

// pyenv and asdf put small shell scripts on PATH that choose an interpreter each time they start.
// Their rules are followed here without running them.
//
// pyenv (libexec/pyenv-version-file, -version-name, -which, -latest): PYENV_VERSION, else
// .python-version in the working directory or above, else PYENV_ROOT/version. Several versions are
// asked in order; "system" is PATH without the shims; "3.12" means the newest installed 3.12.x.
// asdf: ASDF_PYTHON_VERSION, else the python line of .tool-versions, the same way upward, else of
// the one in the home directory.

namespace gpuwright {
namespace {

// What a container image gets, and a shell without PATH much the same.
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

struct Setting {
  std::string versions;
  std::string source;
};

// `directory` and everything above it, "/" last.
std::vector<std::string> upward(std::string directory) {
  std::vector<std::string> found;
  for (; directory != "/" && directory != "."; directory = path_directory(directory))
    found.push_back(directory);
  found.emplace_back("/");
  return found;
}

template <class Parse>
std::optional<Setting> setting_of_file(const System& system, const std::string& file, Parse parse) {
  const auto text = system.read(file, 1 << 16);
  if (!text) return std::nullopt;
  const auto versions = parse(*text);
  if (versions.empty()) return std::nullopt;
  return Setting{versions, file};
}

template <class Parse>
std::optional<Setting> setting_upward(const System& system, const std::string& name, Parse parse) {
  for (const auto& directory : upward(system.working_directory().value_or("/")))
    if (exists(system, path_join(directory, name)))
      return setting_of_file(system, path_join(directory, name), parse);
  return std::nullopt;
}

Setting pyenv_setting(const System& system, const EnvironmentBlock& environment,
                      const std::string& root) {
  const auto value = variable(environment, "PYENV_VERSION");
  if (!value.empty()) return {value, "PYENV_VERSION"};
  if (const auto found = setting_upward(system, ".python-version", parse_pyenv_version_file))
    return *found;
  return setting_of_file(system, path_join(root, "version"), parse_pyenv_version_file)
      .value_or(Setting{"system", "pyenv's default"});
}

// Not offered for a prefix: development builds and pre-releases, and free-threaded ones only when
// asked for by a trailing 't'.
bool is_offered(std::string_view name, bool free_threaded) {
  if (name.ends_with("-dev") || name.ends_with("-src") || name.ends_with("-latest")) return false;
  const auto letters = name.find_last_not_of("0123456789");
  const bool numbered = letters + 1 < name.size();
  if (numbered &&
      (name[letters] == 'a' || name[letters] == 'b' || name.substr(0, letters + 1).ends_with("rc")))
    return false;
  return name.ends_with('t') == free_threaded;
}

// pyenv-latest: the newest installed version that begins with `wanted` and '.' or '-'.
std::string newest_pyenv_version(const System& system, const std::string& versions,
                                 const std::string& wanted) {
  const bool free_threaded = wanted.ends_with('t');
  const auto stem = free_threaded ? wanted.substr(0, wanted.size() - 1) : wanted;
  std::string newest;
  const auto entries = system.list(versions);
  if (!entries) return newest;
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with(stem + ".") && !entry.name.starts_with(stem + "-")) continue;
    if (!is_offered(entry.name, free_threaded)) continue;
    const auto best = Version::parse(newest);
    const auto here = Version::parse(entry.name);
    if (newest.empty() || (here && best && *here > *best)) newest = entry.name;
  }
  return newest;
}

std::string pyenv_prefix(const System& system, const std::string& root, std::string_view version) {
  constexpr std::string_view kExplicit = "python-";
  const auto versions = path_join(root, "versions");
  if (version.find('/') != std::string_view::npos || version == "..") return {};
  const auto bare = version.starts_with(kExplicit) ? version.substr(kExplicit.size()) : version;
  for (const auto name : {version, bare})
    if (exists(system, path_join(versions, name))) return path_join(versions, name);
  const auto newest = newest_pyenv_version(system, versions, std::string(bare));
  return newest.empty() ? std::string() : path_join(versions, newest);
}

Result<FoundProgram> follow_pyenv(const System& system, const EnvironmentBlock& environment,
                                  const std::string& shim, const std::string& root) {
  const std::string name(path_name(shim));
  const auto setting = pyenv_setting(system, environment, root);
  auto versions = split(setting.versions, ':');
  versions.emplace_back("system");  // pyenv-which tries it last
  for (const auto version : versions) {
    const auto prefix = pyenv_prefix(system, root, version);
    const auto program = version == "system"
                             ? find_on_path(system, environment, name, path_directory(shim))
                             : path_join(prefix, "bin/" + name);
    if (version != "system" && prefix.empty()) continue;
    if (is_executable_file(system, program))
      return FoundProgram{program, "pyenv, by " + setting.source};
  }
  return fail("is a pyenv shim, and " + setting.source + " names " + setting.versions +
                  ", which has no " + name,
              shim);
}

Setting asdf_setting(const System& system, const EnvironmentBlock& environment) {
  const auto value = variable(environment, "ASDF_PYTHON_VERSION");
  if (!value.empty()) return {value, "ASDF_PYTHON_VERSION"};
  if (const auto found = setting_upward(system, ".tool-versions", parse_tool_versions))
    return *found;
  const auto home = path_join(home_directory(system, environment), ".tool-versions");
  return setting_of_file(system, home, parse_tool_versions).value_or(Setting{"", home});
}

Result<FoundProgram> follow_asdf(const System& system, const EnvironmentBlock& environment,
                                 const std::string& shim) {
  const std::string name(path_name(shim));
  const auto root = path_directory(path_directory(shim));
  const auto setting = asdf_setting(system, environment);
  for (const auto version : words(setting.versions)) {
    const auto program =
        version == "system"
            ? find_on_path(system, environment, name, path_directory(shim))
            : path_join(root, "installs/python/" + std::string(version) + "/bin/" + name);
    if (is_executable_file(system, program))
      return FoundProgram{program, "asdf, by " + setting.source};
  }
  return fail("is an asdf shim, and no installed version is set for it (" + setting.source + ")",
              shim);
}

}  // namespace

Shim parse_shim(std::string_view script) {
  Shim shim;
  if (!script.starts_with("#!")) return shim;
  if (value_after(script, "# asdf-plugin:")) shim.manager = Shim::Manager::kAsdf;
  if (script.find("/pyenv\" exec ") != std::string_view::npos) {
    shim.manager = Shim::Manager::kPyenv;
    const auto quoted = split(value_after(script, "export PYENV_ROOT=").value_or(""), '"');
    if (quoted.size() > 1) shim.root = std::string(quoted[1]);
  }
  return shim;
}

std::string parse_pyenv_version_file(std::string_view text) {
  std::vector<std::string> versions;
  for (const auto line : lines(text)) {
    const auto pieces = words(line);
    if (!pieces.empty() && !pieces[0].starts_with('#')) versions.emplace_back(pieces[0]);
  }
  return join(versions, ":");
}

std::string parse_tool_versions(std::string_view text) {
  std::vector<std::string> versions;
  for (const auto line : lines(text)) {
    const auto pieces = words(line.substr(0, line.find('#')));
    if (pieces.empty() || pieces[0] != "python" || !versions.empty()) continue;
    versions.assign(pieces.begin() + 1, pieces.end());
  }
  return join(versions, " ");
}

std::string find_on_path(const System& system, const EnvironmentBlock& environment,
                         const std::string& name, const std::string& left_out) {
  const auto found = environment.find("PATH");
  const std::string path = found == environment.end() ? kDefaultPath : found->second;
  const auto working_directory = system.working_directory().value_or("/");
  for (const auto element : split(path, ':')) {
    const auto directory = absolute_path(working_directory, element);
    if (directory == left_out) continue;
    auto program = path_join(directory, name);
    if (is_executable_file(system, program)) return program;
  }
  return {};
}

Result<FoundProgram> follow_shim(const System& system, const EnvironmentBlock& environment,
                                 const std::string& path) {
  constexpr std::size_t kShimBytes = 1 << 14;
  const auto text = system.read(path, kShimBytes);
  if (!text) return tl::unexpected(text.error());
  if (!text->starts_with("#!")) return FoundProgram{path, {}};
  const auto shim = parse_shim(*text);
  switch (shim.manager) {
    case Shim::Manager::kPyenv:
      return follow_pyenv(system, environment, path,
                          shim.root.empty() ? path_directory(path_directory(path)) : shim.root);
    case Shim::Manager::kAsdf:
      return follow_asdf(system, environment, path);
    case Shim::Manager::kNone:
      break;
  }
  return fail("is a script that starts another program", path);
}

}  // namespace gpuwright
