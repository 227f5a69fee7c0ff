#include "diagnose/rule.h"

namespace gpuwright {

std::span<const Rule> log_library_rules() { return {}; }

}  // namespace gpuwright
