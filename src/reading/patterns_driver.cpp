#include "reading/pattern.h"

// The driver: nvidia-smi, NVML, the kernel's log, device nodes.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    // ------------------------------------------------------------ nvidia-smi and NVML
    {"smi.header",
     "NVIDIA-SMI ",
     R"(NVIDIA-SMI (?P<smi>\d+\.[\d.]+)\s+Driver Version: (?P<driver>\d+\.[\d.]+)(?:\s+CUDA Version: (?P<cuda>\d+\.\d+))?)",
     {"| NVIDIA-SMI 418.67       Driver Version: 418.67       CUDA Version: 10.1     |",
      "| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     "
      "|"}},
    {"smi.no-driver",
     "NVIDIA-SMI has failed because it couldn't communicate",
     R"(NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver)",
     {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
      "that "
      "the latest NVIDIA driver is installed and running."}},
    {"smi.no-devices",
     "No devices were found",
     R"(^No devices were found)",
     {"No devices were found"}},
    {"nvml.init-failed",
     "Failed to initialize NVML|Can't initialize NVML",
     R"((?:Failed to initialize|Can't initialize) NVML(?:: (?P<reason>[^"')]+))?)",
     {"Failed to initialize NVML: Driver/library version mismatch",
      "Failed to initialize NVML: Unknown Error", "UserWarning: Can't initialize NVML"}},
    {"nvml.library-version",
     "NVML library version",
     R"(NVML library version: (?P<version>\d+\.[\d.]+))",
     {"NVML library version: 550.107"}},
    // ---------------------------------------------------------------------- the kernel
    {"kernel.module-loaded",
     "NVRM: loading ",
     R"(NVRM: loading NVIDIA UNIX (?P<flavour>Open Kernel Module for \S+|\S+ Kernel Module)\s+(?P<version>\d+\.[\d.]+))",
     {"[    4.114209] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.261.03  Tue Jun 10 "
      "01:11:06 "
      "UTC 2025",
      "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build"}},
    {"kernel.api-mismatch",
     "API mismatch",
     R"(API mismatch: (?:the|this) client (?:'.*' )?(?:\(pid \d+\) )?has the version (?P<client>\d+\.[\d.]+)|API mismatch)",
     {"NVRM: API mismatch: the client has the version 550.107.02, but"}},
    {"kernel.module-version-line",
     "this kernel module has the version",
     R"(this kernel module has the version (?P<version>\d+\.[\d]+(?:\.\d+)?))",
     {"NVRM: this kernel module has the version 550.90.07.  Please"}},
    {"kernel.xid",
     "NVRM: Xid",
     R"(NVRM: Xid \((?P<address>[^)]+)\): (?P<code>\d+)(?:, pid=(?P<pid>[^,]+))?(?:, name=(?P<name>[^,]+))?(?:, (?P<detail>.*))?)",
     {"[ 4123.551206] NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has "
      "fallen "
      "off the bus.",
      "NVRM: Xid (PCI:0000:52:00): 94, pid=218804, name=python3, Ch 00000008"}},
    {"kernel.off-bus",
     "has fallen off the bus",
     R"(NVRM: (?:GPU (?:at )?)(?P<address>(?:PCI:)?[0-9a-fA-F:.]+).*fallen off the bus)",
     {"NVRM: GPU 0000:01:00.0: GPU has fallen off the bus."}},
    {"kernel.legacy-branch",
     "Legacy drivers. Please|supported through the NVIDIA",
     R"(supported through the NVIDIA (?P<branch>\d+)\.[\dx]+ Legacy drivers)",
     {"NVRM:  supported through the NVIDIA 580.xx Legacy drivers. Please"}},
    {"kernel.legacy-gpu",
     "GPU installed in this system is",
     R"(NVRM: The NVIDIA (?:NVIDIA )?(?P<name>.+?) GPU installed in this system is)",
     {"NVRM: The NVIDIA NVIDIA GeForce GTX 1050 GPU installed in this system is"}},
    {"kernel.ignores-gpu",
     "NVIDIA driver will ignore",
     R"(The (?P<version>\d+\.[\d.]+) NVIDIA driver will ignore)",
     {"NVRM:  information.  The 595.71.05 NVIDIA driver will ignore"}},
    {"kernel.no-gpu-found",
     "No NVIDIA GPU found|No NVIDIA graphics adapter found",
     R"(NVRM: No NVIDIA (?:GPU|graphics adapter) found)",
     {"[    2.1] NVRM: No NVIDIA GPU found.", "NVRM: No NVIDIA graphics adapter found!"}},
    {"kernel.needs-open-module",
     "requires use of the NVIDIA open kernel modules",
     R"(requires use of the NVIDIA open kernel modules)",
     {"NVRM: installed in this system requires use of the NVIDIA open kernel modules."}},
    {"kernel.key-rejected",
     "Key was rejected by service|Required key not available",
     R"((?:Key was rejected by service|Required key not available))",
     {"modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"}},
    {"modprobe.not-found",
     "Module nvidia not found|Module nvidia-current not found",
     R"(FATAL: Module nvidia\S* not found in directory (?P<directory>\S+))",
     {"modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.17.9-generic"}},
};

}  // namespace

std::span<const Pattern> driver_patterns() { return kPatterns; }

}  // namespace gpuwright
