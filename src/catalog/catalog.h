#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/system.h"
#include "base/version.h"

// Typed access to the facts of catalog/*.toml. The tables are turned into constants when the
// program is built, so that looking something up reads no file and parses no TOML; a directory of
// TOML files can replace them at run time. Accessors never fail: what is in a Catalog has been
// checked before, and "nothing" means that the catalogue does not know.
//
// Compute capabilities are Versions ("9.0"); fields say which column they come from where the name
// does not tell. docs/catalog.md explains the tables.

namespace gpuwright {

/// Which flavour of NVIDIA's kernel modules a GPU needs or a driver branch offers.
enum class ModuleFlavour { kProprietary, kOpen, kEither };

/// "proprietary", "open", "either".
std::string_view name_of(ModuleFlavour flavour);

/// A GPU by its PCI device id, from gpus.toml.
struct GpuModel {
  std::string device_id;       ///< "2335"
  std::string name;            ///< "H200 SXM 141GB"; empty when the id's row has no name.
  std::string chip;            ///< "GH100"
  std::string architecture;    ///< "Hopper"
  Version compute_capability;  ///< "9.0"
};

/// One driver branch, from drivers.toml.
struct DriverBranch {
  std::uint64_t branch = 0;     ///< 550
  std::optional<Version> cuda;  ///< Highest CUDA it offers ("12.4"); nothing when unconfirmed.
  std::vector<std::string> architectures;  ///< That it drives: "Turing", "Ampere", ...
  ModuleFlavour kernel_module = ModuleFlavour::kEither;  ///< Flavours it offers.
};

/// Which drivers and module flavour an architecture needs, from drivers.toml.
struct ArchitectureSupport {
  std::string architecture;                   ///< "Pascal"
  std::optional<std::uint64_t> first_branch;  ///< Nothing when not confirmed.
  std::optional<std::uint64_t> last_branch;   ///< Nothing while still supported.
  /// Flavours that can drive it. kEither still needs a branch that offers the open one (515 or
  /// newer).
  ModuleFlavour kernel_module = ModuleFlavour::kEither;
};

/// One CUDA toolkit series, from cuda.toml.
struct CudaSeries {
  Version version;                        ///< "12.5"
  std::vector<std::string> sonames;       ///< Of its run-time libraries.
  std::vector<std::string> sm_supported;  ///< Compute capabilities that its nvcc accepts: "9.0".
  std::optional<Version> ptx_isa;         ///< "8.5"
};

/// The cuDNN releases first..last (minor series, both inclusive), from cudnn.toml.
struct CudnnSeries {
  Version first, last;            ///< "9.7", "9.10"
  std::string soname;             ///< "libcudnn.so.9"
  std::optional<Version> cc_min;  ///< Lowest compute capability that it runs on.
  std::optional<Version> cc_max;  ///< Newest one that NVIDIA's matrix names; newer may not run.
};

/// How a TensorFlow release tells that a GPU library is missing.
enum class MissingLibraryLog {
  kImportError,  ///< The import fails and names it.
  kWarning,      ///< A warning names it.
  kVerboseOnly,  ///< Named only with TF_CPP_MAX_VLOG_LEVEL=1; "Cannot dlopen" says no name.
};

/// One TensorFlow minor series (Linux x86_64 GPU build), from tensorflow.toml.
struct TensorFlowRelease {
  Version version;                                ///< "2.15"
  std::optional<Version> python_min, python_max;  ///< CPython series with a Linux wheel.
  std::optional<Version> cuda, cudnn;             ///< Of the official build.
  std::vector<std::string>
      sonames;  ///< Opened before a GPU is registered, in order; one missing is no GPU.
  std::vector<std::string> sonames_other;  ///< Opened later or when used.
  std::vector<std::string> sm_sass;        ///< Compute capabilities with machine code: "8.0".
  std::vector<std::string> sm_ptx;         ///< With PTX.
  std::optional<Version> driver_min;       ///< Column driver_min_linux.
  std::optional<Version> glibc_min;        ///< That the wheel's tag asks for.
  MissingLibraryLog missing_library_log = MissingLibraryLog::kVerboseOnly;
  std::string opener;  ///< Object in tensorflow/ that calls dlopen; empty when not confirmed.
  bool finds_wheels = false;  ///< This very release finds the libraries of its pip extra by itself.
  bool needs_nvml = false;    ///< nvmlInit failing means no GPU.
};

/// One PyTorch build, from pytorch.toml.
struct TorchBuild {
  Version version;                     ///< "2.11"
  std::string variant;                 ///< "cu130"
  std::string architecture;            ///< "x86_64", "aarch64"
  std::optional<Version> cuda, cudnn;  ///< Of the build.
  std::vector<std::string> sm_sass, sm_ptx;
  std::optional<Version> driver_min;
};

/// One JAX build, from jax.toml.
struct JaxBuild {
  Version version;                             ///< "0.11.2"
  std::uint64_t cuda_major = 0;                ///< 12, 13
  std::optional<Version> cuda, cudnn;          ///< Built with; nothing when not confirmed.
  std::optional<Version> cuda_min, cudnn_min;  ///< Oldest accepted at run time.
  std::vector<std::string> sm_sass, sm_ptx;
  std::optional<Version> driver_min;
  bool needs_nvml = false;  ///< nvmlInit failing means no GPU.
};

/// Which TensorFlow a companion's release was made for, from companions.toml.
struct CompanionMatch {
  Version tensorflow;     ///< "2.15"
  bool or_newer = false;  ///< That one or a newer one; otherwise exactly that minor series.
};

/// How far an Xid goes, from xid.toml.
enum class XidSeverity {
  kInfo,     ///< For the log only.
  kWarning,  ///< Work goes on.
  kError,    ///< The program is dead or wrong, the GPU is usable again.
  kFatal,    ///< The GPU, or the machine, is unusable until a reset, a reboot or a repair.
};

/// An error number of the kernel's driver, from xid.toml.
struct Xid {
  std::uint64_t code = 0;  ///< 79
  std::string title;       ///< "GPU has fallen off the bus"
  std::string meaning;     ///< Sentences; may be empty.
  XidSeverity severity = XidSeverity::kInfo;
  std::string fault;        ///< Whose: "application", "driver", "firmware", "hardware", ...
  std::string action;       ///< Key of [meta.action_values]: "reset_gpu", "reboot", ...
  bool gpu_usable = false;  ///< New work may start on the GPU before any repair.
};

class Catalog {
 public:
  /// The tables compiled into the binary.
  static const Catalog& built_in();
  /// Tables from directory/*.toml; a file that is not there is taken from the binary. All are read
  /// at once, and the first fault is the error: "DIRECTORY/gpus.toml:12: ...".
  [[nodiscard]] static Result<Catalog> from_directory(const System& system,
                                                      const std::string& directory);

  /// By device id, four lower-case hex digits. Nothing for ids the catalogue does not know.
  std::optional<GpuModel> gpu(std::string_view device_id) const;

  /// The newest branch that is not above `driver`; exact when the branch has a row.
  std::optional<DriverBranch> driver_branch(const Version& driver) const;
  std::optional<ArchitectureSupport> architecture(std::string_view name) const;
  /// Highest CUDA that this driver offers; nothing below the oldest row and for branches whose
  /// CUDA is not confirmed.
  std::optional<Version> cuda_of_driver(const Version& driver) const;
  /// Lowest driver on which runtimes of this CUDA run: that of its series; for a series without a
  /// row, that of its major (minor-version compatibility, from 11 on).
  std::optional<Version> driver_floor(const Version& cuda) const;

  /// The row of the minor series of `version`: 12.5 for 12.5.1.
  std::optional<CudaSeries> cuda_series(const Version& version) const;
  /// The row whose range holds the minor series of `version`.
  std::optional<CudnnSeries> cudnn(const Version& version) const;

  /// The row of the minor series of `version`; for a newer release than the newest row, nothing.
  std::optional<TensorFlowRelease> tensorflow(const Version& version) const;
  /// The newest series with a row: what lies above is unknown, not wrong.
  Version newest_tensorflow() const;
  /// The row of the minor series of `version`.
  std::optional<TorchBuild> torch(const Version& version, std::string_view variant,
                                  std::string_view architecture = "x86_64") const;
  /// The row of exactly this release.
  std::optional<JaxBuild> jax(const Version& version, std::uint64_t cuda_major) const;

  /// First release of "tensorflow", "torch" or "jax" that is built for NumPy 2.
  std::optional<Version> first_numpy2(std::string_view framework) const;
  /// What the release of a companion ("tensorflow-addons") goes with. Rows of two numbers stand for
  /// their minor series, the others for themselves; nothing for a release without a row.
  std::optional<CompanionMatch> companion(std::string_view package, const Version& version) const;

  std::optional<Xid> xid(std::uint64_t code) const;

  /// Raw text of one table: "xid", "platforms". Empty for a name that is no table.
  std::string_view text(std::string_view table) const;

  Catalog(Catalog&&) noexcept;
  Catalog& operator=(Catalog&&) noexcept;
  ~Catalog();

 private:
  Catalog();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuwright
