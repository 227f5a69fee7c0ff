#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "machine/machine.h"

// Questions that many rules ask of a machine before their own: where does this program stand, is
// the module loaded, which copy of a library would be taken.

namespace gpuwright {

/// Who keeps the kernel's side of the driver where this program runs. A rule about modules, nodes
/// or the bus holds only where that side can be seen and mended.
enum class Setting {
  kHost,       ///< This system itself, on bare metal or as a virtual machine.
  kContainer,  ///< The host's kernel and module; nodes and libraries as handed in.
  kGvisor,     ///< A kernel of its own between us and the host's: no version file, no PCI tree.
  kWsl,        ///< WSL 2: Windows has the driver, Linux gets /dev/dxg.
  kUnknown,
};
Setting setting_of(const Machine& machine);

/// WSL 2, in a container or not.
bool is_wsl(const Machine& machine);
/// A Jetson: its GPU is part of the chip and not on the PCI bus.
bool is_jetson(const Machine& machine);

enum class Tristate { kNo, kYes, kUnknown };

/// Whether the nvidia module is in the running kernel.
Tristate module_loaded(const Machine& machine);
/// Whether `name` ("nvidia_uvm") is among the loaded modules.
Tristate has_module(const Machine& machine, std::string_view name);
/// Whether any part of NVIDIA's driver is installed on this system.
Tristate driver_installed(const Machine& machine);

/// Whether a GPU's own node (/dev/nvidia0, not nvidiactl) is there.
Tristate has_gpu_node(const Machine& machine);

/// Whether a CUDA program of this user makes the nodes that are missing: nvidia-modprobe with the
/// setuid bit does it for everybody, and libcuda itself for root (seen with driver 580 in a /dev
/// without them). In a container nobody does.
bool makes_missing_nodes(const Machine& machine);

/// The module file of the running kernel that holds nvidia.ko; null when none is known.
const ModuleFile* module_file(const Machine& machine, std::string_view kernel);

/// The copy of `name` that a plain program would load; null when there is none or it is unknown.
const DriverLibrary* chosen_library(const Machine& machine, std::string_view name);

/// Last lines of the kernel's log that hold one of `needles`, oldest first.
std::vector<Evidence> log_lines(const Machine& machine,
                                std::initializer_list<std::string_view> needles,
                                std::size_t at_most = 3);

}  // namespace gpuwright
