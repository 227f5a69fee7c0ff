#include "reading/pattern.h"

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"tensorflow.gpu-created",
     "Created device /job:|Created TensorFlow device",
     R"(Created (?:TensorFlow )?device \(?/?job:localhost\S*device:GPU:(?P<index>\d+) with (?P<memory_mb>\d+) MB memory.*?name: (?P<name>[^,]+), pci bus id: (?P<address>[0-9a-fA-F:.]+)(?:, compute capability: (?P<capability>[\d.]+))?)",
     {"Created device /job:localhost/replica:0/task:0/device:GPU:0 with 5563 MB memory:  -> "
      "device: 0, "
      "name: NVIDIA RTX A1000 Laptop GPU, pci bus id: 0000:01:00.0, compute capability: 8.6"}},
    {"tensorflow.cannot-dlopen-gpu",
     "Cannot dlopen some GPU libraries",
     R"(Cannot dlopen some GPU libraries)",
     {"W tensorflow/core/common_runtime/gpu/gpu_device.cc:2251] Cannot dlopen some GPU libraries. "
      "Please "
      "make sure the missing libraries mentioned above are installed properly"}},
};

}  // namespace

std::span<const Pattern> tensorflow_patterns() { return kPatterns; }

}  // namespace gpuwright
