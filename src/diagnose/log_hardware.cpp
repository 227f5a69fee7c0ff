#include "diagnose/rule.h"

namespace gpuwright {

std::span<const Rule> log_hardware_rules() { return {}; }

}  // namespace gpuwright
