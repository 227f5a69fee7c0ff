#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/system.h"
#include "machine/machine.h"

// The driver in user space: every libcuda.so.1 and libnvidia-ml.so.1 that a search could reach,
// what kind of file each is, and which one an ordinary program would load.

namespace gpuwright {

/// Driver version in the name of a real file: "libcuda.so.580.159.04". Nothing for "libcuda.so.1"
/// and Jetson's "libcuda.so.1.1": driver versions have three digits before the first dot.
std::optional<Version> version_of_library_name(std::string_view file_name);

/// The file at `path` as a driver library: name, path, real_path, kind and version; found_by and
/// chosen are left to the caller. Nothing when there is no such file.
std::optional<DriverLibrary> examine_driver_library(const System& system, const std::string& path);

/// Fills libraries and user_space_version.
void fill_driver_libraries(const System& system, Driver& driver);

}  // namespace gpuwright
