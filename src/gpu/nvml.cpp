#include "gpu/nvml.h"

#include "gpu/library.h"

namespace gpuwright::nvml {
namespace {

struct CodeName {
  Code code;
  const char* name;
};

constexpr CodeName kNames[] = {
    {0, "NVML_SUCCESS"},
    {1, "NVML_ERROR_UNINITIALIZED"},
    {2, "NVML_ERROR_INVALID_ARGUMENT"},
    {3, "NVML_ERROR_NOT_SUPPORTED"},
    {4, "NVML_ERROR_NO_PERMISSION"},
    {5, "NVML_ERROR_ALREADY_INITIALIZED"},
    {6, "NVML_ERROR_NOT_FOUND"},
    {7, "NVML_ERROR_INSUFFICIENT_SIZE"},
    {8, "NVML_ERROR_INSUFFICIENT_POWER"},
    {9, "NVML_ERROR_DRIVER_NOT_LOADED"},
    {10, "NVML_ERROR_TIMEOUT"},
    {11, "NVML_ERROR_IRQ_ISSUE"},
    {12, "NVML_ERROR_LIBRARY_NOT_FOUND"},
    {13, "NVML_ERROR_FUNCTION_NOT_FOUND"},
    {14, "NVML_ERROR_CORRUPTED_INFOROM"},
    {15, "NVML_ERROR_GPU_IS_LOST"},
    {16, "NVML_ERROR_RESET_REQUIRED"},
    {17, "NVML_ERROR_OPERATING_SYSTEM"},
    {18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"},
    {19, "NVML_ERROR_IN_USE"},
    {20, "NVML_ERROR_MEMORY"},
    {21, "NVML_ERROR_NO_DATA"},
    {22, "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED"},
    {23, "NVML_ERROR_INSUFFICIENT_RESOURCES"},
    {24, "NVML_ERROR_FREQ_NOT_SUPPORTED"},
    {25, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH"},
    {26, "NVML_ERROR_DEPRECATED"},
    {27, "NVML_ERROR_NOT_READY"},
    {28, "NVML_ERROR_GPU_NOT_FOUND"},
    {29, "NVML_ERROR_INVALID_STATE"},
    {30, "NVML_ERROR_RESET_TYPE_NOT_SUPPORTED"},
    {999, "NVML_ERROR_UNKNOWN"},
};

void bind_identity(const LoadedLibrary& library, Functions& functions) {
  library.bind(functions.init, {"nvmlInit_v2", "nvmlInit"});
  library.bind(functions.driver_version, {"nvmlSystemGetDriverVersion"});
  library.bind(functions.count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  library.bind(functions.handle, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  library.bind(functions.name, {"nvmlDeviceGetName"});
  library.bind(functions.uuid, {"nvmlDeviceGetUUID"});
  library.bind(functions.pci,
               {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"});
}

void bind_state(const LoadedLibrary& library, Functions& functions) {
  library.bind(functions.memory2, {"nvmlDeviceGetMemoryInfo_v2"});
  library.bind(functions.memory, {"nvmlDeviceGetMemoryInfo"});
  library.bind(functions.utilisation, {"nvmlDeviceGetUtilizationRates"});
  library.bind(functions.temperature1, {"nvmlDeviceGetTemperatureV"});
  library.bind(functions.temperature, {"nvmlDeviceGetTemperature"});
  library.bind(functions.power, {"nvmlDeviceGetPowerUsage"});
  library.bind(functions.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  library.bind(functions.link_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  library.bind(functions.link_generation_max, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  library.bind(functions.link_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
  library.bind(functions.link_width_max, {"nvmlDeviceGetMaxPcieLinkWidth"});
  library.bind(functions.clock_reasons, {"nvmlDeviceGetCurrentClocksEventReasons",
                                         "nvmlDeviceGetCurrentClocksThrottleReasons"});
}

void bind_modes(const LoadedLibrary& library, Functions& functions) {
  library.bind(functions.compute_mode, {"nvmlDeviceGetComputeMode"});
  library.bind(functions.persistence, {"nvmlDeviceGetPersistenceMode"});
  library.bind(functions.ecc, {"nvmlDeviceGetEccMode"});
  library.bind(functions.mig, {"nvmlDeviceGetMigMode"});
  library.bind(functions.mig_count, {"nvmlDeviceGetMaxMigDeviceCount"});
  library.bind(functions.mig_handle, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  library.bind(functions.virtualisation, {"nvmlDeviceGetVirtualizationMode"});
  library.bind(functions.licence, {"nvmlDeviceGetGridLicensableFeatures_v4"});
  library.bind(functions.fabric2, {"nvmlDeviceGetGpuFabricInfoV"});
  library.bind(functions.fabric1, {"nvmlDeviceGetGpuFabricInfo"});
}

void bind_health(const LoadedLibrary& library, Functions& functions) {
  library.bind(functions.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  library.bind(functions.remapped, {"nvmlDeviceGetRemappedRows"});
  library.bind(functions.retired, {"nvmlDeviceGetRetiredPages"});
  library.bind(functions.retirement_pending, {"nvmlDeviceGetRetiredPagesPendingStatus"});
}

}  // namespace

Result<Functions> open(const std::string& path) {
  const auto library = LoadedLibrary::open(path);
  if (!library) return tl::unexpected(library.error());
  Functions functions;
  bind_identity(*library, functions);
  bind_state(*library, functions);
  bind_modes(*library, functions);
  bind_health(*library, functions);
  return functions;
}

std::string code_name(Code code) {
  for (const auto& row : kNames)
    if (row.code == code) return row.name;
  return "NVML error " + std::to_string(code);
}

}  // namespace gpuwright::nvml
