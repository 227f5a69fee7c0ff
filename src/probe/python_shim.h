#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/system.h"
#include "probe/python.h"

namespace gpuwright {

/// The version manager whose shim a script is.
struct Shim {
  enum class Manager { kNone, kPyenv, kAsdf };
  Manager manager = Manager::kNone;
  std::string root;  ///< PYENV_ROOT as the shim itself exports it; empty when it does not.
  friend bool operator==(const Shim&, const Shim&) = default;
};

Shim parse_shim(std::string_view script);

/// A version file's words as pyenv joins them: "3.12.1:3.11.7".
std::string parse_pyenv_version_file(std::string_view text);

/// The versions that a .tool-versions file names for python: "3.12.0 system".
std::string parse_tool_versions(std::string_view text);

/// The first executable of that name on PATH, "" when there is none. A directory `left_out` is
/// passed over.
std::string find_on_path(const System& system, const EnvironmentBlock& environment,
                         const std::string& name, const std::string& left_out = {});

/// A program, and how it was come by.
struct FoundProgram {
  std::string path;
  std::string note;  ///< "pyenv, by /root/.pyenv/version"; empty where a name led straight to it.
};

/// The program that the script at `path` starts, by its manager's rule; `path` itself when it is no
/// script. An error for a script of another kind, or when the manager would find nothing.
[[nodiscard]] Result<FoundProgram> follow_shim(const System& system,
                                               const EnvironmentBlock& environment,
                                               const std::string& path);

}  // namespace gpuwright
