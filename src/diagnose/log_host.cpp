#include "diagnose/rule.h"

namespace gpuwright {

std::span<const Rule> log_host_rules() { return {}; }

}  // namespace gpuwright
