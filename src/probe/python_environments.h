#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"
#include "probe/python.h"

namespace gpuwright {

/// argv[0] of a Jupyter kernel.json when it is an absolute path; empty otherwise. A bare "python"
/// there means the interpreter that runs the Jupyter server.
std::string parse_kernelspec(std::string_view json);

/// "tensorflow 2.21.0": the frameworks in the package directories of an environment.
std::vector<std::string> frameworks_of_prefix(const System& system, const std::string& prefix);

/// Environments and interpreters of this machine other than `chosen`, with the GPU frameworks
/// installed in each. Looks at the places where tools keep environments, not at the
/// whole disk, and gives at most 64.
std::vector<OtherEnvironment> find_other_environments(const System& system,
                                                      const EnvironmentBlock& environment,
                                                      const Interpreter& chosen);

}  // namespace gpuwright
