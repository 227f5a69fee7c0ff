#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/version.h"

// Typed access to the facts of catalog/*.toml, which are compiled into the binary and can be
// replaced by a directory at run time. Each file is parsed on first use, so that a command pays only
// for the tables it asks. Accessors never fail: a table that does not parse is a bug that the tests
// find (built in) or an error of Catalog::from_directory (given by the user).

namespace gpuwright {

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
  std::uint64_t branch = 0;          ///< 550
  Version cuda;                      ///< Highest CUDA it offers: "12.4".
  std::vector<std::string> architectures;
  std::string kernel_module;         ///< As written: flavours it offers.
};

/// Which drivers and module flavour an architecture needs, from drivers.toml.
struct ArchitectureSupport {
  std::string architecture;
  std::optional<std::uint64_t> first_branch;
  std::optional<std::uint64_t> last_branch;  ///< Nothing while still supported.
  std::string kernel_module;                 ///< "open only", "proprietary only", "both": as the row says.
};

/// One TensorFlow minor series, from tensorflow.toml.
struct TensorFlowRelease {
  Version version;                       ///< "2.15"
  std::optional<Version> cuda, cudnn;
  std::vector<std::string> sonames;      ///< Opened before a GPU is registered, in order; one missing is no GPU.
  std::vector<std::string> sonames_other;
  std::vector<std::string> sm_sass, sm_ptx;   ///< "8.0"
  std::optional<Version> driver_min;
  std::optional<Version> glibc_min;
  std::string missing_library_log;       ///< "import-error", "warning", "vlog1"
  bool finds_wheels = false;             ///< Its RUNPATH reaches site-packages/nvidia.
  bool needs_nvml = false;               ///< nvmlInit failing means no GPU.
};

/// One PyTorch build, from pytorch.toml.
struct TorchBuild {
  Version version;                       ///< "2.11"
  std::string variant;                   ///< "cu130"
  std::vector<std::string> sm_sass, sm_ptx;
  std::optional<Version> driver_min;
};

/// One JAX build, from jax.toml.
struct JaxBuild {
  Version version;                       ///< "0.11.2"
  std::uint64_t cuda_major = 0;          ///< 12, 13
  std::optional<Version> cuda, cudnn;
  std::vector<std::string> sm_sass, sm_ptx;
  std::optional<Version> driver_min;
};

class Catalog {
 public:
  /// The tables compiled into the binary.
  static const Catalog& built_in();
  /// Tables from DIR/*.toml; a file that is not there is taken from the binary. All are parsed at
  /// once, and the first fault is the error: "gpus.toml:12: ...".
  [[nodiscard]] static Result<Catalog> from_directory(const std::string& directory);

  /// By device id, four lower-case hex digits. Nothing for ids the catalogue does not know.
  std::optional<GpuModel> gpu(std::string_view device_id) const;

  /// The newest branch that is not above `driver`; exact when the branch has a row.
  std::optional<DriverBranch> driver_branch(const Version& driver) const;
  std::optional<ArchitectureSupport> architecture(std::string_view name) const;
  /// Highest CUDA that this driver offers; nothing below the oldest row.
  std::optional<Version> cuda_of_driver(const Version& driver) const;
  /// Lowest driver on which runtimes of this CUDA run: by major from 11 on (minor-version
  /// compatibility), by exact series before.
  std::optional<Version> driver_floor(const Version& cuda) const;

  /// The row of the minor series of `version`; for a newer release than the newest row, nothing.
  std::optional<TensorFlowRelease> tensorflow(const Version& version) const;
  std::optional<TorchBuild> torch(const Version& version, std::string_view variant) const;
  std::optional<JaxBuild> jax(const Version& version, std::uint64_t cuda_major) const;

  /// Raw text of one table: "xid", "platforms".
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
