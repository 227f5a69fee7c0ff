#include "reading/pattern.h"

// The interpreter, pip, uv and conda, and packages that do not fit each other.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    // ----------------------------------------------------------------- packages
    {"package",
     "tensorflow|pytorch|torch  |torchvision|torchaudio|numpy  |protobuf|jaxlib|jax   |jax-cuda|"
     "jax_cuda|cudatoolkit|keras  |tf-keras|tf_keras|nvidia-c|nvidia_c|nvidia-n|flax  |cudnn  ",
     R"re(^\s*(?:[+~-]\s+)?(?P<name>tensorflow[\w.-]*|tf[_-]\w+|torch|torchvision|torchaudio|pytorch|pytorch-cuda|numpy|protobuf|jax|jaxlib|jax-cuda\S+|keras|flax|cudatoolkit|cudnn|nvidia[-_]\S+)\s+(?P<version>\d[\w.+!-]*)(?:\s+(?P<build>\S+))?(?:\s+(?P<channel>\S+))?(?:\s+\S+)?$)re",
     {"numpy                     2.1.2           py310hd6e36ab_0    conda-forge",
      "pytorch                   1.5.0           py3.7_cuda10.2.89_cudnn7.6.5_0    pytorch",
      "  + tensorflow        2.7.0  cpu_py39h9c1fa4f_1    conda-forge/linux-64      39kB"}},
    {"package",
     "tensorflow==|torch==|numpy==|protobuf==|jaxlib==|jax==|keras==|nvidia-|torchvision==",
     R"re(^(?P<name>[a-z][\w-]*)==(?P<version>\d[\w.+!-]*)$)re",
     {"torch==2.5.1+cu121", "nvidia-cudnn-cu12==9.1.0.70"}},
    {"torch.cpu-version",
     "+cpu",
     R"re(\b(?P<version>\d+\.\d+\.\d+(?:\.\w+)?\+cpu)\b)re",
     {"2.9.1+cpu None False", "torch 1.13.1+cpu, torch.version.cuda None, cuda available False"}},
    {"host.architecture", "aarch64|x86_64", R"re(^(?P<name>aarch64|x86_64)$)re", {"aarch64"}},
    {"pip.installed",
     "Successfully installed ",
     R"re(Successfully installed (?P<list>.*))re",
     {"Successfully installed filelock-3.20.0 torch-2.9.1 typing-extensions-4.15.0"}},
    {"pip.downloads-wheel",
     "linux_aarch64.whl|linux_x86_64.whl|_aarch64.whl|_x86_64.whl",
     R"re((?P<name>[A-Za-z0-9_.]+)-(?P<version>\d[\w.+%]*)-(?P<python>[a-z0-9.]+)-(?P<abi>[a-z0-9.]+)-(?P<platform>[a-z0-9_.]*(?:aarch64|x86_64))\.whl)re",
     {"  Downloading torch-2.9.1-cp312-cp312-manylinux_2_28_aarch64.whl (104.2 MB)"}},
    {"pip.no-version",
     "Could not find a version that satisfies the requirement|No matching distribution found "
     "for|we can "
     "conclude that|No solution found when resolving",
     R"re((?:Could not find a version that satisfies the requirement|No matching distribution found for) (?P<requirement>[A-Za-z0-9_.-]+(?:\[[^\]]*\])?\S*)(?: \(from versions: (?P<versions>.*)\))?)re",
     {"ERROR: Could not find a version that satisfies the requirement tensorflow<2.20 (from "
      "versions: none)",
      "ERROR: No matching distribution found for tensorflow==2.12"}},
    {"pip.no-solution",
     "no wheels with a matching Python ABI tag|has no wheels with a matching "
     "Python|requires-python",
     R"re((?P<name>[A-Za-z0-9_-]+)(?:[=<>!~]\S+)? has no wheels with a matching Python (?:ABI|version|implementation) tag)re",
     {"  \xe2\x95\xb0\xe2\x94\x80\xe2\x96\xb6 Because tensorflow==2.18.0 has no wheels with a "
      "matching Python ABI tag (e.g., "
      "`cp313`)"}},
    {"pip.conflict",
     "which is incompatible",
     R"re((?P<who>[A-Za-z0-9_.-]+) (?P<who_version>\d\S*) (?:requires|has requirement) (?P<wants>[^,]+?(?:,\S+)*), but you(?:'ll)? have (?P<has>[A-Za-z0-9_.-]+) (?P<has_version>\d\S*) which is incompatible)re",
     {"tensorflow 2.15.0 requires numpy<2.0.0,>=1.23.5, but you have numpy 2.1.0 which is "
      "incompatible."}},
    {"pip.tensorflow-gpu-stub",
     "tensorflow-gpu package has been removed|The \"tensorflow-gpu\" package",
     R"re((?i)the "?tensorflow-gpu"? package has been removed)re",
     {"The \"tensorflow-gpu\" package has been removed!"}},
    {"pip.user-install",
     "Defaulting to user installation",
     R"re(Defaulting to user installation because normal site-packages is not writeable)re",
     {"Defaulting to user installation because normal site-packages is not writeable"}},
    {"python.version",
     "Python 2.|Python 3.",
     R"re(^(?:\S+ )?Python (?P<version>[23]\.\d+(?:\.\d+)?)\b)re",
     {"Python 3.13.0"}},
    {"python.is-at",
     "/bin/python",
     R"re(^(?:Out\[\d+\]: \(')?['"]?(?P<path>/\S*/bin/python[\d.]*)['"]?(?:,|$))re",
     {"/opt/conda/envs/vipe/bin/python", "Out[1]: ('/opt/jupyter/bin/python', '2.12.0', [])"}},
    // --------------------------------------------------- imports that fail
    {"python.numpy-abi",
     "A module that was compiled using NumPy 1.x|_ARRAY_API not found|numpy.core.multiarray failed "
     "to "
     "import|numpy.core._multiarray_umath failed to import|numpy.dtype size changed",
     R"re(A module that was compiled using NumPy 1\.x cannot be run in|_ARRAY_API not found|numpy\.core\.\w+ failed to import|numpy\.dtype size changed)re",
     {"A module that was compiled using NumPy 1.x cannot be run in",
      "AttributeError: _ARRAY_API not found",
      "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from "
      "C header, "
      "got 88 from PyObject"}},
    {"python.numpy-version",
     "NumPy 2.|NumPy version 2",
     R"re(NumPy (?:version )?(?P<version>2\.\d+\.\d+)(?: as it may crash)?)re",
     {"NumPy 2.1.2 as it may crash. To support both 1.x and 2.x"}},
    {"python.numpy-alias",
     "module 'numpy' has no attribute",
     R"re(module 'numpy' has no attribute '(?P<name>\w+)')re",
     {"AttributeError: module 'numpy' has no attribute 'bool'."}},
    {"python.protobuf-descriptors",
     "Descriptors cannot not be created directly|Descriptors cannot be created directly",
     R"re(Descriptors cannot (?:not )?be created directly)re",
     {"TypeError: Descriptors cannot not be created directly."}},
    {"python.protobuf-other",
     "cannot import name 'builder' from 'google.protobuf.internal'|has no attribute "
     "'GetPrototype'|Detected "
     "incompatible Protobuf Gencode",
     R"re(cannot import name 'builder' from 'google\.protobuf\.internal'|'MessageFactory' object has no attribute 'GetPrototype'|Detected incompatible Protobuf Gencode/Runtime versions)re",
     {"ImportError: cannot import name 'builder' from 'google.protobuf.internal' "
      "(/usr/lib/python3/dist-packages/google/protobuf/internal/__init__.py)",
      "AttributeError: 'MessageFactory' object has no attribute 'GetPrototype'"}},
    {"python.no-module",
     "No module named",
     R"re(ModuleNotFoundError: No module named '(?P<module>[\w.]+)'(?:; '(?P<parent>[\w.]+)' is not a package)?)re",
     {"ModuleNotFoundError: No module named 'tensorflow'",
      "ModuleNotFoundError: No module named 'torch._C'; 'torch' is not a package"}},
    {"python.partially-initialised",
     "partially initialized module",
     R"re(partially initialized module '(?P<module>[\w.]+)' (?:from '(?P<path>[^']+)' )?has no attribute)re",
     {"AttributeError: partially initialized module 'tensorflow' from '/home/u/tensorflow.py' has "
      "no attribute "
      "'constant' (most likely due to a circular import)",
      "AttributeError: partially initialized module 'torch' has no attribute 'nn' (most likely due "
      "to a "
      "circular import)"}},
    {"python.user-site-file",
     "/.local/lib/python3",
     R"re(File "(?P<path>[^"]*/\.local/lib/python(?P<python>[\d.]+)/site-packages/(?P<package>\w+)[^"]*)")re",
     {"  File \"/home/user/.local/lib/python3.10/site-packages/tensorflow/__init__.py\", line 37, "
      "in "
      "<module>"}},
    // ------------------------------------------------ packages of another release
    {"companion.addons-range",
     "Tensorflow Addons supports using",
     R"re(Tensorflow Addons supports using Python ops for all Tensorflow versions above or equal to (?P<from>[\d.]+) and strictly below (?P<to>[\d.]+))re",
     {"UserWarning: Tensorflow Addons supports using Python ops for all Tensorflow versions above "
      "or equal "
      "to 2.12.0 and strictly below 2.15.0 (nightly versions are not supported)."}},
    {"companion.undefined-symbol",
     "undefined symbol",
     R"re((?P<object>\S*(?:tensorflow_text|tensorflow_io|tensorflow_addons|tensorflow_decision_forests|torchvision|torchaudio|torch_scatter|torch_sparse|torch_cluster|flash_attn\w*|xformers|bitsandbytes|detectron2|mmcv|vllm|apex)\S*\.so\S*): undefined symbol: (?P<symbol>\S+))re",
     {"OSError: /venv/lib/python3.10/site-packages/torchaudio/lib/libtorchaudio.so: undefined "
      "symbol: "
      "_ZNK3c107SymBool10guard_boolEPKcl",
      "tensorflow.python.framework.errors_impl.NotFoundError: /venv/lib/python3.10/site-packages/"
      "tensorflow_text/python/ops/_sentencepiece_tokenizer.so: undefined symbol: "
      "_ZN4absl12lts_2021"}},
    {"companion.torchvision-operator",
     "operator torchvision::nms does not exist|Couldn't load custom C++ ops|PyTorch and "
     "torchvision were "
     "compiled with different CUDA",
     R"re(operator torchvision::nms does not exist|Couldn't load custom C\+\+ ops|PyTorch and torchvision were compiled with different CUDA)re",
     {"RuntimeError: operator torchvision::nms does not exist",
      "RuntimeError: Couldn't load custom C++ ops. This can happen if your PyTorch and torchvision "
      "versions "
      "are incompatible"}},
    {"keras.three-not-supported",
     "installed version of Keras is Keras 3|Keras 3 only supports|requires Keras "
     "2|backwards-compatible "
     "tf-keras",
     R"re(installed version of Keras is Keras 3, but this is not yet supported|install the backwards-compatible tf-keras package)re",
     {"ValueError: Your currently installed version of Keras is Keras 3, but this is not yet "
      "supported in "
      "Transformers. Please install the backwards-compatible tf-keras package with `pip install "
      "tf-keras`."}},
    {"python.typing-extensions",
     "from 'typing_extensions'",
     R"re(cannot import name '(?P<name>\w+)' from 'typing_extensions')re",
     {"ImportError: cannot import name 'TypeIs' from 'typing_extensions' "
      "(/venv/lib/python3.9/site-packages/"
      "typing_extensions.py)"}},
    {"pip.unsupported-wheel",
     "is not a supported wheel on this platform",
     R"re((?P<wheel>[\w.+-]+\.whl) is not a supported wheel on this platform)re",
     {"ERROR: tensorflow-2.15.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl is not "
      "a supported "
      "wheel on this platform."}},
    {"conda.needs-virtual-cuda",
     "nothing provides __cuda|__cuda >=|__cuda needed by",
     R"re(nothing provides (?:requested )?__cuda(?P<bound>[^,]*?)(?: needed by (?P<package>\S+))?$|feature:?\S*\|?__cuda)re",
     {"  - nothing provides __cuda needed by pytorch-2.1.0-cuda112py310he33e0d6_300"}},
    {"conda.virtual-packages",
     "virtual packages :",
     R"re(virtual packages : (?P<list>\S.*))re",
     {"       virtual packages : __linux=5.13.0=0"}},
    {"conda.virtual-cuda",
     "__cuda=",
     R"re(__cuda=(?P<version>[\d.]+))re",
     {"                          __cuda=12.4=0"}},
};

}  // namespace

std::span<const Pattern> python_patterns() { return kPatterns; }

}  // namespace gpuwright
