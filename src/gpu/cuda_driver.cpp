#include "gpu/cuda_driver.h"

#include "gpu/library.h"

namespace gpuwright::cuda_driver {
namespace {

struct CodeName {
  Code code;
  const char* name;
};

// Those that initialisation and the questions above can give, by the driver API's documentation.
// Not asked of the library: cuGetErrorName came with CUDA 6.0, and a stub has none.
constexpr CodeName kNames[] = {
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "CUDA_ERROR_DEINITIALIZED"},
    {34, "CUDA_ERROR_STUB_LIBRARY"},
    {35, "CUDA_ERROR_INSUFFICIENT_DRIVER"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {800, "CUDA_ERROR_NOT_PERMITTED"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED"},
    {999, "CUDA_ERROR_UNKNOWN"},
};

}  // namespace

Result<Functions> open(const std::string& path) {
  const auto library = LoadedLibrary::open(path);
  if (!library) return tl::unexpected(library.error());
  Functions functions;
  library->bind(functions.init, {"cuInit"});
  library->bind(functions.driver_version, {"cuDriverGetVersion"});
  library->bind(functions.device_count, {"cuDeviceGetCount"});
  library->bind(functions.device, {"cuDeviceGet"});
  library->bind(functions.name, {"cuDeviceGetName"});
  library->bind(functions.pci_address, {"cuDeviceGetPCIBusId"});
  return functions;
}

std::string code_name(Code code) {
  if (code == kSuccess) return "CUDA_SUCCESS";
  for (const auto& row : kNames)
    if (row.code == code) return std::string(row.name) + " (" + std::to_string(code) + ")";
  return "CUDA error " + std::to_string(code);
}

}  // namespace gpuwright::cuda_driver
