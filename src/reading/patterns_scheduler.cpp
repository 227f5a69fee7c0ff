#include "reading/pattern.h"

// What hands GPUs to jobs: Kubernetes with NVIDIA's device plugin, Slurm; WSL, where Windows does.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    // --------------------------------------------------------------------- Kubernetes
    {"kubernetes.insufficient",
     "nsufficient nvidia.com/",
     R"re((?P<nodes>\d+/\d+) nodes are available:.*?(?P<count>\d+) [Ii]nsufficient (?P<resource>nvidia\.com/[\w.-]*\w)|[Ii]nsufficient (?P<what>nvidia\.com/[\w.-]*\w))re",
     {"  Warning  FailedScheduling  12s  default-scheduler  0/3 nodes are available: 3 "
      "Insufficient "
      "nvidia.com/gpu. preemption: 0/3 nodes are available"}},
    {"kubernetes.taint",
     "untolerated taint",
     R"re(untolerated taint \{(?P<taint>nvidia\.com/gpu[^}]*|sku[^}]*gpu[^}]*)\})re",
     {"0/4 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: present}"}},
    {"kubernetes.admission",
     "number of devices unavailable for nvidia.com",
     R"(requested number of devices unavailable for (?P<resource>nvidia\.com/[\w.-]*\w)\. Requested: (?P<wanted>\d+), Available: (?P<available>\d+))",
     {"UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable "
      "for "
      "nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected"}},
    {"kubernetes.capacity",
     "nvidia.com/gpu: |nvidia.com/gpu  ",
     R"re(^\s*"?(?P<resource>nvidia\.com/gpu)"?(?::|\s)\s*"?(?P<count>\d+)"?(?:\s+"?(?P<limit>\d+)"?)?\s*$)re",
     {"  nvidia.com/gpu:     0", "  nvidia.com/gpu     8            8"}},
    {"kubernetes.plugin-blind",
     "Incompatible platform detected|Incompatible strategy detected|could not load NVML library|"
     "No devices found. Waiting indefinitely|If this is a GPU node, did you configure",
     R"(Incompatible (?:platform|strategy) detected|could not load NVML library|No devices found\. Waiting indefinitely|If this is a GPU node, did you configure)",
     {"E1130 07:01:12.118 1 factory.go:115] Incompatible strategy detected auto",
      "If this is a GPU node, did you configure the NVIDIA Container Toolkit?",
      "I1130 07:01:12.118 1 main.go:287] No devices found. Waiting indefinitely."}},
    {"kubernetes.unhealthy",
     "marking device as unhealthy|Marking device unhealthy|is unhealthy",
     R"('?nvidia.com/gpu'? device marked unhealthy: (?P<uuid>\S+)|XidCriticalError: Xid=(?P<code>\d+) on Device=(?P<device>[\w-]+))",
     {"XidCriticalError: Xid=79 on Device=GPU-1c2d, the device will go unhealthy. Marking device "
      "unhealthy"}},
    // -------------------------------------------------------------------------- Slurm
    {"slurm.job-resources",
     "ReqTRES=|AllocTRES=",
     R"((?P<key>ReqTRES|AllocTRES)=(?P<resources>\S*))",
     {"   AllocTRES=cpu=8,mem=64G,node=1,billing=8"}},
    {"slurm.node-gres", "Gres=gpu", R"(^\s*Gres=(?P<gres>gpu\S*))", {"   Gres=gpu:p100:4"}},
    {"slurm.no-gpus",
     "SLURM_JOB_GPUS=|SLURM_GPUS_ON_NODE=",
     R"((?P<name>SLURM_JOB_GPUS|SLURM_GPUS_ON_NODE)=(?:\[\]|''|""|0?\s*$|,))",
     {"== host gpu07, SLURM_JOB_GPUS=[], CUDA_VISIBLE_DEVICES=[]", "SLURM_JOB_GPUS="}},
    {"slurm.directive", "#SBATCH ", R"(^\s*#SBATCH\s+(?P<option>\S.*)$)", {"#SBATCH --gres=gpu:4"}},
    {"slurm.in-job",
     "slurmstepd: |SLURM_JOB_ID=|srun: ",
     R"((?:slurmstepd|srun): |SLURM_JOB_ID=\d+)",
     {"srun: job 918273 queued and waiting for resources"}},
    {"slurm.refused",
     "Invalid generic resource|Requested node configuration is not available",
     R"((?P<tool>sbatch|srun|salloc): error: .*(?P<why>Invalid generic resource \(gres\) specification|Requested node configuration is not available))",
     {"sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification"}},
    {"slurm.gres-mismatch",
     "gres/gpu: count",
     R"(gres/gpu: count (?:changed for node|reported lower than configured|too low)?.*?\((?P<found>\d+) < (?P<configured>\d+)\))",
     {"slurmctld: error: _slurm_rpc_node_registration node=gpu07: gres/gpu count reported lower "
      "than "
      "configured (3 < 4); gres/gpu: count reported lower than configured (3 < 4)"}},
    {"slurm.gres-mismatch",
     "gres/gpu count",
     R"(gres/gpu count (?:reported lower than configured|too low) \((?P<found>\d+) < (?P<configured>\d+)\))",
     {"node=gpu07: gres/gpu count reported lower than configured (3 < 4)"}},
    // ---------------------------------------------------------------------------- WSL
    {"wsl.blocked",
     "GPU access blocked by the operating system",
     R"(GPU access blocked by the operating system)",
     {"Failed to initialize NVML: GPU access blocked by the operating system"}},
    {"wsl.no-adapter",
     "no adapters were found|dxg: dxgk: |dxgkio_query_adapter_info",
     R"(WSL environment detected but no adapters were found|dxgkio_query_adapter_info: Ioctl failed|dxgvmb_send_\w+: .*failed)",
     {"nvidia-container-cli: initialization error: WSL environment detected but no adapters were "
      "found: unknown",
      "[    3.1] misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -22"}},
    {"wsl.version",
     "WSL version|* Ubuntu|NAME ",
     R"(^\*?\s+(?P<name>[\w.-]+)\s+(?:Running|Stopped)\s+(?P<version>[12])\s*$)",
     {"* Ubuntu-22.04    Running         1"}},
    // ------------------------------------------------------------------ shared memory
    {"df.shm",
     "/dev/shm",
     R"(^(?P<system>\S+)\s+(?P<size>\S+)\s+(?P<used>\S+)\s+(?P<free>\S+)\s+(?P<percent>\d+)%\s+/dev/shm$)",
     {"shm              64M   64M     0 100% /dev/shm"}},
    {"work.bus-error",
     "Bus error|bus error",
     R"((?:DataLoader worker \(pid(?:\(s\))? (?P<pid>[\d, ]+)\) is killed by signal: Bus error|Unexpected bus error encountered in worker|[Ff]atal Python error: Bus error|^Bus error|SIGBUS))",
     {"RuntimeError: DataLoader worker (pid 572) is killed by signal: Bus error. It is possible "
      "that "
      "dataloader's workers are out of shared memory.",
      "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
      "shared "
      "memory (shm)."}},
    {"work.shm-full",
     "unable to write to file </torch|unable to open shared memory object|NCCL_SHM|/dev/shm/nccl|"
     "unable to allocate shared memory",
     R"((?:unable to (?:write to file|open shared memory object|allocate shared memory\(shm\) for file) </?(?P<file>[^>]+)>|(?:Error while creating shared memory segment|posix_fallocate|ftruncate).*/dev/shm/nccl).*?(?:No space left on device)?)",
     {"RuntimeError: unable to write to file </torch_572_1834_1>: No space left on device (28)",
      "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-xGWEq3 (size 9637888)"}},
};

}  // namespace

std::span<const Pattern> scheduler_patterns() { return kPatterns; }

}  // namespace gpuwright
