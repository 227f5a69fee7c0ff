#include "reading/pattern.h"

// nvidia-smi and NVML: what they say in place of their tables, and their lists. The tables are
// blocks.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    // ----------------------------------------------------------------------- nvidia-smi
    {"smi.header",
     "NVIDIA-SMI ",
     R"(NVIDIA-SMI (?P<smi>\d+\.[\d.]+)\s+(?:Driver|KMD) Version: (?P<driver>\d+\.[\d.]+)(?:\s+CUDA (?:UMD )?Version: (?P<cuda>\d+\.\d+))?)",
     {"| NVIDIA-SMI 418.67       Driver Version: 418.67       CUDA Version: 10.1     |",
      "| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     "
      "|"}},
    {"smi.no-driver",
     "has failed because it couldn't communicate|has failed because you are not|"
     "Unable to communicate with the NVIDIA driver",
     R"((?:NVIDIA-SMI|nvidia-smi) has failed because (?:it couldn't communicate with the NVIDIA driver|you are not)|Unable to communicate with the NVIDIA driver)",
     {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
      "that "
      "the latest NVIDIA driver is installed and running."}},
    {"smi.no-devices",
     "No devices were found",
     R"(^\s*No devices were found)",
     {"No devices were found"}},
    {"smi.list",
     "(UUID: GPU-",
     R"(GPU (?P<index>\d+): (?P<name>.+?) \(UUID: (?P<uuid>GPU-[0-9A-Fa-f-]+)\))",
     {"GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0d3a7e51-2c1b-4f0a-8e77-1b1d5a9c0f01)"}},
    {"smi.mig-device",
     "(UUID: MIG-",
     R"(MIG\s+(?P<profile>\d\S*)\s+Device\s+(?P<index>\d+):? \(UUID: (?P<uuid>MIG-[^)]+)\))",
     {"  MIG 3g.20gb     Device  0: (UUID: MIG-6b2c9a39-8a5e-5b0c-9e4a-1d1f6d0f5c11)"}},
    {"smi.device-lost",
     "Unable to determine the device handle|GPU is lost|GpuIsLost|NVML_ERROR_GPU_IS_LOST",
     R"(Unable to determine the device handle for (?:GPU|gpu) ?(?:\d+: )?(?P<address>[0-9A-Fa-f]+:[0-9A-Fa-f:.]+\d)?|GPU is lost|GpuIsLost|NVML_ERROR_GPU_IS_LOST)",
     {"Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system "
      "to recover this GPU",
      "Unable to determine the device handle for GPU0000:0A:00.0: Unknown Error",
      "pynvml.NVMLError_GpuIsLost: GPU is lost"}},
    {"smi.command-missing",
     "nvidia-smi: command not found|'nvidia-smi' not found|nvidia-smi: not found|"
     "\"nvidia-smi\": executable file not found|command not found: nvidia-smi|"
     "'nvidia-smi' is not recognized|nvidia-smi: No such file|Unknown command: nvidia-smi",
     R"((?:nvidia-smi['"]?:? (?:command |executable file )?(?:not found|is not recognized|No such file)|command(?: not found)?: nvidia-smi))",
     {"bash: nvidia-smi: command not found",
      "OCI runtime exec failed: exec failed: unable to start container process: exec: "
      "\"nvidia-smi\": executable file not found in $PATH: unknown",
      "Command 'nvidia-smi' not found, but can be installed with:"}},
    {"smi.no-library",
     "couldn't find libnvidia-ml.so",
     R"(couldn't find libnvidia-ml\.so(?:\.1)? library in your system)",
     {"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the "
      "NVIDIA Display Driver is properly installed and present in your system."}},
    {"nvml.init-failed",
     "Failed to initialize NVML|Can't initialize NVML",
     R"((?:[Ff]ailed to initialize|Can't initialize) NVML(?:: (?P<reason>[^"')]+))?)",
     {"Failed to initialize NVML: Driver/library version mismatch",
      "Failed to initialize NVML: Unknown Error", "UserWarning: Can't initialize NVML"}},
    {"nvml.init-failed",
     "NVMLError_|NVML_ERROR_LIB|NVML_ERROR_DRIVER",
     R"((?P<name>NVMLError_(?:LibRmVersionMismatch|LibraryNotFound|DriverNotLoaded|NoPermission|Uninitialized|Unknown)|NVML_ERROR_(?:LIB_RM_VERSION_MISMATCH|LIBRARY_NOT_FOUND|DRIVER_NOT_LOADED)))",
     {"pynvml.NVMLError_LibRmVersionMismatch: Driver/library version mismatch",
      "pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found"}},
    {"nvml.library-version",
     "NVML library version",
     R"(NVML library version: (?P<version>\d+\.[\d.]+))",
     {"NVML library version: 550.107"}},
    {"nvml.error-code",
     "nvml error: |nvmlInit|nvml: ",
     R"(nvml error: (?P<reason>[a-z][^:]*?)(?:: unknown|$)|nvmlInit\S* (?:failed|returned).*?(?P<code>\d+))",
     {"nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown"}},
    // Who holds a GPU: fuser -v, lsof.
    {"gpu.holder",
     "F...m |F.... |F...n ",
     R"((?:/dev/(?P<node>nvidia\S*):)?\s+(?P<user>\S+)\s+(?P<pid>\d+)\s+F\S+\s+(?P<command>\S+)$)",
     {"/dev/nvidia0:        user      28811 F...m python",
      "                     root       1412 F.... nvidia-persiste"}},
    {"gpu.holder",
     "/dev/nvidia",
     R"(^(?P<command>\S+)\s+(?P<pid>\d+)\s+(?:\d+\s+)?(?P<user>\S+)\s+\S+\s+CHR\s+195,\s*\d+.*/dev/(?P<node>nvidia\d+)$)",
     {"python    28811 user  mem    CHR  195,0              560 /dev/nvidia0"}},
    // Device nodes, ls -l.
    {"node.listed",
     "nvidia0|nvidia1|nvidiactl|nvidia-uvm|nvidia-modeset",
     R"(^c(?P<mode>[rwx-]{9})[.+@]?\s+\d+\s+(?P<owner>\S+)\s+(?P<group>\S+)\s+\d+,\s*\d+\s.*?(?:/dev/)?(?P<name>nvidia[\w-]+)$)",
     {"crw-rw-rw- 1 root root 195,   0 Feb  3 19:21 /dev/nvidia0",
      "crw-rw---- 1 root vglusers 195, 255 Mar  1 08:00 /dev/nvidiactl"}},
    {"node.none",
     "/dev/nvidia",
     R"(cannot access ['"]?/dev/nvidia(?P<name>[\w*-]*)['"]?: No such file)",
     {"ls: cannot access '/dev/nvidia*': No such file or directory",
      "ls: cannot access '/dev/nvidia-uvm': No such file or directory"}},
    {"node.not-permitted",
     "/dev/nvidia",
     R"((?:(?P<name>/dev/nvidia[\w-]*)['"]?: Permission denied|(?:open|access|opening)\S*\s+['"]?(?P<path>/dev/nvidia[\w-]*).*(?:Permission denied|Operation not permitted|EACCES|EPERM)))",
     {"nvidia-smi: open /dev/nvidiactl: Permission denied",
      "openat(AT_FDCWD, \"/dev/nvidiactl\", O_RDWR) = -1 EPERM (Operation not permitted)"}},
    // Which libcuda a program gets: ldconfig -p, dpkg -S.
    {"loader.libcuda",
     "libcuda.so.1 (libc6",
     R"(libcuda\.so\.1 \(libc6[^)]*\) => (?P<path>\S+))",
     {"\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/wsl/lib/libcuda.so.1"}},
    {"package.owns-libcuda",
     "libcuda.so",
     R"(^(?P<package>(?:lib)?nvidia[\w.-]*?|cuda-compat[\w.-]*)(?::\w+)?: (?P<path>\S*libcuda\.so\S*))",
     {"libnvidia-compute-550:amd64: /usr/lib/x86_64-linux-gnu/libcuda.so.1"}},
    // Packages of the driver: dpkg -l, rpm -qa.
    {"package.driver",
     "nvidia-driver-|libnvidia-compute|nvidia-utils|nvidia-dkms|nvidia-kernel",
     R"(^(?P<state>[a-zA-Z]{2})\s+(?P<name>(?:lib)?nvidia-[\w.-]+?)(?::\w+)?\s+(?P<version>\d\S*)\s)",
     {"ii  nvidia-driver-550               550.107.02-0ubuntu0.24.04.1     amd64        NVIDIA "
      "driver metapackage"}},
    {"package.toolkit",
     "nvidia-container-toolkit|NVIDIA Container Toolkit CLI",
     R"((?:^ii\s+nvidia-container-toolkit(?::\w+)?\s+(?P<version>\d\S*)|NVIDIA Container Toolkit CLI version (?P<cli>[\d.]+)|^nvidia-container-toolkit-(?P<rpm>\d\S*)))",
     {"NVIDIA Container Toolkit CLI version 1.17.8",
      "ii  nvidia-container-toolkit           1.17.8-1      amd64        NVIDIA Container "
      "toolkit"}},
    {"package.driver-upgraded",
     "Upgrade: |nvidia-driver-|libnvidia-compute|upgrade ",
     R"((?:Upgrade: .*|upgrade )(?P<name>(?:lib)?nvidia-(?:driver|compute|utils)[\w-]*):\w+ \(?(?P<from>\d[^, ]*?)-\S*?,? (?P<to>\d[^, )]*?)-)",
     {"Upgrade: nvidia-driver-550:amd64 (550.90.07-0ubuntu0.24.04.1, 550.107.02-0ubuntu0.24.04.1)",
      "2024-09-05 06:31:30 upgrade libnvidia-compute-550:amd64 550.90.07-0ubuntu1 "
      "550.107.02-0ubuntu1"}},
    // GPUs of a collective that talk to each other directly.
    {"nccl.peer-channel",
     "via P2P",
     R"(NCCL INFO Channel \S+ ?: (?P<from>\d+)\S* -> (?P<to>\d+)\S*.* via P2P)",
     {"gpu-node:8817:8845 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"}},
    {"nccl.peers-off",
     "NCCL_P2P_DISABLE=1",
     R"(NCCL_P2P_DISABLE=1)",
     {"$ NCCL_P2P_DISABLE=1 torchrun --nproc-per-node 2 allreduce.py | tail -1"}},
    // The CUDA of a PyTorch, to compare with the driver's.
    {"torch.cuda-of-build",
     "_cuda8|_cuda9|_cuda1|+cu1|+cu9|torch.version.cuda",
     R"(py[\d.]+_cuda(?P<conda>\d+\.\d+)|\+cu(?P<wheel>\d{2,3})\b|torch\.version\.cuda:? '?(?P<said>\d+\.\d+))",
     {"pytorch                   1.5.0           py3.7_cuda10.2.89_cudnn7.6.5_0    pytorch",
      "torch 2.0.1+cu118, torch.version.cuda 11.8, cuda available False"}},
    {"package.unattended",
     "unattended-upgrade",
     R"(Commandline: \S*unattended-upgrade)",
     {"Commandline: /usr/bin/unattended-upgrade"}},
};

}  // namespace

std::span<const Pattern> driver_patterns() { return kPatterns; }

}  // namespace gpuwright
