#include "diagnose/rule.h"

// Files that bear the name of a GPU library and are none, or are of another version.

namespace gpuwright {

std::span<const Rule> library_file_rules() { return {}; }

}  // namespace gpuwright
