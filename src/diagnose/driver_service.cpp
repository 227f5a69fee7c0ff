#include "diagnose/rule.h"

// MIG, MPS, vGPU licences, and a driver that no longer answers.

namespace gpuwright {

std::span<const Rule> driver_service_rules() { return {}; }

}  // namespace gpuwright
