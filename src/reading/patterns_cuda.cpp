#include "reading/pattern.h"

// CUDA: error codes of the driver API and the runtime by name and number, the compiler, toolkits.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"cuda.init-failed",
     "call to cuInit|Error at driver init",
     R"((?:failed call to cuInit|[Cc]all to cuInit results in)(?:.*?(?P<name>(?:CUDA_ERROR|UNKNOWN_CUDA_ERROR)[A-Z_]*))?(?:.*?\((?P<code>\d+)\))?)",
     {"failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_UNKNOWN: "
      "unknown "
      "error",
      "Call to cuInit results in UNKNOWN_CUDA_ERROR (34)",
      "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"}},
    {"cuda.count-failed",
     "Unexpected error from cudaGetDeviceCount",
     R"(Unexpected error from cudaGetDeviceCount.*Error (?P<code>\d+): (?P<message>[^(]+))",
     {"UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run "
      "some "
      "cuda functions before calling NumCudaDevices() that might have already set an error? Error "
      "802: "
      "system not yet initialized (Triggered internally at ...)"}},
    {"cuda.driver-too-old",
     "NVIDIA driver on your system is too old",
     R"(NVIDIA driver on your system is too old \(found version (?P<found>\d+)\))",
     {"The NVIDIA driver on your system is too old (found version 10010). Please update your GPU "
      "driver"}},
    {"cuda.error",
     "CUDA error: |CUDA_ERROR_|cudaError",
     R"((?:CUDA error: (?P<message>[a-z][a-z \-]+[a-z])|(?P<name>CUDA_ERROR_[A-Z_]+|cudaError[A-Z]\w+)))",
     {"RuntimeError: CUDA error: device-side assert triggered",
      "torch.AcceleratorError: CUDA error: unspecified launch failure",
      "Failed to load in-memory CUBIN: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is "
      "available"}},
    {"toolkit.nvcc",
     "Cuda compilation tools, release",
     R"(Cuda compilation tools, release (?P<release>\d+\.\d+), V(?P<version>[\d.]+))",
     {"Cuda compilation tools, release 11.8, V11.8.89"}},
};

}  // namespace

std::span<const Pattern> cuda_patterns() { return kPatterns; }

}  // namespace gpuwright
