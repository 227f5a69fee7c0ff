#pragma once

#include <string>

#include "base/result.h"

// The CUDA driver API, as far as it is needed to ask whether it starts and what it sees. Own
// prototypes, after the public documentation; a function is null where the library has none.

namespace gpuwright::cuda_driver {

using Code = int;    ///< CUresult.
using Device = int;  ///< CUdevice, an ordinal.

inline constexpr Code kSuccess = 0;
inline constexpr int kNameBytes = 256;    ///< Enough for every name.
inline constexpr int kAddressBytes = 32;  ///< "0000:3b:00.0" with a NUL, and room.

struct Functions {
  Code (*init)(unsigned flags) = nullptr;                       ///< cuInit, CUDA 2.0; flags are 0.
  Code (*driver_version)(int* version) = nullptr;               ///< cuDriverGetVersion, CUDA 2.2:
                                                                ///< 1000 * major + 10 * minor.
  Code (*device_count)(int* count) = nullptr;                   ///< cuDeviceGetCount, CUDA 2.0.
  Code (*device)(Device* device, int ordinal) = nullptr;        ///< cuDeviceGet, CUDA 2.0.
  Code (*name)(char* name, int size, Device) = nullptr;         ///< cuDeviceGetName, CUDA 2.0.
  Code (*pci_address)(char* text, int size, Device) = nullptr;  ///< cuDeviceGetPCIBusId, CUDA 4.1.
};

/// Opens the file and looks up every function; fails only when the file cannot be loaded.
[[nodiscard]] Result<Functions> open(const std::string& path);

/// "CUDA_ERROR_NO_DEVICE (100)", "CUDA_SUCCESS"; "CUDA error 4711" for an unknown one.
std::string code_name(Code code);

}  // namespace gpuwright::cuda_driver
