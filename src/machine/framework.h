#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/version.h"
#include "machine/fact.h"

// The framework rung: what an import and a first device query will do. See machine/machine.h.

namespace gpuwright {

/// How a library name comes out of the loader's search, asked by one object.
struct ResolvedLibrary {
  std::string name;  ///< As asked for: "libcudnn.so.9".
  /// When it is mapped: "import", "query" (first device query, whatever comes of it), "device"
  /// (only when CUDA could be initialised), "use" (first convolution, first compile).
  std::string when;
  std::string role;  ///< "required" (no GPU without it), "linked" (no import without it), "driver",
                     ///< "nvml", "optional", "sub-library", "dependency"
  std::string opener;  ///< Path of the object that asks.
  std::string
      rule;  ///< Stage that answered: "DT_RPATH of ...", "LD_LIBRARY_PATH", "DT_RUNPATH",
             ///< "ld.so.cache", "default directory", "already mapped", "absolute path", "preload"
  std::string state;      ///< "found", "missing", "unloadable", "unknown"
  std::string path;       ///< As the loader opens it; empty unless found or unloadable.
  std::string real_path;  ///< What /proc/PID/maps will show.
  Fact<Version> version;
  std::string error;  ///< What the loader would say; empty when found.
  std::vector<std::string>
      shadows;  ///< Real paths of other copies that later stages would have found.
  /// Copies in this environment's wheels that the search does not reach; only when not found.
  std::vector<std::string> elsewhere;
  friend bool operator==(const ResolvedLibrary&, const ResolvedLibrary&) = default;
};

/// An object that will not load when the framework is imported.
struct ImportProblem {
  std::string object;  ///< The extension module or library that fails.
  std::string error;  ///< The loader's text: "libcublas.so.12: cannot open shared object file: ..."
  friend bool operator==(const ImportProblem&, const ImportProblem&) = default;
};

struct Framework {
  std::string name;          ///< "tensorflow", "torch", "jax"
  std::string distribution;  ///< The one that owns it: "tensorflow-cpu"; empty when none does.
  std::vector<std::string> owners;  ///< All distributions that claim the package directory.
  Fact<Version> version;
  std::string location;                    ///< Package directory.
  Fact<std::string> build;                 ///< "cuda", "cpu", "rocm", "xpu"
  Fact<Version> build_cuda;                ///< CUDA it was built with.
  Fact<Version> build_cudnn;               ///< cuDNN it was built with; often only the major.
  Fact<std::vector<std::string>> targets;  ///< "sm_80" machine code, "compute_90" PTX.
  Fact<std::string> opener;                ///< Object whose dlopen finds the GPU libraries.
  Fact<std::string> opener_tag;  ///< "DT_RUNPATH $ORIGIN/..." or "DT_RPATH ..." or absent.
  std::vector<ResolvedLibrary> libraries;  ///< In opening order, the driver's last.
  std::vector<ImportProblem> import_problems;
  Fact<std::string> plugin;  ///< JAX: "jax-cuda13-plugin 0.11.2"; absent without one.
  Fact<Version> plugin_version;
  Fact<Version> core_version;      ///< JAX: version of jaxlib.
  Fact<bool> needs_nvml;           ///< The GPU backend gives up when NVML does not initialise.
  std::vector<std::string> notes;  ///< What the prediction does not cover.
  Fact<std::string> variant;       ///< Local part of the version: "cpu", "cu126"; absent without.
  Fact<std::string>
      conda_build;          ///< Build string of conda-meta: "cuda128py312h..."; absent in pip's.
  Fact<std::string> ptxas;  ///< The ptxas that its compiler (XLA, Triton) would run; absent when
                            ///< its search finds none.
  Fact<std::string> libdevice;  ///< libdevice.10.bc likewise, where the build needs the file.
  friend bool operator==(const Framework&, const Framework&) = default;
};

}  // namespace gpuwright
