#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"
#include "probe/python.h"

namespace gpuwright {

/// The interpreter that a script's first line names: a path, or a bare command ("python3" of
/// "#!/usr/bin/env python3"). Also that of the /bin/sh form in which pip writes scripts whose path
/// is too long for a first line. Empty for anything else.
std::string parse_script_interpreter(std::string_view script);

/// pip, python, jupyter and ipython of PATH, each with the environment it acts on. Those that are
/// not on PATH are left out.
std::vector<Launcher> find_launchers(const System& system, const EnvironmentBlock& environment);

}  // namespace gpuwright
