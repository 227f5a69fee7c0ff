#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

// NVML (libnvidia-ml.so.1), as far as `check --run` asks it. Own prototypes, after the public
// documentation. Every function is looked up by itself and null where the library has none: drivers
// of ten years are met. "Since" names the driver branch whose headers first had it; where no branch
// stands, every branch that this program meets (367 and later) has it.
//
// A plain name in the library is the oldest form of the function for ever; _v2 and _v3 are newer
// ones, and only forms that agree in what is used here are looked up under one pointer.

namespace gpuwright::nvml {

using Code = int;  ///< nvmlReturn_t.
using Device = void*;

inline constexpr Code kSuccess = 0;
inline constexpr Code kNotSupported = 3;
inline constexpr Code kNoPermission = 4;
inline constexpr Code kNotFound = 6;
inline constexpr Code kInsufficientSize = 7;
inline constexpr Code kFunctionNotFound = 13;
inline constexpr Code kGpuIsLost = 15;
inline constexpr Code kResetRequired = 16;
inline constexpr Code kOperatingSystem = 17;
inline constexpr Code kVersionMismatch = 25;  ///< Of a struct's version field.
inline constexpr Code kDeprecated = 26;

/// First member of versioned structs: their size, and their version in the top byte.
template <class Struct>
constexpr std::uint32_t struct_version(std::uint32_t version) {
  return static_cast<std::uint32_t>(sizeof(Struct)) | (version << 24);
}

/// nvmlMemory_t. `used` holds the driver's own reserve as well.
struct Memory {
  std::uint64_t total, free, used;  ///< Bytes.
};

/// nvmlMemory_v2_t, since 510: total = reserved + free + used.
struct Memory2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;  ///< Bytes.
};
static_assert(sizeof(Memory2) == 40);

/// nvmlPciInfo_t of the third form. The second and first differ behind `subsystem_id` alone and are
/// shorter.
struct PciInfo {
  char legacy_address[16];
  std::uint32_t domain, bus, device;
  std::uint32_t device_id, subsystem_id;
  char address[32];
};
static_assert(sizeof(PciInfo) == 68);

/// nvmlUtilization_t.
struct Utilisation {
  std::uint32_t gpu, memory;  ///< Percent of the last sample period.
};

/// nvmlTemperature_v1_t, since 570.
struct Temperature {
  std::uint32_t version;
  std::uint32_t sensor;  ///< 0 is the GPU.
  std::int32_t celsius;
};
static_assert(sizeof(Temperature) == 12);

/// nvmlGpuFabricInfo_v2_t, since 550.
struct FabricInfo2 {
  std::uint32_t version;
  unsigned char cluster[16];
  Code status;  ///< Counts when `state` is 3.
  std::uint32_t clique;
  unsigned char state;  ///< 0 not supported, 1 not started, 2 in progress, 3 completed.
  std::uint32_t health;
};
static_assert(sizeof(FabricInfo2) == 36);

/// nvmlGpuFabricInfo_t, since 525.
struct FabricInfo1 {
  unsigned char cluster[16];
  Code status;
  std::uint32_t clique;
  unsigned char state;
};
static_assert(sizeof(FabricInfo1) == 28);

/// nvmlGridLicenseExpiry_t.
struct LicenceExpiry {
  std::uint32_t year;
  std::uint16_t month, day, hour, minute, second;
  unsigned char status;
};
static_assert(sizeof(LicenceExpiry) == 16);

/// nvmlGridLicensableFeature_t of the fourth form.
struct LicensableFeature {
  std::uint32_t code;
  std::uint32_t licensed;
  char info[128];
  char product[128];
  std::uint32_t enabled;
  LicenceExpiry expiry;
};
static_assert(sizeof(LicensableFeature) == 284);

/// nvmlGridLicensableFeatures_t.
struct LicensableFeatures {
  std::int32_t supported;
  std::uint32_t count;
  LicensableFeature features[3];
};
static_assert(sizeof(LicensableFeatures) == 860);

struct Functions {
  Code (*init)() = nullptr;  ///< nvmlInit_v2; it does not touch the GPUs, the first handle does.
  Code (*driver_version)(char* text, unsigned size) = nullptr;  ///< nvmlSystemGetDriverVersion
  Code (*count)(unsigned* count) = nullptr;                     ///< nvmlDeviceGetCount_v2
  Code (*handle)(unsigned index, Device*) = nullptr;            ///< nvmlDeviceGetHandleByIndex_v2
  Code (*name)(Device, char* text, unsigned size) = nullptr;    ///< nvmlDeviceGetName
  Code (*uuid)(Device, char* text, unsigned size) = nullptr;    ///< nvmlDeviceGetUUID
  Code (*pci)(Device, PciInfo*) = nullptr;                      ///< nvmlDeviceGetPciInfo_v3 (384),
                                                                ///< _v2, plain
  Code (*memory2)(Device, Memory2*) = nullptr;                  ///< nvmlDeviceGetMemoryInfo_v2, 510
  Code (*memory)(Device, Memory*) = nullptr;                    ///< nvmlDeviceGetMemoryInfo
  Code (*utilisation)(Device, Utilisation*) = nullptr;          ///< nvmlDeviceGetUtilizationRates
  Code (*temperature1)(Device, Temperature*) = nullptr;         ///< nvmlDeviceGetTemperatureV, 570
  Code (*temperature)(Device, unsigned sensor, unsigned* celsius) = nullptr;
  ///< nvmlDeviceGetTemperature, deprecated since 580
  Code (*power)(Device, unsigned* milliwatts) = nullptr;        ///< nvmlDeviceGetPowerUsage
  Code (*power_limit)(Device, unsigned* milliwatts) = nullptr;  ///< nvmlDeviceGetEnforcedPowerLimit
  Code (*link_generation)(Device, unsigned*) = nullptr;  ///< nvmlDeviceGetCurrPcieLinkGeneration
  Code (*link_generation_max)(Device, unsigned*) = nullptr;  ///< nvmlDeviceGetMaxPcieLinkGeneration
  Code (*link_width)(Device, unsigned*) = nullptr;           ///< nvmlDeviceGetCurrPcieLinkWidth
  Code (*link_width_max)(Device, unsigned*) = nullptr;       ///< nvmlDeviceGetMaxPcieLinkWidth
  /// nvmlDeviceGetCurrentClocksEventReasons (535), nvmlDeviceGetCurrentClocksThrottleReasons
  Code (*clock_reasons)(Device, unsigned long long* bits) = nullptr;
  Code (*compute_mode)(Device, int* mode) = nullptr;      ///< nvmlDeviceGetComputeMode: 0 default,
                                                          ///< 2 prohibited, 3 exclusive process
  Code (*persistence)(Device, int* enabled) = nullptr;    ///< nvmlDeviceGetPersistenceMode
  Code (*ecc)(Device, int* now, int* pending) = nullptr;  ///< nvmlDeviceGetEccMode
  Code (*mig)(Device, unsigned* now, unsigned* pending) = nullptr;  ///< nvmlDeviceGetMigMode, 450
  Code (*mig_count)(Device, unsigned* most) = nullptr;  ///< nvmlDeviceGetMaxMigDeviceCount, 450
  Code (*mig_handle)(Device, unsigned index, Device*) = nullptr;
  ///< nvmlDeviceGetMigDeviceHandleByIndex, 450; indices have gaps
  /// nvmlDeviceGetTotalEccErrors; type 1 is uncorrected; counter 0 since the driver was loaded, 1
  /// since the board was made.
  Code (*ecc_errors)(Device, int type, int counter, unsigned long long* count) = nullptr;
  Code (*remapped)(Device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                   unsigned* failed) =
      nullptr;  ///< nvmlDeviceGetRemappedRows, 450; Ampere and newer
  /// nvmlDeviceGetRetiredPages; cause 0 two single-bit errors, 1 a double-bit error. With `count` 0
  /// and no addresses it answers kInsufficientSize and the count.
  Code (*retired)(Device, int cause, unsigned* count, unsigned long long* addresses) = nullptr;
  Code (*retirement_pending)(Device, int* pending) = nullptr;
  ///< nvmlDeviceGetRetiredPagesPendingStatus
  Code (*virtualisation)(Device,
                         int* mode) = nullptr;  ///< nvmlDeviceGetVirtualizationMode: 0 none,
                                                ///< 1 passthrough, 2 vGPU, 3 host vGPU, 4 host vSGA
  Code (*licence)(Device, LicensableFeatures*) = nullptr;
  ///< nvmlDeviceGetGridLicensableFeatures_v4, 455
  Code (*fabric2)(Device, FabricInfo2*) = nullptr;  ///< nvmlDeviceGetGpuFabricInfoV, 550
  Code (*fabric1)(Device, FabricInfo1*) = nullptr;  ///< nvmlDeviceGetGpuFabricInfo, 525
};

/// Opens the file and looks up every function; fails only when the file cannot be loaded.
[[nodiscard]] Result<Functions> open(const std::string& path);

/// "NVML_ERROR_GPU_IS_LOST", "NVML_SUCCESS"; "NVML error 4711" for an unknown one.
std::string code_name(Code code);

}  // namespace gpuwright::nvml
