#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace gpuwright {

/// The lines of a shell's start-up file, or of environment(5), that set a variable which matters to
/// GPU work: "export NAME=value", "NAME=value", also with quotes and after ';'. Conditions and
/// commands are not followed, so a line that is there may not be reached.
std::vector<DeclaredVariable> parse_declared(std::string_view text, const std::string& file,
                                             const std::string& scope);

}  // namespace gpuwright
