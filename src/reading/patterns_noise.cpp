#include "reading/pattern.h"

// Lines that look like trouble and are none.

namespace gpuwright {
namespace {

constexpr NoisePattern kPatterns[] = {
    {"negative value (-1)",
     R"(successful NUMA node read from SysFS had negative value \(-1\))",
     "the kernel names no NUMA node for the GPU, which is usual on machines with one; node 0 is "
     "used",
     {"successful NUMA node read from SysFS had negative value (-1), but there must be at least "
      "one "
      "NUMA node, so returning NUMA node zero."}},
    {"Unable to register cu",
     R"(Unable to register cu(?:FFT|DNN|BLAS) factory: Attempting to register factory)",
     "TensorFlow registers its CUDA plugins twice and says so; both are the same code",
     {"E external/local_xla/xla/stream_executor/cuda/cuda_fft.cc:467] Unable to register cuFFT "
      "factory: "
      "Attempting to register factory for plugin cuFFT when one has already been registered"}},
};

}  // namespace

std::span<const NoisePattern> noise_patterns() { return kPatterns; }

}  // namespace gpuwright
