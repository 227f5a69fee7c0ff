#pragma once

#include <string>

#include "base/result.h"
#include "base/system.h"
#include "machine/machine.h"
#include "probe/python.h"
#include "probe/python_layout.h"

namespace gpuwright {

/// The interpreter, how it was come by, and what getpath makes of it.
struct ChosenPython {
  PythonLayout layout;
  std::string chosen_by;  ///< "--python", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH"
  std::string source;     ///< For a fact: chosen_by with the value or the shim that led on.
};

/// See choose_interpreter in probe/python.h, which is this with another result.
[[nodiscard]] Result<ChosenPython> choose_python(const System& system,
                                                 const EnvironmentBlock& environment,
                                                 const std::string& wanted);

/// The machine's value of a choice. `user_site` as the search path found it.
Interpreter describe_interpreter(const System& system, const EnvironmentBlock& environment,
                                 const ChosenPython& python, bool user_site);

/// bin/python of an environment, or bin/python3; empty when it has neither, not even as a link.
std::string interpreter_of_environment(const System& system, const std::string& prefix);

}  // namespace gpuwright
