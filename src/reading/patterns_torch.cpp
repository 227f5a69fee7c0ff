#include "reading/pattern.h"

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"torch.out-of-memory",
     "CUDA out of memory",
     R"(CUDA out of memory\. Tried to allocate (?P<wanted>[\d.]+ \w+)\.(?:.*? total capac?i?ty of (?P<total>[\d.]+ \w+))?(?:.*?of which (?P<free>[\d.]+ \w+) is free)?)",
     {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total "
      "capacity of 23.64 GiB of which 310.06 MiB is free."}},
};

}  // namespace

std::span<const Pattern> torch_patterns() { return kPatterns; }

}  // namespace gpuwright
