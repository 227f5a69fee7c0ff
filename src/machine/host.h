#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/version.h"
#include "machine/fact.h"

// The host rung: the system that everything runs on. See machine/machine.h.

namespace gpuwright {

/// C++ runtime that a program started here and now would map.
struct CxxRuntime {
  std::string path;     ///< Resolved file of libstdc++.so.6.
  std::string glibcxx;  ///< Newest GLIBCXX_x.y.z it defines, "3.4.30".
  friend bool operator==(const CxxRuntime&, const CxxRuntime&) = default;
};

/// Room on one file system, statvfs(2) of a directory.
struct FileSpace {
  std::string path;     ///< Directory that was asked about: "/tmp".
  std::string purpose;  ///< "temporary files", "shared memory", "environment", "home",
                        ///< "pip cache", "CUDA cache", "root"
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;    ///< For an unprivileged user.
  std::uint64_t total_inodes = 0;  ///< 0 where the file system makes them as needed (btrfs).
  std::uint64_t free_inodes = 0;
  bool read_only = false;
  friend bool operator==(const FileSpace&, const FileSpace&) = default;
};

/// The system's clock, and what it can be held against without a network.
struct Clock {
  std::uint64_t now_s = 0;          ///< Seconds since the epoch.
  std::uint64_t newest_file_s = 0;  ///< Newest change of a file that a sound clock cannot precede.
  std::string newest_file;          ///< That file: "/var/lib/dpkg/status".
  Fact<bool> synchronised;          ///< The kernel is told so by a time service (adjtimex).
  friend bool operator==(const Clock&, const Clock&) = default;
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
  Fact<std::vector<FileSpace>> spaces;    ///< Of the directories that GPU work fills.
  Fact<std::uint64_t> open_files;         ///< Soft limit of open files (RLIMIT_NOFILE).
  Fact<std::string> cpu_model;            ///< "AMD EPYC 9654 96-Core Processor"
  Fact<std::vector<std::string>> cpu_features;  ///< Of /proc/cpuinfo, those that builds are made
                                                ///< for: "sse4_2", "avx", "avx2", "fma", "avx512f".
  Fact<Clock> clock;
  Fact<std::uint64_t> memory_bytes;        ///< MemTotal.
  Fact<std::uint64_t> memory_limit_bytes;  ///< Of this process's cgroup; absent without one.
  /// Whose environment is judged when it is not this process's: "systemd unit train.service",
  /// "user alice", "cron", "file prod.env"; absent otherwise.
  Fact<std::string> environment_of;
  friend bool operator==(const Host&, const Host&) = default;
};

}  // namespace gpuwright
