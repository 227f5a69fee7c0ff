#include "diagnose/rule.h"

// What the kernel's log tells of the hardware: power, BAR space, GPUs that fell off the bus.

namespace gpuwright {

std::span<const Rule> hardware_log_rules() { return {}; }

}  // namespace gpuwright
