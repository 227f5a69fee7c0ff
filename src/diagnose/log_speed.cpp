#include "diagnose/rule.h"

namespace gpuwright {

std::span<const Rule> log_speed_rules() { return {}; }

}  // namespace gpuwright
