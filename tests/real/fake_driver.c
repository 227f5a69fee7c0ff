/* A driver library and a management library without a GPU: enough of CUDA's driver API and of NVML
   for a framework to list one device. With it the real TensorFlow and JAX go the whole way to the
   opening of their GPU libraries on any machine. No kernel can run on it.

   Compiled twice: as libcuda.so.1, and with -DMANAGEMENT as libnvidia-ml.so.1.

   FAKE_CUDA_INIT=n     what cuInit returns
   FAKE_NVML_INIT=n     what nvmlInit returns
   FAKE_DEVICE_COUNT=n  number of GPUs; 1 when not set */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text == NULL ? otherwise : atoi(text);
}
static int device_count(void) { return number("FAKE_DEVICE_COUNT", 1); }

#ifdef MANAGEMENT

#define NOT_FOUND 6

static int handles[64];

int nvmlInit_v2(void) { return number("FAKE_NVML_INIT", 0); }
int nvmlInit(void) { return nvmlInit_v2(); }
int nvmlInitWithFlags(unsigned flags) { return (void)flags, nvmlInit_v2(); }
int nvmlShutdown(void) { return 0; }
const char* nvmlErrorString(int code) { return code == 0 ? "Success" : "fake error"; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  snprintf(text, size, "580.159.04");
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = (unsigned)device_count();
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= (unsigned)device_count() || index >= 64) return NOT_FOUND;
  *device = &handles[index];
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  (void)address;
  return nvmlDeviceGetHandleByIndex_v2(0, device);
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  const int index = (int)((int*)device - handles);
  snprintf(text, size, "GPU-%08x-0000-4000-8000-000000000000", 0x1a2b0000 + index * 0x1111);
  return 0;
}

#else

#define INVALID_VALUE 1
#define INVALID_DEVICE 101
#define NOT_FOUND 500

static int context;

int cuInit(unsigned flags) { return (void)flags, number("FAKE_CUDA_INIT", 0); }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = device_count();
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return INVALID_DEVICE;
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  snprintf(name, (size_t)size, "Fake H200");
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)140 << 30;
  return 0;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  memset(uuid, 0x11 * (device + 1), 16);
  return 0;
}
int cuDeviceGetUuid(unsigned char* uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  snprintf(text, (size_t)size, "0000:%02x:00.0", 3 + device);
  return 0;
}
/* Numbers of CUdevice_attribute; values of an H200 where a framework looks at them. */
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 16: *value = 132; break;    /* multiprocessors */
    case 75: *value = 9; break;      /* compute capability, major */
    case 76: *value = 0; break;      /* compute capability, minor */
    case 10: *value = 32; break;     /* warp size */
    case 1: case 2: case 3: case 39: *value = 1024; break;  /* threads */
    case 5: case 6: case 7: *value = 65535; break;          /* grid */
    case 8: case 81: case 97: *value = 49152; break;        /* shared memory */
    case 12: case 82: *value = 65536; break;                /* registers */
    case 13: *value = 1980000; break;                       /* kHz */
    case 36: *value = 2619000; break;
    case 37: *value = 5120; break;                          /* bits */
    case 38: *value = 52428800; break;                      /* L2 */
    case 34: case 50: *value = 0; break;
    default: *value = 1;
  }
  return 0;
}
int cuDevicePrimaryCtxRetain(void** into, int device) {
  (void)device;
  *into = &context;
  return 0;
}
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  (void)device;
  *flags = 0;
  *active = 1;
  return 0;
}
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return (void)device, (void)flags, 0; }
int cuCtxGetCurrent(void** into) {
  *into = &context;
  return 0;
}
int cuCtxSetCurrent(void* wanted) { return (void)wanted, 0; }
int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}
int cuMemGetInfo_v2(size_t* available, size_t* total) {
  *total = (size_t)140 << 30;
  *available = *total - ((size_t)1 << 30);
  return 0;
}
int cuGetErrorName(int code, const char** text) {
  *text = code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_FAKE";
  return 0;
}
int cuGetErrorString(int code, const char** text) {
  (void)code;
  *text = "fake error";
  return 0;
}
int cuGetExportTable(const void** table, const void* id) {
  (void)table, (void)id;
  return NOT_FOUND;
}
static int succeed(void) { return 0; }
/* The runtime library asks for every function here. What this driver lacks does nothing. */
int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long flags,
                        int* status) {
  (void)version, (void)flags;
  Dl_info self;
  char newer[256];
  if (name == NULL || function == NULL) return INVALID_VALUE;
  dladdr((void*)cuInit, &self);
  void* handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  snprintf(newer, sizeof newer, "%s_v2", name);
  *function = dlsym(handle, newer);
  if (*function == NULL) *function = dlsym(handle, name);
  if (*function == NULL) *function = (void*)succeed;
  if (status != NULL) *status = 0;
  return 0;
}
int cuGetProcAddress(const char* name, void** function, int version, unsigned long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

#endif
