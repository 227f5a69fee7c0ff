#include <cstdio>

#include "fake_library.h"
#include "gpu/nvml.h"

// A libnvidia-ml.so.1 for tests: GPU 0 is sound, GPU 1 is lost. It refuses structs whose version
// member is not the number that NVML's documentation gives, as the real one does. With -DFAKE_OLD
// it is a library of many years ago: no struct with a version, no MIG, no fabric.

namespace nvml = gpuwright::nvml;

namespace {
int handles[2];
constexpr int kLost = 15;
constexpr int kMismatch = 25;
}  // namespace

extern "C" {

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(fake_number("FAKE_COUNT", 2));
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index == 1 && !fake_wish("FAKE_SOUND", "1")) return kLost;
  *device = &handles[index];
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size, "Fake H200");
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, nvml::Memory* memory) {
  *memory = {100, 60, 40};
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned sensor, unsigned* celsius) {
  *celsius = 41;
  return sensor == 0 ? 0 : 2;
}
int nvmlDeviceGetPciInfo(void*, nvml::PciInfo* pci) {
  pci->domain = 0;
  pci->bus = 0x3b;
  pci->device = 0;
  return 0;
}

#ifdef FAKE_OLD
int nvmlInit() { return fake_init(); }
#else
int nvmlInit_v2() { return fake_init(); }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.159.04");
  return 0;
}
int nvmlDeviceGetUUID(void*, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-1a2b3c4d-0000-4000-8000-000000000000");
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void*, nvml::PciInfo* pci) {
  pci->domain = 1;
  pci->bus = 0xaf;
  pci->device = 2;
  std::strcpy(pci->address, "00000001:AF:02.0");
  return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void*, nvml::Memory2* memory) {
  if (memory->version != 0x02000028) return kMismatch;
  memory->total = 1000;
  memory->reserved = 10;
  memory->free = 900;
  memory->used = 90;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, nvml::Utilisation* load) {
  *load = {97, 12};
  return 0;
}
int nvmlDeviceGetTemperatureV(void*, nvml::Temperature* reading) {
  if (reading->version != 0x0100000C || reading->sensor != 0) return kMismatch;
  reading->celsius = 55;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 71500;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) { return *value = 5, 0; }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) { return *value = 5, 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) { return *value = 16, 0; }
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned*) { return 3; }  // a guest does not say
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  *bits = 0x8 | 0x80 | 0x4000;  // the last one has no name yet
  return 0;
}
int nvmlDeviceGetComputeMode(void*, int* mode) { return *mode = 3, 0; }
int nvmlDeviceGetPersistenceMode(void*, int* enabled) { return *enabled = 1, 0; }
int nvmlDeviceGetEccMode(void*, int* now, int* pending) { return *now = 1, *pending = 0, 0; }
int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* pending) {
  return *now = 1, *pending = 1, 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* most) { return *most = 7, 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** part) {
  *part = &handles[0];
  return index == 1 || index == 4 ? 0 : 6;
}
int nvmlDeviceGetVirtualizationMode(void*, int* mode) { return *mode = 2, 0; }
int nvmlDeviceGetGridLicensableFeatures_v4(void*, nvml::LicensableFeatures* all) {
  std::memset(all, 0, sizeof *all);
  all->supported = 1;
  all->count = 1;
  return 0;
}
int nvmlDeviceGetGpuFabricInfoV(void*, nvml::FabricInfo2* info) {
  if (info->version != 0x02000024) return kMismatch;
  info->state = 2;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void*, int type, int counter, unsigned long long* count) {
  *count = counter == 0 ? 1 : 7;
  return type == 1 ? 0 : 2;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  return *corrected = 4, *uncorrected = 2, *pending = 1, *failed = 0, 0;
}
int nvmlDeviceGetRetiredPages(void*, int cause, unsigned* count, unsigned long long* addresses) {
  *count = cause == 0 ? 0 : 3;
  return *count > 0 && addresses == nullptr ? 7 : 0;
}
int nvmlDeviceGetRetiredPagesPendingStatus(void*, int* pending) { return *pending = 0, 0; }
#endif
}
