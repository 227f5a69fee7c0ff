#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/version.h"
#include "machine/fact.h"

// Everything known about a machine, as plain data. Probes fill it from the live system, a snapshot
// from another machine, the text readers (partly) from pasted output. Rules judge it and nothing
// else. The JSON form comes from the field lists in machine/fields.h: a new field is a line here
// and a line there. Facts of the catalogue (names of GPUs, what a driver supports) are not facts of
// a machine and are not stored.

namespace gpuwright {

// ---------------------------------------------------------------------------- host

/// C++ runtime that a program started here and now would map.
struct CxxRuntime {
  std::string path;     ///< Resolved file of libstdc++.so.6.
  std::string glibcxx;  ///< Newest GLIBCXX_x.y.z it defines, "3.4.30".
  friend bool operator==(const CxxRuntime&, const CxxRuntime&) = default;
};

struct Host {
  Fact<std::string> distribution;          ///< ID of os-release: "ubuntu".
  Fact<std::string> distribution_version;  ///< VERSION_ID of os-release: "24.04".
  Fact<std::string> distribution_name;     ///< PRETTY_NAME of os-release.
  Fact<std::string> kernel_release;        ///< uname -r.
  Fact<std::string> architecture;          ///< uname -m: "x86_64", "aarch64".
  Fact<Version> glibc;                     ///< From the symbol versions that libc.so.6 defines.
  Fact<CxxRuntime> cxx_runtime;            ///< From the file that the loader's search finds.
  Fact<std::string> container;   ///< "docker", "podman", "kubernetes", "lxc", "apptainer",
                                 ///< "systemd-nspawn", "container"; absent on a host.
  Fact<std::string> hypervisor;  ///< "kvm", "vmware", "microsoft", "xen", "firecracker", ...;
                                 ///< absent on bare metal.
  Fact<std::string> sandbox;     ///< "gvisor"; absent otherwise. The kernel's files say less there.
  Fact<std::uint64_t> wsl;       ///< 1 or 2 under Windows Subsystem for Linux, absent elsewhere.
  Fact<bool> secure_boot;        ///< Of the EFI variable; absent on machines without EFI.
  Fact<std::string> kernel_lockdown;  ///< "none", "integrity", "confidentiality"; absent when the
                                      ///< kernel has no lockdown.
  Fact<std::string> device_cgroup;  ///< Rules of the v1 device cgroup, one a line; unknown under v2
                                    ///< (a BPF program).
  Fact<std::uint64_t> shm_bytes;    ///< Size of /dev/shm.
  Fact<std::uint64_t> memlock_bytes;      ///< Soft limit of locked memory; 2^64-1 for unlimited.
  Fact<std::uint64_t> uid;                ///< Effective user id.
  Fact<std::vector<std::string>> groups;  ///< Names of this user's groups ("#1003" where nameless).
  Fact<std::string> sudo_user;            ///< SUDO_USER: this process was started through sudo.
  friend bool operator==(const Host&, const Host&) = default;
};

// ------------------------------------------------------------------------ hardware

/// One NVIDIA display or 3D function on the PCI bus.
struct PciGpu {
  std::string address;          ///< "0000:3b:00.0".
  std::string device_id;        ///< Four lower-case hex digits, vendor 10de understood: "2335".
  std::string subsystem_id;     ///< "10de:18bf"; empty when unreadable.
  std::string class_code;       ///< "0x030200": 0300 VGA, 0302 3D controller.
  Fact<double> link_speed_gts;  ///< GT/s now, current_link_speed; lower than the maximum when idle.
  Fact<double> link_speed_max_gts;     ///< GT/s, max_link_speed.
  Fact<std::uint64_t> link_width;      ///< Lanes now, current_link_width.
  Fact<std::uint64_t> link_width_max;  ///< Lanes, max_link_width.
  Fact<std::uint64_t> numa_node;       ///< absent for -1 (one node, or the firmware does not say).
  Fact<std::string>
      driver;  ///< Kernel driver bound to it: "nvidia", "nouveau", "vfio-pci"; absent when none.
  Fact<bool> enabled;  ///< sysfs enable: memory and I/O decoding on.
  friend bool operator==(const PciGpu&, const PciGpu&) = default;
};

/// One GPU that the loaded driver lists, /proc/driver/nvidia/gpus/*/information.
struct DriverGpu {
  std::string address;        ///< PCI address: the directory's name.
  Fact<std::string> model;    ///< "NVIDIA H200"
  Fact<std::string> uuid;     ///< "GPU-..." ; "GPU-????..." while the GPU was never initialised.
  Fact<std::uint64_t> minor;  ///< N of /dev/nvidiaN.
  Fact<bool> excluded;        ///< "GPU Excluded: Yes"
  friend bool operator==(const DriverGpu&, const DriverGpu&) = default;
};

struct Hardware {
  Fact<std::vector<PciGpu>> gpus;            ///< In PCI order; an empty list is a fact.
  Fact<std::vector<DriverGpu>> driver_gpus;  ///< absent when no module is loaded.
  Fact<bool> nvswitch;  ///< An NVSwitch bridge (10de, class 0680) is on the bus.
  Fact<bool> dxg;       ///< /dev/dxg of WSL2 is there.
  friend bool operator==(const Hardware&, const Hardware&) = default;
};

// -------------------------------------------------------------------------- driver

/// An nvidia kernel module file on disk.
struct ModuleFile {
  std::string kernel;  ///< Kernel release whose tree it lies in.
  std::string path;
  Fact<Version> version;      ///< modinfo field of an uncompressed file; unknown for .zst, .xz.
  Fact<std::string> flavour;  ///< "open" (license Dual MIT/GPL) or "proprietary" (license NVIDIA).
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
  friend bool operator==(const Driver&, const Driver&) = default;
};

// ---------------------------------------------------------------------------- cuda

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

struct Cuda {
  Fact<std::vector<Toolkit>> toolkits;
  Fact<std::string> nvcc_on_path;                ///< Path of the nvcc that PATH chooses.
  Fact<std::vector<PathElement>> library_path;   ///< LD_LIBRARY_PATH, in order; absent when unset.
  Fact<std::vector<std::string>> preload;        ///< LD_PRELOAD and /etc/ld.so.preload, in order.
  std::map<std::string, std::string> variables;  ///< Environment variables that matter to GPU work
                                                 ///< and are set (probe/cuda.cpp lists them).
  Fact<bool> environment;                        ///< known(true) when the block could be read.
  friend bool operator==(const Cuda&, const Cuda&) = default;
};

// ------------------------------------------------------------------------- python

struct Distribution {
  std::string name;      ///< Normalised (PEP 503): "nvidia-cudnn-cu12".
  std::string version;   ///< As written in the metadata directory's name.
  std::string location;  ///< The sys.path directory.
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

struct Python {
  Fact<Interpreter> interpreter;  ///< absent when there is none.
  std::vector<SysPathEntry>
      sys_path;  ///< As the interpreter will build it, without the script's directory.
  std::vector<std::string> path_unknowns;  ///< What we could not follow: "x.pth runs code".
  std::vector<Distribution> distributions;
  std::vector<OtherEnvironment> others;
  friend bool operator==(const Python&, const Python&) = default;
};

// ---------------------------------------------------------------------- framework

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
  friend bool operator==(const Framework&, const Framework&) = default;
};

// ------------------------------------------------------------------------ machine

/// What a probe could not do as a whole: its deadline passed, or it threw.
struct ProbeNote {
  std::string probe;
  std::string text;
  friend bool operator==(const ProbeNote&, const ProbeNote&) = default;
};

struct Machine {
  Host host;
  Hardware hardware;
  Driver driver;
  Cuda cuda;
  Python python;
  std::vector<Framework> frameworks;
  std::vector<ProbeNote> notes;
  friend bool operator==(const Machine&, const Machine&) = default;
};

}  // namespace gpuwright
