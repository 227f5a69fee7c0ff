#include "diagnose/rule.h"

// Variables that are set for one kind of start and not for this one.

namespace gpuwright {

std::span<const Rule> cuda_environment_rules() { return {}; }

}  // namespace gpuwright
