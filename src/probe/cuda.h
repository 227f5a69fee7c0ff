#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"

// The cuda rung: search path variables and the other settings that decide what GPU programs of this
// environment find. Toolkits on disk are in cuda_toolkits.h.

namespace gpuwright {

using Environment = std::map<std::string, std::string>;

/// The variables that matter to GPU work and are set. By name, never by prefix: TF_VAR_… is
/// Terraform's and NVIDIA_API_KEY a secret.
Environment gpu_variables(const Environment& environment);

/// LD_LIBRARY_PATH in its order; ':' and ';' separate, an empty element is the working directory.
std::vector<std::string> split_search_path(std::string_view value);

/// Names in LD_PRELOAD (':' or blanks between) or /etc/ld.so.preload (the same, '#' opens a
/// comment).
std::vector<std::string> parse_preload(std::string_view text);

/// True for a file that a GPU program opens by this name: "libcudnn.so.9", "libcuda.so.1"; not for
/// development links ("libcudart.so") and full versions ("libcudnn.so.9.14.0").
bool is_gpu_library_name(std::string_view file_name);

}  // namespace gpuwright
