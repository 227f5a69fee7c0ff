#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/version.h"
#include "machine/fact.h"

// The cuda and libraries rungs: toolkits, search paths, variables, copies of libraries. See
// machine/machine.h.

namespace gpuwright {

struct Toolkit {
  std::string root;          ///< Real directory: "/usr/local/cuda-13.0".
  Fact<Version> version;     ///< version.json, version.txt, or nvcc's own profile.
  bool on_path = false;      ///< Its nvcc is the one PATH chooses.
  bool linked = false;       ///< /usr/local/cuda leads to it.
  Fact<std::string> nvcc;    ///< Path; absent when the toolkit has no compiler.
  Fact<std::string> compat;  ///< compat/ directory in it that holds a libcuda.
  friend bool operator==(const Toolkit&, const Toolkit&) = default;
};

/// One element of a search path variable.
struct PathElement {
  std::string text;  ///< As written; "" is the current directory.
  bool exists = false;
  std::string
      holds;  ///< GPU libraries seen in it, comma separated: "libcudnn.so.9, libcuda.so.1 (stub)".
  friend bool operator==(const PathElement&, const PathElement&) = default;
};

/// A place that sets a variable of the environment for some kind of start, and not for others.
struct DeclaredVariable {
  std::string name;   ///< "LD_LIBRARY_PATH"
  std::string value;  ///< As written: "/usr/local/cuda/lib64:$LD_LIBRARY_PATH"
  std::string file;   ///< "/home/alice/.bashrc", "/etc/profile.d/cuda.sh", "/etc/environment"
  std::string scope;  ///< "interactive shell", "login shell", "every session", "conda activation",
                      ///< "systemd unit"
  friend bool operator==(const DeclaredVariable&, const DeclaredVariable&) = default;
};

/// A file that bears the name of a GPU library, in a directory where a search could find it.
struct LibraryCopy {
  std::string family;     ///< "cudnn", "cublas", "cudart", ... : one product, one version.
  std::string path;       ///< As found.
  std::string real_path;  ///< With links resolved; empty for a broken link.
  std::string soname;     ///< DT_SONAME; empty when unreadable or none.
  Fact<Version> version;  ///< From the real file's name, else from its soname.
  /// "library", "empty", "lfs-pointer" (a Git LFS text in its place), "text" (a linker script, a
  /// web page), "damaged" (cut short), "broken-link", "unreadable", "other-architecture", "stub"
  std::string kind;
  std::string origin;  ///< "LD_LIBRARY_PATH", "ld.so.cache", "toolkit", "wheel", "conda"
  friend bool operator==(const LibraryCopy&, const LibraryCopy&) = default;
};

struct Cuda {
  Fact<std::vector<Toolkit>> toolkits;
  Fact<std::string> nvcc_on_path;                ///< Path of the nvcc that PATH chooses.
  Fact<std::vector<PathElement>> library_path;   ///< LD_LIBRARY_PATH, in order; absent when unset.
  Fact<std::vector<std::string>> preload;        ///< LD_PRELOAD and /etc/ld.so.preload, in order.
  std::map<std::string, std::string> variables;  ///< Environment variables that matter to GPU work
                                                 ///< and are set (probe/cuda.cpp lists them).
  Fact<bool> environment;                        ///< known(true) when the block could be read.
  Fact<std::vector<DeclaredVariable>>
      declared;                           ///< Variables of the loader and of CUDA, where they
                                          ///< are set for shells, sessions and services.
  Fact<std::vector<LibraryCopy>> copies;  ///< Of the GPU libraries; at most 500.
  friend bool operator==(const Cuda&, const Cuda&) = default;
};

}  // namespace gpuwright
