#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/system.h"
#include "base/version.h"
#include "machine/fact.h"
#include "probe/python.h"

namespace gpuwright {

/// What a pyvenv.cfg says. Written by venv, virtualenv and uv.
struct VenvConfig {
  std::string home;         ///< Directory of the base interpreter; empty when not stated.
  bool system_site = true;  ///< include-system-site-packages; site.py takes "true" when not stated.
  std::string version;      ///< "3.11.7" of `version` or `version_info`; of the day it was created.
  friend bool operator==(const VenvConfig&, const VenvConfig&) = default;
};

/// What CPython's getpath works out before the first import, from files alone.
struct PythonLayout {
  std::string executable;                 ///< sys.executable: absolute, links kept.
  std::string real_executable;            ///< The ELF file, all links resolved.
  std::string series;                     ///< "3.11"; "3.13t" for a free-threaded build.
  Fact<Version> version;                  ///< As exact as files tell: "3.11.7" or "3.11".
  Fact<std::string> libc;                 ///< "glibc" or "musl"; absent for a static interpreter.
  std::string library_directory = "lib";  ///< sys.platlibdir: "lib", or "lib64" on Fedora and SUSE.
  std::string prefix;                     ///< sys.prefix
  std::string base_prefix;                ///< sys.base_prefix
  std::string base_exec_prefix;           ///< sys.base_exec_prefix
  bool standard_library_found = false;    ///< base_prefix is a finding; otherwise a guess.
  std::optional<VenvConfig> venv;         ///< Set in a virtual environment.

  bool is_python2() const { return series.starts_with("2."); }
  /// "python3.11"
  std::string directory_name() const { return "python" + series; }
  /// "/usr/lib/python3.11"
  std::string standard_library() const;
};

VenvConfig parse_pyvenv_cfg(std::string_view text);

/// "3.11", or "3.13t", of "python3.11", "python3.13t", "libpython3.11.so.1.0"; empty when the name
/// does not tell.
std::string parse_python_series(std::string_view file_name);

/// "python311.zip": where CPython looks for a zipped standard library, there or not.
std::string standard_library_zip(const std::string& series);

/// PY_VERSION of patchlevel.h; empty when it is not there.
std::string parse_patchlevel(std::string_view text);

/// The layout of the interpreter at the absolute path `executable`; an error with one reason when
/// that is not a CPython that could be started.
[[nodiscard]] Result<PythonLayout> find_python_layout(const System& system,
                                                      const EnvironmentBlock& environment,
                                                      const std::string& executable);

/// A regular file that somebody may execute, links followed.
bool is_executable_file(const System& system, const std::string& path);

/// A directory, links followed.
bool is_directory(const System& system, const std::string& path);

/// The variable's value; empty when it is not set, which CPython does not tell apart either.
std::string variable(const EnvironmentBlock& environment, const std::string& name);

/// os.path.abspath: `path` against `directory`, with ".", ".." and "//" folded as text.
std::string absolute_path(std::string_view directory, std::string_view path);

/// os.path.expanduser("~"): HOME, or the home of this user in /etc/passwd.
std::string home_directory(const System& system, const EnvironmentBlock& environment);

}  // namespace gpuwright
