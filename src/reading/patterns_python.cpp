#include "reading/pattern.h"

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"python.numpy-abi",
     "A module that was compiled using NumPy 1.x|_ARRAY_API not found|numpy.core.multiarray failed "
     "to import",
     R"(A module that was compiled using NumPy 1\.x cannot be run in|_ARRAY_API not found|numpy\.core\.multiarray failed to import)",
     {"A module that was compiled using NumPy 1.x cannot be run in",
      "AttributeError: _ARRAY_API not found"}},
    {"package",
     "tensorflow|torch|numpy|protobuf|jaxlib|cudatoolkit|keras|nvidia-c|nvidia_c",
     R"(^(?P<name>tensorflow[\w.-]*|tf[_-]\w+|torch|torchvision|torchaudio|pytorch|numpy|protobuf|jax|jaxlib|jax-cuda\S+|keras|cudatoolkit|cudnn|nvidia[-_]\S+)\s+(?P<version>\d[\w.+!-]*)(?:\s+(?P<build>\S+))?(?:\s+(?P<channel>\S+))?$)",
     {"numpy                     2.1.2           py310hd6e36ab_0    conda-forge",
      "pytorch                   1.5.0           py3.7_cuda10.2.89_cudnn7.6.5_0    pytorch"}},
};

}  // namespace

std::span<const Pattern> python_patterns() { return kPatterns; }

}  // namespace gpuwright
