#include "diagnose/rule.h"

// Settings of a framework that change what it does with the GPU.

namespace gpuwright {

std::span<const Rule> framework_setting_rules() { return {}; }

}  // namespace gpuwright
