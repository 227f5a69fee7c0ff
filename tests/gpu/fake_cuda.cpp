#include <cstdio>

#include "fake_library.h"

// A libcuda.so.1 for tests: two devices. With -DFAKE_OLD it has what a stub or a very old library
// might have: the start and the count.

extern "C" {

int cuInit(unsigned) {
  std::puts("libcuda says hello on standard output");  // which a library should not
  std::fflush(stdout);
  return fake_init();
}
int cuDeviceGetCount(int* count) {
  *count = fake_number("FAKE_COUNT", 2);
  return fake_number("FAKE_COUNT_CODE", 0);
}
#ifndef FAKE_OLD
int cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = 100 + ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  if (fake_wish("FAKE_LATE_CRASH", "1")) std::raise(SIGSEGV);
  std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU %d", device);
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device - 100 + 3);
  return 0;
}
#endif
}
