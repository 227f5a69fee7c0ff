#include "diagnose/rule.h"

// Which interpreter, whose packages: launchers, kernels, leaks, shadows.

namespace gpuwright {

std::span<const Rule> python_environment_rules() { return {}; }

}  // namespace gpuwright
