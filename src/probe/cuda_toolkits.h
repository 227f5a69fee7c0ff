#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/system.h"
#include "machine/machine.h"

// CUDA toolkits on disk. What a framework loads does not come from here (wheels bring their own
// libraries); what compiles extensions, and ptxas and libdevice for XLA, does.

namespace gpuwright {

/// "version" of the object "cuda" in version.json (since CUDA 11.1). A scan, tolerant of spacing
/// and of other keys; nothing when the text has no such pair.
std::optional<Version> parse_version_json(std::string_view text);

/// "CUDA Version 10.2.89" of version.txt, before CUDA 11.1.
std::optional<Version> parse_version_txt(std::string_view text);

/// "#define CUDA_VERSION 12040" of cuda.h, or CUDART_VERSION of cuda_runtime_api.h, as 12.4.
std::optional<Version> parse_version_macro(std::string_view header);

/// "libcudart.so.12.4.127" as 12.4: the places that follow count builds of the runtime alone.
std::optional<Version> version_of_runtime_name(std::string_view file_name);

/// The nvcc that PATH chooses, links resolved; the source is the path as PATH has it.
Fact<std::string> read_nvcc_on_path(const System& system);

Fact<std::vector<Toolkit>> read_toolkits(const System& system,
                                         const Fact<std::string>& nvcc_on_path);

}  // namespace gpuwright
