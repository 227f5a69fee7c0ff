#include "reading/pattern.h"

// TensorFlow from 1.15 to today, Keras and XLA.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    // ------------------------------------------------------------------- devices
    {"tensorflow.gpu-created",
     "Created device /job:|Created TensorFlow device",
     R"re(Created (?:TensorFlow )?device \(?/?(?:job|device)\S*GPU:(?P<index>\d+) with (?P<memory_mb>\d+) MB memory.*?name: (?P<name>[^,]+), pci bus id: (?P<address>[0-9a-fA-F:.]+)(?:, compute capability: (?P<capability>[\d.]+))?)re",
     {"Created device /job:localhost/replica:0/task:0/device:GPU:0 with 5563 MB memory:  -> "
      "device: 0, "
      "name: NVIDIA RTX A1000 Laptop GPU, pci bus id: 0000:01:00.0, compute capability: 8.6",
      "I tensorflow/core/common_runtime/gpu/gpu_device.cc:1402] Created TensorFlow device "
      "(/job:localhost/replica:0/task:0/device:GPU:0 with 10300 MB memory) -> physical GPU "
      "(device: 0, "
      "name: Tesla K80, pci bus id: 0000:00:04.0, compute capability: 3.7)"}},
    {"tensorflow.no-gpu-registered",
     "Skipping registering GPU devices",
     R"re(Skipping registering GPU devices)re",
     {"Skipping registering GPU devices..."}},
    {"tensorflow.cannot-dlopen-gpu",
     "Cannot dlopen some GPU libraries",
     R"re(Cannot dlopen some GPU libraries)re",
     {"W tensorflow/core/common_runtime/gpu/gpu_device.cc:2251] Cannot dlopen some GPU libraries. "
      "Please "
      "make sure the missing libraries mentioned above are installed properly"}},
    {"tensorflow.library-not-loaded",
     "Could not load dynamic library",
     R"re(Could not load dynamic library '(?P<library>[^']+)'; dlerror: (?P<error>[^;]+)(?:; LD_LIBRARY_PATH: (?P<path>\S+))?)re",
     {"W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic "
      "library "
      "'libcudnn.so.8'; dlerror: libcudnn.so.8: cannot open shared object file: No such file or "
      "directory; LD_LIBRARY_PATH: /usr/local/cuda/lib64"}},
    {"tensorflow.cuda-driver-missing",
     "Could not find cuda drivers on your machine",
     R"re(Could not find cuda drivers on your machine, GPU will not be used)re",
     {"I tensorflow/tsl/cuda/cudart_stub.cc:28] Could not find cuda drivers on your machine, GPU "
      "will not "
      "be used."}},
    {"tensorflow.devices",
     "list_physical_devices|PhysicalDevice(",
     R"re(PhysicalDevice\(name='(?P<name>/physical_device:(?P<kind>GPU|CPU):\d+)')re",
     {"[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]"}},
    {"tensorflow.not-built-with-cuda",
     "TensorFlow is not built with CUDA|is not compiled with CUDA|rebuild TensorFlow with CUDA",
     R"re((?i)tensorflow (?:is not|was not) (?:built|compiled) with CUDA)re",
     {"TensorFlow is not built with CUDA support"}},
    {"tensorflow.cpu-feature-missing",
     "The TensorFlow library was compiled to use",
     R"re(The TensorFlow library was compiled to use (?P<feature>\S+) instructions, but these aren't available)re",
     {"F tensorflow/core/platform/cpu_feature_guard.cc:37] The TensorFlow library was compiled to "
      "use AVX "
      "instructions, but these aren't available on your machine."}},
    {"tensorflow.no-binary-for-gpu",
     "was not built with CUDA kernel binaries compatible",
     R"re(TensorFlow was not built with CUDA kernel binaries compatible with compute capability (?P<capability>[\d.]+))re",
     {"W gpu_device.cc:2431] TensorFlow was not built with CUDA kernel binaries compatible with "
      "compute "
      "capability 12.0. CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or "
      "longer."}},
    {"tensorflow.ignores-gpu",
     "Ignoring visible gpu device",
     R"re(Ignoring visible gpu device \(device: (?P<index>\d+), name: (?P<name>[^,]+).*?\)(?: with (?P<reason>.*?)\.)?)re",
     {"Ignoring visible gpu device (device: 1, name: GeForce GT 710, pci bus id: 0000:02:00.0, "
      "compute "
      "capability: 3.5) with Cuda multiprocessor count: 1. The minimum required count is 8.",
      "Ignoring visible gpu device (device: 0, name: GeForce 940M, pci bus id: 0000:01:00.0, "
      "compute "
      "capability: 2.1) with Cuda compute capability 2.1. The minimum required Cuda capability is "
      "3.5."}},
    {"tensorflow.image",
     "tensorflow/tensorflow:",
     R"re(tensorflow/tensorflow:(?P<tag>(?P<version>\d+\.\d+\.\d+\S*?|latest)-gpu\S*))re",
     {"$ docker run --rm --gpus all tensorflow/tensorflow:2.18.0-gpu nvidia-smi -L"}},
    // --------------------------------------------------------------------- cuDNN
    {"cudnn.older-than-build",
     "but source was compiled with",
     R"re(Loaded runtime CuDNN library: (?P<loaded>[\d.]+)(?: \(.*?\))? but source was compiled with: (?P<built>[\d.]+))re",
     {"E cuda_dnn.cc:417] Loaded runtime CuDNN library: 8.5.0 but source was compiled with: 8.6.0. "
      " CuDNN "
      "library needs to have matching major version and equal or higher minor version."}},
    {"cudnn.loaded",
     "Loaded cuDNN version",
     R"re(Loaded cuDNN version (?P<version>\d+))re",
     {"I0000 cuda_dnn.cc:529] Loaded cuDNN version 90300"}},
    {"cudnn.not-found",
     "DNN library is not found|Could not create cudnn handle|Failed to get convolution "
     "algorithm|Unable to "
     "load cuDNN|DNN library initialization failed",
     R"re((?P<message>DNN library is not found|Could not create cudnn handle: (?P<status>CUDNN_\w+)|Failed to get convolution algorithm|Unable to load cuDNN[^.]*|DNN library initialization failed))re",
     {"UNIMPLEMENTED: DNN library is not found.",
      "E cuda_dnn.cc:319] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR",
      "Failed to get convolution algorithm. This is probably because cuDNN failed to initialize"}},
    {"cudnn.part-not-loaded",
     "Could not load library libcudnn_|Unable to load any of {libcudnn",
     R"re((?:Could not load library|Unable to load any of) \{?(?P<library>libcudnn\w*\.so[\d.]*?)(?:[,.}\s].*?(?:Error: (?P<error>.*))?)?$)re",
     {"Could not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so: cannot open shared "
      "object file: No "
      "such file or directory",
      "Unable to load any of {libcudnn_graph.so.9.1.0, libcudnn_graph.so.9.1, libcudnn_graph.so.9, "
      "libcudnn_graph.so}"}},
    // ------------------------------------------------------- compilers that XLA looks for
    {"xla.libdevice-not-found",
     "libdevice not found at|Can't find libdevice directory|libdevice is required by this HLO",
     R"re(libdevice not found at (?P<path>\S+)|Can't find libdevice directory|libdevice is required by this HLO module but was not found)re",
     {"INTERNAL: libdevice not found at ./libdevice.10.bc",
      "W nvptx_helper.cc:56] Can't find libdevice directory ${CUDA_DIR}/nvvm/libdevice. This may "
      "result in "
      "compilation or runtime failures"}},
    {"xla.ptxas-not-found",
     "Failed to launch ptxas|Couldn't get ptxas version|Couldn't invoke ptxas|Relying on driver to "
     "perform "
     "ptx compilation|No PTX compilation provider|Can't find ptxas binary",
     R"re(Failed to launch ptxas|Couldn't get ptxas version|Couldn't invoke ptxas|Relying on driver to perform ptx compilation|No PTX compilation provider|Can't find ptxas binary)re",
     {"W redzone_allocator.cc:314] Internal: Failed to launch ptxas",
      "Relying on driver to perform ptx compilation.",
      "Couldn't get ptxas version string: Internal: Couldn't invoke ptxas --version"}},
    {"xla.ptxas-too-old",
     "ptxas does not support|Unsupported .version|ptxas fatal",
     R"re(ptxas does not support (?P<what>CC \S+|\S+)|Unsupported \.version (?P<ptx>\d+\.\d+); current version is '(?P<current>\d+\.\d+)'|ptxas fatal\s*: (?P<fatal>.*))re",
     {"ptxas /tmp/x, line 9; fatal   : Unsupported .version 7.8; current version is '7.4'",
      "W asm_compiler.cc:85] ptxas does not support CC 8.9"}},
    {"cuda.invalid-ptx",
     "CUDA_ERROR_INVALID_PTX|CUDA_ERROR_UNSUPPORTED_PTX_VERSION|PTX was compiled with an "
     "unsupported "
     "toolchain",
     R"re(CUDA_ERROR_INVALID_PTX|CUDA_ERROR_UNSUPPORTED_PTX_VERSION|provided PTX was compiled with an unsupported toolchain)re",
     {"'cuModuleLoadData(&module, data)' failed with 'CUDA_ERROR_INVALID_PTX'",
      "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain."}},
    {"work.training-progress",
     "/step - |s/epoch|it/s,| - loss: ",
     R"re((?P<step>\d+)/(?P<steps>\d+).*?(?:\d+m?s/step|\d+(?:\.\d+)?(?:it/s|s/it)|loss: [\d.]+))re",
     {"1875/1875 [==============================] - 6s 3ms/step - accuracy: 0.9566 - loss: 0.1471",
      "391/391 - 9s - 24ms/step - accuracy: 0.4487 - loss: 1.5210"}},
};

}  // namespace

std::span<const Pattern> tensorflow_patterns() { return kPatterns; }

}  // namespace gpuwright
