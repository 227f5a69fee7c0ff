#include "diagnose/rule.h"

namespace gpuwright {

std::span<const Rule> log_container_rules() { return {}; }

}  // namespace gpuwright
