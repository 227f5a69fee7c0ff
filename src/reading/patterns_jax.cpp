#include "reading/pattern.h"

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"jax.no-gpu-fallback",
     "falling back to cpu|Falling back to cpu",
     R"((?i)no GPU/TPU found, falling back to CPU|GPU.* falling back to cpu)",
     {"WARNING:jax._src.xla_bridge:No GPU/TPU found, falling back to CPU."}},
};

}  // namespace

std::span<const Pattern> jax_patterns() { return kPatterns; }

}  // namespace gpuwright
