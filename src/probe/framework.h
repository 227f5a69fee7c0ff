#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loader/loader.h"
#include "machine/machine.h"
#include "probe/probe.h"

// What the three framework probes share: where a package lies, and a modelled process whose
// mappings become ResolvedLibrary rows. The frameworks themselves: framework_tensorflow.cpp,
// framework_torch.cpp, framework_jax.cpp.

namespace gpuwright {

/// Everything a framework probe looks at.
struct FrameworkScene {
  const ProbeInput& input;
  loader::Config config;  ///< Of the chosen interpreter.
  std::string program;    ///< The interpreter's ELF file.

  const System& system() const { return input.system; }
  const Python& python() const { return input.machine.python; }
};

/// First directory on sys.path in which `file` exists; nothing when none has it.
std::optional<std::string> find_on_sys_path(const FrameworkScene& scene, const std::string& file);

/// The directories that `import nvidia` would search, in order: a portion with an __init__.py is a
/// regular package and stands alone, otherwise all portions of the namespace count.
std::vector<std::string> nvidia_portions(const FrameworkScene& scene);

/// Real paths of files called `name` in the lib directories of the nvidia wheels.
std::vector<std::string> copies_in_wheels(const FrameworkScene& scene, const std::string& name);

/// Distributions at `site` whose name is in `names`, which may hold patterns ("tensorflow*").
std::vector<Distribution> owners_at(const FrameworkScene& scene, const std::string& site,
                                    const std::vector<std::string>& names);

/// Version of a GPU library, from the first that tells: the real file's name
/// (libcudnn.so.9.19.0), the wheel or conda package that owns it. Unknown otherwise.
Fact<Version> library_version(const Python& python, const std::string& real_path);

/// True for the libraries that the library table is about: CUDA's, cuDNN, NCCL, the driver's, and
/// the C++ runtime, whatever directory they lie in ("libcudart-faf08d9a.so.13" is a CUDA runtime).
bool is_gpu_library(std::string_view file_name);

/// A modelled process that writes down which GPU libraries it maps, when, and by which rule.
class LibraryTrace {
 public:
  explicit LibraryTrace(const FrameworkScene& scene);

  /// Maps the interpreter. False when that alone fails, which leaves nothing to predict; `problem`
  /// says why.
  bool start(std::string& problem);

  /// Later rows carry this `when`: "import", "query", "device", "use" (see ResolvedLibrary).
  void at(std::string when) { when_ = std::move(when); }

  /// dlopen by code in `caller` (a mapped object), recorded with `role` whatever comes out. True
  /// when it is mapped afterwards.
  bool open(const std::string& name, std::optional<std::size_t> caller, const std::string& role);

  /// dlopen of an absolute path whose failure is ours to judge: not recorded itself, but the GPU
  /// libraries that it brings are. The loader's text on failure.
  std::optional<ImportProblem> load(const std::string& path);

  std::optional<std::size_t> find(const std::string& real_path_or_name) const;
  const loader::Process& process() const { return process_; }
  std::vector<ResolvedLibrary> take() { return std::move(rows_); }

 private:
  void record_new(std::size_t first, const std::string& role, const std::string& opener);
  ResolvedLibrary row_of(const loader::Mapped& object, const std::string& name,
                         const std::string& role) const;

  const FrameworkScene& scene_;
  loader::Process process_;
  std::string when_ = "import";
  std::vector<ResolvedLibrary> rows_;
};

/// What cuDNN 9 opens to tell its version, from inside the mapped libcudnn: libcudnn_graph. Nothing
/// when no libcudnn.so.9 is mapped; cuDNN 8 answers by itself.
void trace_cudnn_version(LibraryTrace& trace, const Python& python);

/// What cuDNN opens at the first convolution. For each part the names .so.9.19.0, .so.9.19, .so.9
/// are tried in this order.
void trace_cudnn_parts(LibraryTrace& trace, const Python& python);

/// libnvidia-ml.so.1 as a device of XLA opens it: not at all where NVML is not needed, and as
/// "optional" where that is not known.
void trace_nvml(LibraryTrace& trace, std::size_t caller, const Framework& framework);

/// "DT_RUNPATH" or "DT_RPATH" of a mapped object, absent when it has neither.
Fact<std::string> search_tag(const LibraryTrace& trace, std::size_t object);

/// Name, version and build of "tensorflow-base-2.19.1-cuda128py312h9ab3b26_1.json" in conda-meta.
struct CondaBuild {
  std::string name, version, build;
};
std::optional<CondaBuild> parse_conda_build(std::string_view entry);

/// Fills `variant` and `conda_build`.
void describe_origin(const FrameworkScene& scene, Framework& framework);

Framework examine_tensorflow(const FrameworkScene& scene, const std::string& site);
Framework examine_torch(const FrameworkScene& scene, const std::string& site);
Framework examine_jax(const FrameworkScene& scene, const std::string& site);

/// A version out of text, or unknown with what was there.
Fact<Version> version_fact(const std::string& text, const std::string& source);

}  // namespace gpuwright
