#include "reading/pattern.h"

// The kernel's log about GPUs: the driver's own lines (NVRM), its error numbers (Xid, SXid), the
// bus below. dmesg, dmesg -T, journalctl and syslog put a time, a host and "kernel:" in front;
// whatever stands there is of no account.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    {"kernel.module-loaded",
     "NVRM: loading |NVRM version: ",
     R"(NVRM(?:: loading| version:) NVIDIA UNIX (?P<flavour>Open Kernel Module for \S+|\S+ Kernel Module)\s+(?P<version>\d+\.[\d.]+))",
     {"[    4.114209] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.261.03  Tue Jun 10 "
      "01:11:06 "
      "UTC 2025",
      "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024"}},
    {"kernel.api-mismatch",
     "API mismatch",
     R"(API mismatch: (?:the|this) client (?:'.*' )?(?:\(pid \d+\)\s*)?has the version (?P<client>\d+\.[\d.]+)|API mismatch)",
     {"NVRM: API mismatch: the client has the version 550.107.02, but",
      "NVRM: API mismatch: the client 'nvidia-smi' (pid 4711) has the version 575.64.03, but"}},
    {"kernel.module-version-line",
     "kernel module has the version",
     R"(kernel module has the version (?P<version>\d+\.[\d]+(?:\.\d+)?))",
     {"NVRM: this kernel module has the version 550.90.07.  Please"}},
    // ------------------------------------------------------------- numbered errors
    // Before branch 450 no pid, until 510 a pid alone; MIG adds GPU-I and GPU-CI.
    {"kernel.xid",
     "Xid (",
     R"((?:NVRM: |[^S])Xid \((?:PCI:)?(?P<address>[0-9a-fA-F]+:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?(?: GPU-I:(?P<instance>\d+))?(?: GPU-CI:\d+)?\): (?P<code>\d+)(?:, pid='?(?P<pid>[^,']+)'?)?(?:, name=(?P<name>[^,]+))?(?:, ?(?P<detail>.*))?)",
     {"[ 4123.551206] NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has "
      "fallen "
      "off the bus.",
      "NVRM: Xid (PCI:0000:0f:00 GPU-I:05): 94, pid=7194, name=train.py, Contained: SM (0x1). RST: "
      "No, D-RST: No",
      "Nov  3 02:11:07 n17 kernel: NVRM: Xid (0000:03:00): 62, 0cb5(2d50) 8503d4b0 00000000"}},
    {"kernel.sxid",
     "SXid (",
     R"(nvidia-nvswitch(?P<switch>\d+): SXid \(PCI:(?P<address>[0-9a-fA-F:.]+)\): (?P<code>\d+), (?P<class>[Nn]on-fatal|Fatal)(?:, Link (?P<link>\d+))?,? ?(?P<detail>.*))",
     {"nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 44 LTSSM Fault Up",
      "[  812.1] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress "
      "non-posted PRIV error (First)"}},
    {"kernel.sxid",
     "detected NVSwitch ",
     R"(detected NVSwitch (?P<class>fatal|non-fatal) error (?P<code>\d+) on fid \d+ on NVSwitch pci bus id (?P<address>[0-9a-fA-F:.]+))",
     {"detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:C6:00.0 "
      "physical "
      "id 10 port 44"}},
    {"kernel.off-bus",
     "fallen off the bus",
     R"(NVRM:\s+(?:GPU (?:at )?(?:PCI:)?(?P<address>[0-9a-fA-F:.]+\d).*)?fallen off the bus)",
     {"NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.",
      "NVRM: fallen off the bus and is not responding to commands."}},
    {"kernel.gsp-timeout",
     "GSP RPC error prints|waiting for RPC from GSP|GSP Timeout|Heartbeat timed out",
     R"(NVRM: (?:.*(?:Rate limiting GSP RPC error prints for GPU at PCI:(?P<address>[0-9a-fA-F:]+)|Timeout waiting for RPC from GSP)|GPU(?P<index>\d+) .*(?:GSP Timeout|Heartbeat timed out)))",
     {"NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:01:00 (printing 1 of every "
      "30).",
      "NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 812751949"}},
    // -------------------------------------------------------------- does not start
    {"kernel.no-power",
     "power cables connected",
     R"((?P<line>does not have the necessary power cables connected))",
     {"NVRM: GPU 0000:01:00.0: GPU does not have the necessary power cables connected."}},
    {"kernel.bar-invalid",
     "region assigned to your NVIDIA device is invalid|is 0M @ 0x0",
     R"(NVRM: (?:This PCI I/O region assigned to your NVIDIA device is invalid|BAR(?P<bar>\d) is 0M @ 0x0(?: \(PCI:(?P<address>[0-9a-fA-F:.]+)\))?))",
     {"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
      "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)"}},
    {"kernel.adapter-failed",
     "RmInitAdapter failed",
     R"(NVRM: GPU (?P<address>[0-9a-fA-F:.]+\d): RmInitAdapter failed! \((?P<status>[0-9a-fA-Fx:]+)\))",
     {"NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)"}},
    {"kernel.probe-failed",
     "probe routine failed|nvidia: probe of |rm_init_adapter failed|None of the NVIDIA|No NVIDIA "
     "devices probed|No NVIDIA graphics adapter probed",
     R"((?:nvidia: probe of \S+ failed with error -?\d+|The NVIDIA probe routine failed for (?P<count>\d+) device|rm_init_adapter failed|None of the NVIDIA (?:graphics adapters|devices) were|No NVIDIA (?:devices|graphics adapter) probed))",
     {"NVRM: The NVIDIA probe routine failed for 1 device(s).",
      "NVRM: None of the NVIDIA devices were initialized.",
      "[   88.404874] NVRM: No NVIDIA devices probed."}},
    {"kernel.firmware-missing",
     "gsp_|gsp.bin|gsp firmware",
     R"((?:Direct firmware load for (?P<file>nvidia/\S*gsp\S*) failed with error (?P<code>-?\d+)|RmFetchGspRmImages: No firmware image found))",
     {"nvidia 0000:01:00.0: Direct firmware load for nvidia/570.86.15/gsp_ga10x.bin failed with "
      "error "
      "-2"}},
    {"kernel.firmware-missing",
     "No firmware image found",
     R"(NVRM: .*No firmware image found)",
     {"NVRM: RmFetchGspRmImages: No firmware image found"}},
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
    {"kernel.named-gpu",
     "NVRM: The NVIDIA GPU ",
     R"(NVRM: The NVIDIA GPU (?P<address>[0-9a-fA-F:.]+\d) \(PCI ID: 10de:(?P<device>[0-9a-f]{4})\))",
     {"NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)"}},
    {"kernel.gpu-unsupported",
     "not supported by the|not supported by open|NVIDIA driver release",
     R"(NVRM:.*not supported by (?:the (?:NVIDIA )?(?P<version>\d+\.[\d.]+)|(?P<open>open))|NVRM: (?:by the )?(?P<release>\d+\.[\d.]+) NVIDIA driver release)",
     {"NVRM: installed in this system is not supported by the NVIDIA 525.147.05 driver release.",
      "NVRM: installed in this vGPU host system is not supported by open",
      "NVRM: 390.157 NVIDIA driver release."}},
    {"kernel.no-gpu-found",
     "No NVIDIA GPU found|No NVIDIA graphics adapter found",
     R"(NVRM: No NVIDIA (?:GPU|graphics adapter) found)",
     {"[    2.1] NVRM: No NVIDIA GPU found.", "NVRM: No NVIDIA graphics adapter found!"}},
    {"kernel.needs-open-module",
     "requires use of the NVIDIA open kernel modules",
     R"(requires use of the NVIDIA open kernel modules)",
     {"NVRM: installed in this system requires use of the NVIDIA open kernel modules."}},
    // ------------------------------------------------------------------ other owners
    {"kernel.other-owner",
     "probe routine was not called|obtained ownership of the NVIDIA device|"
     "claims ownership of the device|was not called for",
     R"(NVRM: (?:The NVIDIA probe routine was not called for (?P<count>\d+) device|obtained ownership of the NVIDIA device)|NVRM: .*claims ownership of the device's)",
     {"[   88.403950] NVRM: The NVIDIA probe routine was not called for 1 device(s).",
      "NVRM: rivafb is loaded and claims ownership of the device's registers."}},
    {"kernel.nouveau-binds",
     "nouveau 0000|nouveau 0001",
     R"(nouveau (?P<address>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d): (?:NVIDIA (?P<chip>\w+)|bios: version|fb: \d+|DRM: VRAM))",
     {"[    2.911604] nouveau 0000:01:00.0: NVIDIA TU106 (166000a1)"}},
    // ----------------------------------------------------------------------- the bus
    {"kernel.aer",
     "AER: |PCIe Bus Error: severity",
     R"((?:AER: (?:Multiple )?(?P<kind>Corrected|Correctable|Uncorrected|Uncorrectable)[^:]*error (?:message )?received|PCIe Bus Error: severity=(?P<severity>\w+)))",
     {"pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:00:01.0",
      "nvidia 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter "
      "ID)"}},
    {"kernel.link-limited",
     "available PCIe bandwidth, limited by",
     R"((?P<address>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d): (?P<have>[\d.]+) Gb/s available PCIe bandwidth, limited by (?P<speed>[\d.]+ GT/s) PCIe x(?P<width>\d+) link at (?P<at>\S+) \(capable of (?P<able>[\d.]+) Gb/s)",
     {"pci 0000:41:00.0: 63.012 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x4 link "
      "at "
      "0000:40:01.1 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"}},
    {"kernel.stuck",
     "blocked for more than",
     R"(INFO: task (?P<task>[^:]*(?:nvidia|python|nv-|modprobe|nvc:)[^:]*):(?P<pid>\d+) blocked for more than (?P<seconds>\d+) seconds)",
     {"INFO: task nvidia-smi:40112 blocked for more than 120 seconds."}},
    {"kernel.iommu-translated",
     "iommu: Default domain type: Translated",
     R"(iommu: Default domain type: Translated)",
     {"[    0.912044] iommu: Default domain type: Translated"}},
    {"kernel.vgpu-unlicensed",
     "vGPU|Unlicensed",
     R"((?:nvidia-gridd.*(?:Failed to acquire license|[Ll]icense.*(?:expired|denied|not available))|[Ff]ailed to acquire/renew license|License Status\s*: Unlicensed|valid NVIDIA.*license|Unlicensed \(Unrestricted\)))",
     {"nvidia-gridd[911]: Failed to acquire license from 10.0.0.9 (Info: NVIDIA vGPU license - "
      "Error: "
      "connection refused)",
      "            License Status                : Unlicensed (Unrestricted)"}},
};

}  // namespace

std::span<const Pattern> kernel_patterns() { return kPatterns; }

}  // namespace gpuwright
