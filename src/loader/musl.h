#pragma once

#include <string_view>

namespace gpuwright::loader {

/// True for the names that musl's loader answers itself, whatever lies on disk: libc.so,
/// libpthread.so.0, libm.so.6 ...
bool is_musl_itself(std::string_view name);

}  // namespace gpuwright::loader
