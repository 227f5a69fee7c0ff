#include "reading/pattern.h"

// Lines that look like trouble and are none.

namespace gpuwright {
namespace {

constexpr NoisePattern kPatterns[] = {
    // --------------------------------------------------------------- TensorFlow
    {"had negative value (-1)",
     R"re(successful NUMA node read from SysFS had negative value \(-1\))re",
     "the kernel names no NUMA node for the GPU, which is usual on machines with one; node 0 is "
     "used",
     {"successful NUMA node read from SysFS had negative value (-1), but there must be at least "
      "one NUMA "
      "node, so returning NUMA node zero."}},
    {"read NUMA node|built without NUMA support",
     R"re(could not open file to read NUMA node|Your kernel may (?:not )?have been built without NUMA support)re",
     "the kernel does not tell a NUMA node, as in WSL; it changes nothing",
     {"could not open file to read NUMA node: /sys/bus/pci/devices/0000:01:00.0/numa_node",
      "Your kernel may have been built without NUMA support."}},
    {"Unable to register cu",
     R"re(Unable to register cu\w+ factory: Attempting to register factory)re",
     "TensorFlow registers its CUDA plugins twice and says so; both are the same code",
     {"E cuda_fft.cc:467] Unable to register cuFFT factory: Attempting to register factory for "
      "plugin cuFFT "
      "when one has already been registered"}},
    {"computation placer already registered",
     R"re(computation placer already registered)re",
     "another double registration inside TensorFlow, without effect",
     {"W computation_placer.cc:177] computation placer already registered. Please check linkage "
      "and avoid "
      "linking the same target more than once."}},
    {"messages before absl::InitializeLog",
     R"re(All log messages before absl::InitializeLog\(\) is called are written to STDERR)re",
     "says where early log lines go, and nothing else",
     {"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR"}},
    {"oneDNN custom operations are on",
     R"re(oneDNN custom operations are on)re",
     "the CPU kernels of oneDNN are in use; results may differ in the last digits",
     {"I port.cc:153] oneDNN custom operations are on. You may see slightly different numerical "
      "results"}},
    {"TensorFlow binary is optimized|rebuild TensorFlow with the appropriate compiler flags|binary "
     "was not "
     "compiled to use",
     R"re(This TensorFlow binary is optimized|To enable (?:the following instructions|them).*rebuild TensorFlow with the appropriate|(?:supports instructions that this TensorFlow binary was not compiled to use|binary was not compiled to use))re",
     "about instructions of the CPU that could make CPU kernels a little faster",
     {"I cpu_feature_guard.cc:210] This TensorFlow binary is optimized to use available CPU "
      "instructions in "
      "performance-critical operations.",
      "To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow "
      "with the "
      "appropriate compiler flags.",
      "Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 "
      "FMA"}},
    {"TF-TRT Warning|libnvinfer",
     R"re(TF-TRT Warning|Could not load dynamic library 'libnvinfer)re",
     "TensorRT is not installed; it is an optional accelerator for inference that training does "
     "not use",
     {"W py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
      "W dso_loader.cc:64] Could not load dynamic library 'libnvinfer.so.7'; dlerror: "
      "libnvinfer.so.7: cannot "
      "open shared object file: No such file or directory"}},
    {"Ignore above cudart dlerror",
     R"re(Ignore above cudart dlerror if you do not have a GPU)re",
     "follows the line about the library that it is about, and says nothing new",
     {"I cudart_stub.cc:29] Ignore above cudart dlerror if you do not have a GPU set up on your "
      "machine."}},
    {"OUT_OF_RANGE: End of sequence",
     R"re(OUT_OF_RANGE: End of sequence)re",
     "End of sequence: the data set has come to its end, which TensorFlow 2.16 and later log as a "
     "warning; "
     "harmless",
     {"W local_rendezvous.cc:404] Local rendezvous is aborting with status: OUT_OF_RANGE: End of "
      "sequence"}},
    {"this does not indicate an error and you can ignore",
     R"re(\(DEBUG INFO\) Executor start aborting \(this does not indicate an error)re",
     "a trace of TensorFlow's executor; the error, if any, stands in other lines",
     {"[/device:CPU:0] (DEBUG INFO) Executor start aborting (this does not indicate an error and "
      "you can ignore "
      "this message): INVALID_ARGUMENT: You must feed a value"}},
    {"Not creating XLA devices, tf_xla_enable",
     R"re(Not creating XLA devices, tf_xla_enable_xla_devices not set)re",
     "TensorFlow 2.4 and 2.5 say that separate XLA devices are off, as they are by default",
     {"I xla_cpu_device.cc:41] Not creating XLA devices, tf_xla_enable_xla_devices not set"}},
    {"this does not guarantee that XLA will be used",
     R"re(XLA service \S+ initialized for platform \w+ \(this does not guarantee that XLA will be used\))re",
     "XLA is ready, whether it is used or not",
     {"XLA service 0x7f1a8c00d2b0 initialized for platform CUDA (this does not guarantee that XLA "
      "will be "
      "used). Devices:"}},
    {"None of the MLIR Optimization Passes",
     R"re(None of the MLIR [Oo]ptimization [Pp]asses are enabled)re",
     "optional passes of the compiler are off, as by default",
     {"None of the MLIR Optimization Passes are enabled (registered 2)"}},
    {"could not retrieve XLA device|disabling MLIR crash reproducer",
     R"re(disabling MLIR crash reproducer)re",
     "a debugging aid of the compiler is off, as by default",
     {"W dump_mlir_util.cc:269] disabling MLIR crash reproducer, set env var "
      "`MLIR_CRASH_REPRODUCER_DIRECTORY` to enable."}},
    {"GCS cache max size",
     R"re(GCS cache max size = 0)re",
     "the cache for files in a cloud store is off, as by default",
     {"GCS cache max size = 0 ; block size = 67108864 ; max staleness = 0"}},
    {"Delay kernel timed out|delay_kernel",
     R"re(Delay kernel timed out: measured time has sub-optimal accuracy)re",
     "XLA's timing of kernels was disturbed, so it may choose a slightly slower one",
     {"E cuda_timer.cc:87] Delay kernel timed out: measured time has sub-optimal accuracy. There "
      "may be a "
      "missing warmup execution"}},
    {"gpu_prim not found|ptx_prim",
     R"re(gpu_prim not found)re",
     "an optional part is missing",
     {"gpu_prim not found"}},
    // ------------------------------------------------------------------ Python and pip
    {"Running pip as the 'root' user",
     R"re(Running pip as the 'root' user can result in broken permissions)re",
     "pip's advice about virtual environments",
     {"WARNING: Running pip as the 'root' user can result in broken permissions and conflicting "
      "behaviour"}},
    {"You are using pip version|A new release of pip|To update, run: pip|A newer version of conda "
     "exists",
     R"re(You are using pip version|A new release of pip|To update, run: .*pip install --upgrade pip|A newer version of conda exists)re",
     "an update of the package manager exists",
     {"WARNING: You are using pip version 21.3.1; however, version 22.0.4 is available.",
      "[notice] A new release of pip is available: 24.2 -> 24.3.1",
      "==> WARNING: A newer version of conda exists. <=="}},
    {"No broken requirements found",
     R"re(No broken requirements found)re",
     "pip check compares names and numbers of packages only",
     {"No broken requirements found."}},
    {"pkg_resources is deprecated|FutureWarning: |DeprecationWarning: ",
     R"re(pkg_resources is deprecated as an API|FutureWarning: |DeprecationWarning: )re",
     "about future releases of a package; today nothing changes",
     {"UserWarning: pkg_resources is deprecated as an API.",
      "FutureWarning: Conversion of the second argument of issubdtype from `float` is deprecated"}},
    {"Some module may need to rebuild instead",
     R"re(Some module may need to rebuild instead e\.g\. with 'pybind11)re",
     "advice to authors of packages",
     {"Some module may need to rebuild instead e.g. with 'pybind11>=2.12'."}},
    {"Failed to initialize NumPy: No module named",
     R"re(Failed to initialize NumPy: No module named 'numpy')re",
     "numpy is not installed; PyTorch works without it but for conversions to arrays",
     {"UserWarning: Failed to initialize NumPy: No module named 'numpy' (Triggered internally at "
      "/pytorch/torch/csrc/utils/tensor_numpy.cpp:81.)"}},
    // ------------------------------------------------------------------------ PyTorch
    {"For debugging consider passing CUDA_LAUNCH_BLOCKING|CUDA kernel errors might be "
     "asynchronously|Compile "
     "with `TORCH_USE_CUDA_DSA`",
     R"re(For debugging consider passing CUDA_LAUNCH_BLOCKING|CUDA kernel errors might be asynchronously reported|Compile with `TORCH_USE_CUDA_DSA`)re",
     "how to find the place of the error; it stands after every CUDA error of PyTorch",
     {"For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
      "CUDA kernel errors might be asynchronously reported at some other API call",
      "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."}},
    {"TORCH_CUDA_ARCH_LIST is not set|Attempted to use ninja as the BuildExtension",
     R"re(TORCH_CUDA_ARCH_LIST is not set, all archs|Attempted to use ninja as the BuildExtension)re",
     "an extension is built for more GPUs than needed, or without ninja; slower and right",
     {"UserWarning: TORCH_CUDA_ARCH_LIST is not set, all archs for visible cards are included for "
      "compilation.",
      "UserWarning: Attempted to use ninja as the BuildExtension backend but we could not find "
      "ninja."}},
    {"torch.meshgrid: in an upcoming release|given NumPy array is not writ",
     R"re(torch\.meshgrid: in an upcoming release|given NumPy array is not writ)re",
     "a warning about the program's own code, without effect on the GPU",
     {"UserWarning: torch.meshgrid: in an upcoming release, it will be required to pass the "
      "indexing argument.",
      "UserWarning: The given NumPy array is not writable"}},
    {"that has Tensor Cores",
     R"re(You are using a CUDA device \('.*'\) that has Tensor Cores)re",
     "a hint that lower matrix precision would be faster",
     {"You are using a CUDA device ('NVIDIA GeForce RTX 3080') that has Tensor Cores. To properly "
      "utilize them, "
      "you should set `torch.set_float32_matmul_precision`"}},
    // The driver's module, as every kernel greets it.
    {"module verification failed: signature|taints kernel",
     R"(nvidia\S*: (?:module verification failed: signature|module license 'NVIDIA' taints kernel|loading out-of-tree module taints kernel))",
     "the kernel notes that the module is not its own; it is loaded all the same",
     {"[    4.1] nvidia: module verification failed: signature and/or required key missing - "
      "tainting kernel",
      "[    5.4] nvidia: module license 'NVIDIA' taints kernel."}},
    {"(dkms apport): kernel package",
     R"(ERROR \(dkms apport\): kernel package \S+ is not supported)",
     "Ubuntu only says that it files no crash report for this kernel",
     {"ERROR (dkms apport): kernel package linux-headers-6.5.0-14-generic is not supported"}},
    {"lib/wsl/lib/libcuda.so.1 is not a symbolic link",
     R"(/usr/lib/wsl/lib/libcuda\.so\.1 is not a symbolic link)",
     "Windows hands its library into WSL as a file, not as a link; the loader does not mind",
     {"/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link"}},
    {"ACPI BIOS Error (bug)|ACPI Error: ",
     R"(ACPI (?:BIOS )?Error)",
     "a slip in the mainboard's ACPI tables, which nearly every machine has",
     {"[    3.1] ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PCI0], AE_NOT_FOUND"}},
    {"Failed to properly shut down NVML",
     R"(Failed to properly shut down NVML)",
     "what did not start cannot be ended; the line before tells why",
     {"Failed to properly shut down NVML: GPU access blocked by the operating system"}},
    {"Unable to create TMPDIR|Setting TMPDIR to",
     R"(slurmstepd: error: (?:Unable to create TMPDIR|Setting TMPDIR to))",
     "Slurm takes /tmp in place of a scratch directory that is not there",
     {"slurmstepd: error: Unable to create TMPDIR [/scratch/918273]: Permission denied",
      "slurmstepd: error: Setting TMPDIR to /tmp"}},
};

}  // namespace

std::span<const NoisePattern> noise_patterns() { return kPatterns; }

}  // namespace gpuwright
