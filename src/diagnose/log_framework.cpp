#include "diagnose/rule.h"

namespace gpuwright {

std::span<const Rule> log_framework_rules() { return {}; }

}  // namespace gpuwright
