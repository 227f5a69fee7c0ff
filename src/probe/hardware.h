#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "machine/machine.h"

// The hardware rung: NVIDIA functions on the PCI bus as sysfs shows them
// (Documentation/ABI/testing/sysfs-bus-pci of the kernel), and the GPUs that the loaded driver
// lists.

namespace gpuwright {

/// GT/s of "32.0 GT/s PCIe" (since Linux 5.x), "8 GT/s" (before); nothing for "Unknown".
std::optional<double> parse_link_speed(std::string_view text);

/// Lanes; nothing for a number that is no PCIe width: 0 (no link), 63 and 255 (the device is gone).
std::optional<std::uint64_t> parse_link_width(std::string_view text);

/// Four digits of "0x10de", in lower case; nothing for another form.
std::optional<std::string> parse_pci_id(std::string_view text);

/// A GPU's /proc/driver/nvidia/gpus/<address>/information.
DriverGpu parse_gpu_information(const std::string& address, std::string_view text);

}  // namespace gpuwright
