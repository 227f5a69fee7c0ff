#pragma once

#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"

// /dev/nvidia*: the files through which user space reaches the loaded module. Their permissions are
// asked for this process, never opened: opening a GPU's node initialises the GPU.

namespace gpuwright {

/// Orders names as people count: "nvidia2" before "nvidia10".
bool natural_less(std::string_view a, std::string_view b);

/// Nodes in /dev and in its directories nvidia-caps and nvidia-caps-imex-channels, in natural
/// order.
Fact<std::vector<DeviceNode>> read_device_nodes(const System& system);

/// Whether the helper that makes missing nodes is installed and may do so for everyone (setuid).
Fact<bool> read_node_helper(const System& system);

}  // namespace gpuwright
