#include "diagnose/rule.h"

// Packages that have to fit the framework: numpy, protobuf, companions.

namespace gpuwright {

std::span<const Rule> framework_package_rules() { return {}; }

}  // namespace gpuwright
