#include "diagnose/rule.h"

// Limits of the host that end GPU work: room, memory, clock, open files.

namespace gpuwright {

std::span<const Rule> host_limit_rules() { return {}; }

}  // namespace gpuwright
