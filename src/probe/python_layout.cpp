#include "probe/python_layout.h"

#include <array>
#include <set>
#include <vector>

#include "base/text.h"
#include "loader/elf.h"
#include "probe/facts.h"

// CPython's getpath (Modules/getpath.c up to 3.10, Modules/getpath.py from 3.11): the executable's
// place on disk decides where the standard library is looked for. The version is compiled into the
// interpreter and not written in any header of the file, so it is taken from names around it.

namespace gpuwright {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's own limit, MAXSYMLINKS

// Upstream builds say "lib"; Fedora, RHEL and SUSE configure --with-platlibdir=lib64.
constexpr std::array<const char*, 2> kLibraryDirectories = {"lib", "lib64"};

// The names that `path` goes through. CPython follows the links of the file itself and leaves those
// of its directories alone, so that a linked prefix keeps the name by which it was entered.
std::vector<std::string> link_chain(const System& system, const std::string& path) {
  std::vector<std::string> chain{path};
  while (chain.size() <= kMaxLinks) {
    const auto target = system.read_link(chain.back());
    if (!target) break;
    chain.push_back(target->starts_with('/') ? *target
                                             : path_join(path_directory(chain.back()), *target));
  }
  return chain;
}

Result<loader::ElfObject> read_program(const System& system, const std::string& path) {
  const auto file = system.open(path);
  if (!file) return tl::unexpected(file.error());
  const auto object = loader::read_elf(**file);
  if (object) return *object;
  const auto start = system.read(path, 2);
  if (start && *start == "#!") return fail("is a script that starts another program", path);
  return fail("is not a program of this machine: " + object.error().message, path);
}

Result<FileStatus> program_status(const System& system, const std::string& path) {
  const auto status = system.status(path);
  if (!status) {
    const auto target = system.read_link(path);
    if (target && is_not_there(status.error()))
      return fail("is a link to " + *target + ", which is not there", path);
    return fail(status.error().message, path);
  }
  if (status->kind == FileKind::kDirectory) return fail("is a directory, not an interpreter", path);
  if (status->kind != FileKind::kRegular) return fail("is not a regular file", path);
  if ((status->mode & 0111) == 0) return fail("is not executable", path);
  return *status;
}

// Up from `start` until `holds`, the way getpath does: the root directory itself is never tried.
template <class Predicate>
std::string search_up(std::string start, Predicate holds) {
  for (; start.size() > 1; start = path_directory(start))
    if (start.starts_with('/') && holds(start)) return start;
  return {};
}

bool holds_standard_library(const System& system, const std::string& library,
                            const std::string& series) {
  const auto directory = path_join(library, "python" + series);
  return exists(system, path_join(directory, "os.py")) ||
         exists(system, path_join(directory, "os.pyc")) ||
         exists(system, path_join(library, standard_library_zip(series)));
}

// The first prefix above one of `starts` that holds the standard library.
void find_standard_library(const System& system, const std::vector<std::string>& starts,
                           PythonLayout& layout) {
  for (const auto& start : starts) {
    for (const std::string name : kLibraryDirectories) {
      const auto prefix = search_up(start, [&](const std::string& directory) {
        return holds_standard_library(system, path_join(directory, name), layout.series);
      });
      if (prefix.empty()) continue;
      layout.library_directory = name;
      layout.base_prefix = absolute_path("/", prefix);
      layout.standard_library_found = true;
      const auto dynamic = search_up(start, [&](const std::string& directory) {
        return is_directory(system, path_join(path_join(directory, name),
                                              layout.directory_name() + "/lib-dynload"));
      });
      layout.base_exec_prefix = dynamic.empty() ? layout.base_prefix : absolute_path("/", dynamic);
      return;
    }
  }
}

// PYTHONHOME is "prefix" or "prefix:exec_prefix" and is believed without a look.
void take_python_home(const System& system, const std::string& home, PythonLayout& layout) {
  const auto colon = home.find(':');
  layout.base_prefix = home.substr(0, colon);
  layout.base_exec_prefix =
      colon == std::string::npos ? layout.base_prefix : home.substr(colon + 1);
  layout.standard_library_found = true;
  for (const std::string name : kLibraryDirectories)
    if (holds_standard_library(system, path_join(layout.base_prefix, name), layout.series))
      layout.library_directory = name;
}

// site.py looks beside the executable and then one level above it.
std::optional<VenvConfig> find_venv(const System& system, const std::string& executable) {
  const auto beside = path_directory(executable);
  for (const auto& directory : {beside, path_directory(beside)})
    if (const auto text = system.read(path_join(directory, "pyvenv.cfg"), 1 << 16))
      return parse_pyvenv_cfg(*text);
  return std::nullopt;
}

bool is_since_3_11(const std::string& series) {
  const auto dot = series.find('.');
  const auto minor = parse_unsigned(series.substr(dot + 1, series.find('t') - dot - 1));
  return series.starts_with("3.") && minor.value_or(0) >= 11;
}

// Where the search for the standard library begins. `home` counts from 3.11 on wherever the
// configuration is found, before that only when it lies by the file that the links lead to (a venv
// made of copies). What follows stands for the prefix that was compiled in and cannot be read: the
// real file's place, the one that a shared build's RUNPATH names, and /usr.
std::vector<std::string> search_starts(const System& system, const PythonLayout& layout,
                                       const std::string& linked,
                                       const loader::ElfObject& program) {
  std::vector<std::string> starts;
  if (layout.venv && is_since_3_11(layout.series)) starts.push_back(layout.venv->home);
  if (!is_since_3_11(layout.series))
    if (const auto by_file = find_venv(system, linked)) starts.push_back(by_file->home);
  starts.push_back(path_directory(linked));
  starts.push_back(path_directory(layout.real_executable));
  const auto run_path = program.runpath.value_or(program.rpath.value_or(""));
  for (const auto directory : split(run_path, ':')) starts.emplace_back(directory);
  starts.emplace_back("/usr/bin");
  return starts;
}

// The only series with a library directory in `prefix`, of those that hold the standard library or
// else of all (a virtual environment's); empty for none or several.
std::string series_by_directory(const System& system, const std::string& prefix) {
  std::set<std::string> holding;
  std::set<std::string> all;
  for (const std::string name : kLibraryDirectories) {
    const auto library = path_join(prefix, name);
    const auto entries = system.list(library);
    if (!entries) continue;
    for (const auto& entry : *entries) {
      const auto series = parse_python_series(entry.name);
      if (series.empty() || entry.name != "python" + series) continue;
      all.insert(series);
      if (holds_standard_library(system, library, series)) holding.insert(series);
    }
  }
  const auto& found = holding.empty() ? all : holding;
  return found.size() == 1 ? *found.begin() : std::string();
}

// The library that is linked in, then the file's own name and the names that led to it, then the
// virtual environment's note of the day it was made, then the one library directory there is.
std::string find_series(const System& system, const std::vector<std::string>& chain,
                        const PythonLayout& layout, const std::vector<std::string>& needed) {
  std::vector<std::string> names;
  for (const auto& library : needed)
    if (library.starts_with("libpython")) names.push_back(library);
  names.emplace_back(path_name(layout.real_executable));
  for (auto link = chain.rbegin(); link != chain.rend(); ++link)
    names.emplace_back(path_name(*link));
  if (layout.venv) names.push_back("python" + layout.venv->version);
  for (const auto& name : names)
    if (auto series = parse_python_series(name); !series.empty()) return series;
  return series_by_directory(system, path_directory(path_directory(layout.real_executable)));
}

bool is_of_series(const Version& version, const std::string& series) {
  return parse_python_series("python" + version.text()) == series.substr(0, series.find('t'));
}

// conda-meta/python-3.12.3-hab00c5b_0_cpython.json
std::string conda_python_version(const System& system, const std::string& prefix) {
  const auto entries = system.list(path_join(prefix, "conda-meta"));
  if (!entries) return {};
  for (const auto& entry : *entries) {
    const auto pieces = split(entry.name, '-');
    if (pieces.size() == 3 && pieces[0] == "python" && entry.name.ends_with(".json"))
      return std::string(pieces[1]);
  }
  return {};
}

// The header of the base installation, conda's record, then the virtual environment's note, which
// goes stale when the base is upgraded; at last the series itself.
Fact<Version> find_version(const System& system, const PythonLayout& layout) {
  const auto header =
      path_join(layout.base_prefix, "include/" + layout.directory_name() + "/patchlevel.h");
  const std::pair<std::string, std::string> notes[] = {
      {parse_patchlevel(system.read(header, 1 << 16).value_or("")), header},
      {conda_python_version(system, layout.base_prefix),
       path_join(layout.base_prefix, "conda-meta")},
      {layout.venv ? layout.venv->version : "", path_join(layout.prefix, "pyvenv.cfg")},
  };
  for (const auto& [text, source] : notes) {
    const auto version = Version::parse(text);
    if (version && is_of_series(*version, layout.series))
      return Fact<Version>::known(*version, source);
  }
  return Fact<Version>::known(Version::of(layout.series.substr(0, layout.series.find('t'))),
                              layout.real_executable);
}

Fact<std::string> libc_of(const loader::ElfObject& object, const std::string& path) {
  const auto source = "PT_INTERP of " + path;
  if (object.interpreter.empty()) return Fact<std::string>::absent(source);
  const auto name = path_name(object.interpreter);
  if (name.starts_with("ld-musl")) return Fact<std::string>::known("musl", source);
  if (name.starts_with("ld-linux") || name.starts_with("ld64"))
    return Fact<std::string>::known("glibc", source);
  return Fact<std::string>::unknown(source, "loader " + object.interpreter + " is not known here");
}

}  // namespace

std::string PythonLayout::standard_library() const {
  return path_join(path_join(base_prefix, library_directory), directory_name());
}

VenvConfig parse_pyvenv_cfg(std::string_view text) {
  VenvConfig config;
  for (const auto line : lines(text)) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto key = lower(trim(line.substr(0, equals)));
    const auto value = trim(line.substr(equals + 1));
    if (key == "home") config.home = std::string(value);
    if (key == "include-system-site-packages") config.system_site = lower(value) == "true";
    if (key == "version") config.version = std::string(value);
    // virtualenv writes "3.11.7.final.0", uv "3.12.3".
    if (key == "version_info") config.version = std::string(value.substr(0, value.find(".final")));
  }
  return config;
}

std::string parse_python_series(std::string_view file_name) {
  constexpr std::string_view kPython = "python";
  const auto at = file_name.find(kPython);
  if (at == std::string_view::npos) return {};
  const auto rest = file_name.substr(at + kPython.size());
  const auto end = rest.find_first_not_of("0123456789.");
  const auto places = split(rest.substr(0, end), '.');
  if (places.size() < 2 || places[0].empty() || places[1].empty()) return {};
  const bool free_threaded =
      places.size() == 2 && end != std::string_view::npos && rest[end] == 't';
  return std::string(places[0]) + "." + std::string(places[1]) + (free_threaded ? "t" : "");
}

std::string parse_patchlevel(std::string_view text) {
  const auto value = value_after(text, "#define PY_VERSION ").value_or("");
  const auto pieces = split(value, '"');
  return pieces.size() < 2 ? std::string() : std::string(pieces[1]);
}

Result<PythonLayout> find_python_layout(const System& system, const EnvironmentBlock& environment,
                                        const std::string& executable) {
  if (const auto status = program_status(system, executable); !status)
    return tl::unexpected(status.error());
  PythonLayout layout;
  layout.executable = executable;
  layout.real_executable = system.resolve(executable).value_or(executable);
  const auto program = read_program(system, layout.real_executable);
  if (!program) return tl::unexpected(program.error());
  layout.libc = libc_of(*program, layout.real_executable);

  layout.venv = find_venv(system, executable);
  const auto chain = link_chain(system, executable);
  layout.series = find_series(system, chain, layout, program->needed);
  if (layout.series.empty())
    return fail("is no CPython whose version could be told", layout.real_executable);

  const auto home = variable(environment, "PYTHONHOME");
  if (home.empty())
    find_standard_library(system, search_starts(system, layout, chain.back(), *program), layout);
  else
    take_python_home(system, home, layout);
  if (!layout.standard_library_found)
    layout.base_prefix = layout.base_exec_prefix =
        path_directory(path_directory(layout.real_executable));
  layout.prefix = layout.venv ? path_directory(path_directory(executable)) : layout.base_prefix;
  layout.version = find_version(system, layout);
  return layout;
}

std::string standard_library_zip(const std::string& series) {
  std::string name = "python" + series + ".zip";
  name.erase(name.find('.'), 1);
  return name;
}

bool is_executable_file(const System& system, const std::string& path) {
  const auto status = system.status(path);
  return status && status->kind == FileKind::kRegular && (status->mode & 0111) != 0;
}

bool is_directory(const System& system, const std::string& path) {
  const auto status = system.status(path);
  return status && status->kind == FileKind::kDirectory;
}

std::string variable(const EnvironmentBlock& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::string absolute_path(std::string_view directory, std::string_view path) {
  const std::string whole = path.starts_with('/') ? std::string(path) : path_join(directory, path);
  std::vector<std::string> kept;
  for (const auto piece : split(whole, '/')) {
    if (piece.empty() || piece == ".") continue;
    if (piece != "..")
      kept.emplace_back(piece);
    else if (!kept.empty())
      kept.pop_back();
  }
  return "/" + join(kept, "/");
}

std::string home_directory(const System& system, const EnvironmentBlock& environment) {
  const auto found = environment.find("HOME");
  if (found != environment.end()) return found->second.empty() ? "/" : found->second;
  const auto who = system.identity();
  const auto passwd = system.read("/etc/passwd");
  if (!who || !passwd) return "/";
  for (const auto line : lines(*passwd)) {
    const auto fields = split(line, ':');
    if (fields.size() >= 6 && parse_unsigned(fields[2]) == who->uid) return std::string(fields[5]);
  }
  return "/";
}

}  // namespace gpuwright
