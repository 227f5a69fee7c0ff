#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/version.h"
#include "machine/fact.h"

// The hardware rung: NVIDIA functions on the PCI bus. See machine/machine.h.

namespace gpuwright {

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

}  // namespace gpuwright
