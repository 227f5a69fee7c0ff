#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/version.h"
#include "machine/fact.h"

// The python rung: interpreter, sys.path, distributions, other environments. See machine/machine.h.

namespace gpuwright {

struct Distribution {
  std::string name;      ///< Normalised (PEP 503): "nvidia-cudnn-cu12".
  std::string version;   ///< As written in the metadata directory's name.
  std::string location;  ///< The sys.path directory.
  /// Requires-Dist of its metadata without extras: "numpy<2.0.0,>=1.23.5". Read for frameworks and
  /// the packages that go with them; empty for the rest.
  std::vector<std::string> requirements{};
  std::string requires_python{};  ///< Requires-Python; read for the same ones.
  std::string tag{};  ///< First tag of its WHEEL file, "cp312-cp312-manylinux_2_28_x86_64"; read
                      ///< for the same ones, empty for conda packages.
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

struct Interpreter {
  std::string path;         ///< As chosen: ".../venv/bin/python".
  std::string real_path;    ///< The ELF file that runs.
  std::string chosen_by;    ///< "--python", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH".
  std::string kind;         ///< "venv", "conda", "pyenv", "system", "other"
  std::string prefix;       ///< sys.prefix
  std::string base_prefix;  ///< sys.base_prefix
  Fact<Version> version;    ///< "3.12" or "3.12.3"
  Fact<std::string> libc;   ///< "glibc" or "musl", from PT_INTERP.
  bool user_site = false;   ///< ~/.local takes part.
  friend bool operator==(const Interpreter&, const Interpreter&) = default;
};

struct SysPathEntry {
  std::string path;
  std::string
      origin;  ///< "PYTHONPATH", "standard library", "site-packages", "user site", "NAME.pth"
  bool exists = false;
  friend bool operator==(const SysPathEntry&, const SysPathEntry&) = default;
};

/// Another environment on this machine, seen but not examined.
struct OtherEnvironment {
  std::string path;                     ///< Interpreter, or prefix.
  std::string kind;                     ///< "venv", "conda", "pyenv", "system", "jupyter kernel"
  std::vector<std::string> frameworks;  ///< "tensorflow 2.21.0"
  friend bool operator==(const OtherEnvironment&, const OtherEnvironment&) = default;
};

/// A file that `import` takes in place of the module it means.
struct ModuleShadow {
  std::string module;  ///< "tensorflow", "numpy", "random"
  std::string path;    ///< "/home/alice/project/tensorflow.py"
  std::string origin;  ///< "working directory", "PYTHONPATH", "user site"
  std::string hides;   ///< What the module would be without it; empty for the standard library.
  friend bool operator==(const ModuleShadow&, const ModuleShadow&) = default;
};

/// A command on PATH that acts on one interpreter's packages or runs code in it.
struct Launcher {
  std::string command;            ///< "pip", "pip3", "python", "python3", "jupyter", "ipython"
  std::string path;               ///< First on PATH.
  Fact<std::string> interpreter;  ///< It runs, links resolved; from its first line.
  Fact<std::string> prefix;       ///< Environment of that interpreter.
  friend bool operator==(const Launcher&, const Launcher&) = default;
};

/// A kernel that Jupyter offers, from kernel.json.
struct JupyterKernel {
  std::string name;          ///< Directory's name: "python3"
  std::string path;          ///< kernel.json
  std::string title;         ///< display_name
  std::string program;       ///< argv[0] as written: "/venv/bin/python", "python"
  Fact<std::string> prefix;  ///< Environment it runs in; absent when the program is not there.
  std::vector<std::string> frameworks;           ///< "tensorflow 2.21.0"
  std::map<std::string, std::string> variables;  ///< env of kernel.json that matters to GPU work.
  friend bool operator==(const JupyterKernel&, const JupyterKernel&) = default;
};

struct Python {
  Fact<Interpreter> interpreter;  ///< absent when there is none.
  std::vector<SysPathEntry>
      sys_path;  ///< As the interpreter will build it, without the script's directory.
  std::vector<std::string> path_unknowns;  ///< What we could not follow: "x.pth runs code".
  std::vector<Distribution> distributions;
  std::vector<OtherEnvironment> others;
  Fact<std::vector<ModuleShadow>> shadows;   ///< Of frameworks and what they import.
  Fact<std::vector<Launcher>> launchers;     ///< Of PATH.
  Fact<std::vector<JupyterKernel>> kernels;  ///< absent without Jupyter's directories.
  friend bool operator==(const Python&, const Python&) = default;
};

}  // namespace gpuwright
