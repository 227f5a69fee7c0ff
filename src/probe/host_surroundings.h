#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/system.h"
#include "machine/fact.h"

// What this system runs inside of: a container, a virtual machine, Windows, gVisor. They decide
// which of the other facts can be trusted. In a container the bus is the host's and the device
// nodes are one's own; under gVisor and WSL the driver's /proc files are missing on a sound
// machine.

namespace gpuwright {

/// "docker", "podman", … from the value that managers give the variable `container` of their first
/// process (https://systemd.io/CONTAINER_INTERFACE); nothing for "wsl" and the empty value.
std::optional<std::string> container_of_variable(std::string_view value);

/// Kind of container by the control group of process 1, /proc/1/cgroup; nothing when the text does
/// not tell (under version 2 with a namespace of its own it reads "0::/" everywhere).
std::optional<std::string> container_of_cgroup(std::string_view text);

/// Kind of container by the mounts, /proc/self/mountinfo: what backs "/".
std::optional<std::string> container_of_mounts(std::string_view text);

/// Kind of hypervisor by one of the firmware's texts: "QEMU", "VMware, Inc.".
std::optional<std::string> hypervisor_of_firmware(std::string_view text);

/// Whether the CPU says that it is a virtual one: the flag "hypervisor" of /proc/cpuinfo. Nothing
/// on architectures that have no such flag.
std::optional<bool> cpu_is_virtual(std::string_view cpuinfo);

/// WSL version by the kernel's release; nothing for another kernel.
std::optional<std::uint64_t> wsl_of_release(std::string_view release);

Fact<std::string> read_container(const System& system);
Fact<std::string> read_hypervisor(const System& system, const Fact<std::uint64_t>& wsl);
Fact<std::string> read_sandbox(const System& system);
Fact<std::uint64_t> read_wsl(const System& system);

}  // namespace gpuwright
