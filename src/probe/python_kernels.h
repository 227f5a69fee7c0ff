#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"
#include "probe/python.h"

namespace gpuwright {

/// What a kernel.json says; nothing for a text that is no kernel's, or another language's.
struct KernelSpec {
  std::string title;
  std::string program;                           ///< argv[0]
  std::map<std::string, std::string> variables;  ///< All of env.
};
std::optional<KernelSpec> parse_kernel_spec(std::string_view json);

/// Python kernels of the directories that Jupyter searches, at most 50; absent when there is none
/// of those directories.
Fact<std::vector<JupyterKernel>> find_kernels(const System& system,
                                              const EnvironmentBlock& environment,
                                              const Interpreter& chosen);

}  // namespace gpuwright
