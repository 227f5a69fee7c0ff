#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "base/system.h"
#include "machine/machine.h"

namespace gpuwright {

/// Names and values of one environment block.
using EnvironmentBlock = std::map<std::string, std::string>;

/// The interpreter that `wanted` names: a file, an environment's directory, or a bare command name
/// that is looked up on PATH. An empty `wanted` chooses as a command typed here and now would:
/// VIRTUAL_ENV, CONDA_PREFIX, then `python` on PATH, or `python3` where there is no `python` or it
/// is Python 2. Version managers' shims are followed by their own rules. The error is one reason;
/// ENOENT in its code means that nothing was asked for and there is no Python at all.
[[nodiscard]] Result<Interpreter> choose_interpreter(const System& system,
                                                     const EnvironmentBlock& environment,
                                                     const std::string& wanted);

}  // namespace gpuwright
