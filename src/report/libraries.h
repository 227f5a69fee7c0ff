#pragma once

#include <string>
#include <vector>

#include "machine/machine.h"
#include "report/layout.h"

namespace gpuwright {

/// "torch 2.11.0", or the name alone.
std::string name_and_version(const std::string& name, const std::string& version);

/// The tables of `check --libraries`, one a framework: library, version, rule, file, and below it
/// what the file shadows.
void write_libraries(Page& page, const std::vector<Framework>& frameworks);

}  // namespace gpuwright
