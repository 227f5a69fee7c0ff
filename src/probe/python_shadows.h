#pragma once

#include <string>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"

namespace gpuwright {

/// Files of the working directory, of PYTHONPATH and of the user's site-packages that `import`
/// would take in place of a framework, of a package it imports, or of a module of the standard
/// library.
std::vector<ModuleShadow> find_shadows(const System& system,
                                       const std::vector<SysPathEntry>& search_path);

}  // namespace gpuwright
