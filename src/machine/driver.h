#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/version.h"
#include "machine/fact.h"

// The driver rung: kernel modules, nodes, the driver's libraries and services. See
// machine/machine.h.

namespace gpuwright {

/// An nvidia kernel module file on disk.
struct ModuleFile {
  std::string kernel;  ///< Kernel release whose tree it lies in.
  std::string path;
  Fact<Version> version;      ///< modinfo field of an uncompressed file; unknown for .zst, .xz.
  Fact<std::string> flavour;  ///< "open" (license Dual MIT/GPL) or "proprietary" (license NVIDIA).
  Fact<std::string> vermagic{};  ///< Kernel release it was built for, first word of vermagic.
  friend bool operator==(const ModuleFile&, const ModuleFile&) = default;
};

/// One DKMS tree of nvidia for one kernel.
struct DkmsBuild {
  std::string module;  ///< "nvidia", "nvidia-open"
  Version version;
  std::vector<std::string> built_for;  ///< Kernel releases.
  friend bool operator==(const DkmsBuild&, const DkmsBuild&) = default;
};

struct DeviceNode {
  std::string path;  ///< "/dev/nvidia0"
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t mode = 0;  ///< Permission bits.
  std::uint64_t uid = 0;
  std::uint64_t gid = 0;
  std::string owner_group;  ///< "video"; "#44" where nameless.
  Fact<bool> usable;        ///< This user may open it for reading and writing.
  std::string refusal;      ///< "" | "mode" (EACCES) | "cgroup" (EPERM) | other text.
  friend bool operator==(const DeviceNode&, const DeviceNode&) = default;
};

/// A copy of libcuda.so.1 or libnvidia-ml.so.1 (by either name) somewhere a search could reach.
struct DriverLibrary {
  std::string name;  ///< "libcuda.so.1"
  std::string path;  ///< As found.
  std::string real_path;
  /// "driver", "compat", "stub", "wsl", "empty" (zero length), "not-elf", "damaged", "wrong-class",
  /// "unreadable" (no permission: the loader passes it over)
  std::string kind;
  Fact<Version> version;  ///< From the real file's name.
  std::string
      found_by;  ///< "ld.so.cache", "LD_LIBRARY_PATH", "default directory", "well-known directory"
  bool chosen = false;  ///< The one where a plain program's search ends: loaded, or refused.
  friend bool operator==(const DriverLibrary&, const DriverLibrary&) = default;
};

/// One line of a package manager's log about a driver or kernel package.
struct PackageEvent {
  std::string time;     ///< As logged: "2026-11-20 06:12:33", "2026-11-20T06:12:33+0100".
  std::string action;   ///< "install", "upgrade", "remove", "downgrade"
  std::string package;  ///< "libnvidia-compute-550"
  std::string from;     ///< Version before; empty for an install.
  std::string to;       ///< Version after; empty for a removal.
  std::string log;      ///< "/var/log/dpkg.log"
  friend bool operator==(const PackageEvent&, const PackageEvent&) = default;
};

/// A process that holds a GPU's node open or maps a library of the driver.
struct DriverHolder {
  std::uint64_t pid = 0;
  std::string name;   ///< comm: "python3"
  std::string holds;  ///< "/usr/lib/.../libcuda.so.550.54.14 (deleted)", "/dev/nvidia0"
  friend bool operator==(const DriverHolder&, const DriverHolder&) = default;
};

/// A task in uninterruptible sleep (state D) inside the driver.
struct BlockedTask {
  std::uint64_t pid = 0;
  std::string name;   ///< comm
  std::string where;  ///< wchan: "nvidia_ioctl", "rwsem_down_read_slowpath"; empty when hidden.
  friend bool operator==(const BlockedTask&, const BlockedTask&) = default;
};

/// What /proc/driver/nvidia/capabilities tells of one GPU.
struct MigGpu {
  std::uint64_t minor = 0;              ///< N of gpuN, which is that of /dev/nvidiaN.
  std::uint64_t gpu_instances = 0;      ///< Directories gi*.
  std::uint64_t compute_instances = 0;  ///< Directories ci* in them.
  friend bool operator==(const MigGpu&, const MigGpu&) = default;
};

struct Driver {
  Fact<Version>
      module_version;  ///< Loaded module: /proc/driver/nvidia/version, /sys/module/nvidia/version.
  Fact<std::string> module_flavour;  ///< "open" or "proprietary", of the loaded module.
  Fact<std::vector<std::string>>
      loaded_modules;               ///< Of nvidia*, nouveau, vfio_pci, nova_core: names with '_'.
  Fact<std::string> newest_kernel;  ///< Newest release under /lib/modules.
  Fact<std::vector<ModuleFile>> module_files;  ///< For the running and the newest kernel.
  Fact<std::vector<DkmsBuild>> dkms;           ///< /var/lib/dkms; absent without DKMS.
  Fact<bool> nouveau_blacklisted;              ///< A modprobe.d line or kernel parameter says so.
  Fact<std::vector<DeviceNode>> nodes;         ///< /dev/nvidia*, an empty list is a fact.
  Fact<bool> node_helper;  ///< /usr/bin/nvidia-modprobe is there with the setuid bit: it makes
                           ///< missing nodes and loads nvidia_uvm when a CUDA program asks.
  Fact<std::uint64_t> uvm_major;  ///< nvidia-uvm in /proc/devices; absent when not registered.
  Fact<std::vector<DriverLibrary>> libraries;
  Fact<Version>
      user_space_version;         ///< Version of the libcuda.so.1 that a plain program would load.
  Fact<bool> persistence_daemon;  ///< nvidia-persistenced runs (its socket or PID file).
  Fact<bool> fabric_manager_running;        ///< nv-fabricmanager runs; absent when not installed.
  Fact<Version> fabric_manager_version;     ///< Installed version.
  Fact<std::vector<std::string>> packages;  ///< "nvidia-driver-550 550.54.14-0ubuntu1" of dpkg or
                                            ///< rpm-less hosts; absent when no dpkg.
  Fact<std::vector<std::string>>
      kernel_log;  ///< Lines of NVRM, nvidia, nouveau, module refusals, newest last, at most 200.
  Fact<std::vector<PackageEvent>> package_history;  ///< Of driver and kernel packages, newest last,
                                                    ///< at most 50; absent when no log is kept.
  /// Version installed by NVIDIA's .run file; absent when there is no trace of one. Its trace:
  /// /usr/bin/nvidia-uninstall or /var/lib/nvidia/log.
  Fact<Version> runfile;
  Fact<std::vector<DriverHolder>> holders;  ///< Processes whose /proc could be read; at most 50.
  Fact<std::vector<BlockedTask>> blocked;   ///< An empty list is a fact.
  Fact<std::vector<MigGpu>> mig;            ///< absent when no GPU offers MIG.
  Fact<std::string> mps_directory;  ///< CUDA_MPS_PIPE_DIRECTORY or /tmp/nvidia-mps when it exists.
  Fact<bool> mps_daemon;            ///< nvidia-cuda-mps-control runs and listens there.
  Fact<bool> vgpu_guest;            ///< The GPU is a share made by a host's vGPU manager.
  Fact<bool> licence_daemon;        ///< nvidia-gridd runs; absent when not installed.
  Fact<bool> licence_configured;    ///< A client token or a server stands in /etc/nvidia.
  Fact<bool> gsp_firmware;          ///< /lib/firmware/nvidia/<module version>/gsp_*.bin is there.
  std::map<std::string, std::string> module_options;  ///< "nvidia.NVreg_EnableGpuFirmware" = "0",
                                                      ///< of modprobe.d and the kernel's line.
  friend bool operator==(const Driver&, const Driver&) = default;
};

}  // namespace gpuwright
