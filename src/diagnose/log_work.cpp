#include "diagnose/rule.h"

namespace gpuwright {

std::span<const Rule> log_work_rules() { return {}; }

}  // namespace gpuwright
