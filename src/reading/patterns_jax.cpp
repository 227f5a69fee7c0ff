#include "reading/pattern.h"

// JAX and its plugins.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"jax.no-gpu-fallback",
     "falling back to cpu",
     R"re((?i)(?:no GPU(?:/TPU)? found|an NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed).*falling back to cpu)re",
     {"WARNING:jax._src.xla_bridge:No GPU/TPU found, falling back to CPU. (Set "
      "TF_CPP_MIN_LOG_LEVEL=0 and "
      "rerun for more info.)",
      "WARNING:jax._src.xla_bridge:An NVIDIA GPU may be present on this machine, but a "
      "CUDA-enabled jaxlib "
      "is not installed. Falling back to cpu."}},
    {"jax.plugin-version",
     "is not compatible with the installed jaxlib version",
     R"re(JAX plugin (?P<plugin>\S+) version (?P<plugin_version>\S+) is installed, but it is not compatible with the installed jaxlib version (?P<jaxlib>[\w.]+))re",
     {"RuntimeWarning: JAX plugin jax_cuda12_plugin version 0.4.30 is installed, but it is not "
      "compatible "
      "with the installed jaxlib version 0.4.31, so it will not be used."}},
    {"jax.plugin-failed",
     "Jax plugin configuration error|Unable to initialize backend|Failed to initialize backend",
     R"re(Jax plugin configuration error: (?P<error>.*)|(?:Unable|Failed) to initialize backend '(?P<backend>cuda|gpu|rocm)': (?P<reason>.*))re",
     {"ERROR:jax._src.xla_bridge:Jax plugin configuration error: Exception when calling "
      "jax_plugins.xla_cuda12.initialize()",
      "RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU "
      "devices."}},
    {"jax.cudnn-too-old",
     "Outdated cuDNN installation found",
     R"re(Outdated cuDNN installation found.*?(?:Version JAX was built against: (?P<built>\d+).*?)?(?:Installed version: (?P<installed>\d+))?)re",
     {"RuntimeError: jaxlib/cuda/versions_helpers.cc:81: Outdated cuDNN installation found."}},
    {"jax.devices",
     "CudaDevice(id=|cuda(id=|TFRT_CPU_0|CpuDevice(id=",
     R"re((?P<device>CudaDevice\(id=\d+\)|cuda\(id=\d+\)|TFRT_CPU_0|CpuDevice\(id=\d+\)))re",
     {"[CudaDevice(id=0)]", "[CpuDevice(id=0)]", "[cuda(id=0), cuda(id=1)]"}},
    {"jax.x64-or-numpy-missing",
     "requires a newer version of|This version of jaxlib was built using AVX",
     R"re(This version of jaxlib was built using (?P<feature>AVX\w*) instructions, which your CPU)re",
     {"RuntimeError: This version of jaxlib was built using AVX instructions, which your CPU "
      "and/or operating "
      "system do not support."}},
};

}  // namespace

std::span<const Pattern> jax_patterns() { return kPatterns; }

}  // namespace gpuwright
