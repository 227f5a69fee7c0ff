#pragma once

#include <string>

#include "diagnose/framework_rule.h"

// Builds without GPU code: which way one came, and how to get the other.

namespace gpuwright {

/// The command that installs a GPU build of this release, for this kind of environment.
std::string gpu_install_command(const Machine& machine, const Catalog& catalog,
                                const Framework& framework);

Verdict build_has_gpu_code(const Machine& machine, const Catalog& catalog);

}  // namespace gpuwright
