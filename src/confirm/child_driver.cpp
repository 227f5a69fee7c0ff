#include "confirm/child.h"
#include "gpu/cuda_driver.h"

namespace gpuwright {
namespace {

namespace cu = cuda_driver;

Fact<Version> version_of(const cu::Functions& functions) {
  int number = 0;
  const std::string source = "cuDriverGetVersion";
  if (functions.driver_version == nullptr) return Fact<Version>::absent(source);
  const cu::Code code = functions.driver_version(&number);
  if (code != cu::kSuccess) return Fact<Version>::unknown(source, cu::code_name(code));
  const auto version =
      Version::parse(std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10));
  if (number <= 0 || !version) return Fact<Version>::unknown(source, "answered nonsense");
  return Fact<Version>::known(*version, source);
}

std::string text_of(cu::Code (*function)(char*, int, cu::Device), cu::Device device, int size) {
  std::string text(static_cast<std::size_t>(size), '\0');
  if (function == nullptr || function(text.data(), size, device) != cu::kSuccess) return {};
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

// "NVIDIA H200 (0000:00:06.0)"
std::string describe(const cu::Functions& functions, int ordinal) {
  cu::Device device = ordinal;
  if (functions.device != nullptr && functions.device(&device, ordinal) != cu::kSuccess)
    return "GPU " + std::to_string(ordinal);
  std::string name = text_of(functions.name, device, cu::kNameBytes);
  const std::string address = text_of(functions.pci_address, device, cu::kAddressBytes);
  if (name.empty()) name = "GPU " + std::to_string(ordinal);
  return address.empty() ? name : name + " (" + address + ")";
}

void list_devices(const cu::Functions& functions, const Speaker& speaker, DriverRun& run) {
  int count = 0;
  speaker.call("cuDeviceGetCount");
  const cu::Code code = functions.device_count(&count);
  if (code != cu::kSuccess) {
    run.result = cu::code_name(code);
    return;
  }
  constexpr int kMost = 256;  // a number beyond all machines is nonsense
  for (int i = 0; i < count && i < kMost; ++i) {
    speaker.call("cuDeviceGetName of GPU " + std::to_string(i));
    run.devices.push_back(describe(functions, i));
  }
}

}  // namespace

DriverRun ask_driver(const std::string& path, const Speaker& speaker) {
  DriverRun run;
  run.path = path;
  speaker.call("dlopen");
  const auto functions = cu::open(path);
  if (!functions) {
    run.result = "cannot be loaded: " + functions.error().text();
    return run;
  }
  if (functions->init == nullptr || functions->device_count == nullptr) {
    run.result = "cannot be loaded: it has no cuInit or no cuDeviceGetCount";
    return run;
  }
  run.cuda = version_of(*functions);
  speaker.call("cuInit");
  const cu::Code code = functions->init(0);
  run.result = cu::code_name(code);
  if (code == cu::kSuccess) list_devices(*functions, speaker, run);
  return run;
}

}  // namespace gpuwright
