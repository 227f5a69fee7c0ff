#include "reading/pattern.h"

// Kernel modules: loading (modprobe, insmod, Secure Boot), building (DKMS, akmods, NVIDIA's own
// installer), the packages that bring them, and lists of what is loaded.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    // ----------------------------------------------------------------------- loading
    {"module.key-rejected",
     "Key was rejected by service|Required key not available|unavailable key is rejected|"
     "PKCS#7 signature not signed with a trusted key|unsigned module loading is restricted",
     R"((?:could not insert '?(?P<module>nvidia\w*)'?: )?(?:Key was rejected by service|Required key not available)|Loading of (?:unsigned )?module with unavailable key is rejected|PKCS#7 signature not signed with a trusted key|unsigned module loading is restricted)",
     {"modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
      "[   21.730112] Loading of module with unavailable key is rejected",
      "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7"}},
    {"module.not-found",
     "Module nvidia",
     R"(Module (?P<module>nvidia\S*) not found(?: in directory (?P<directory>\S+?)\.?$)?)",
     {"modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.17.9-generic",
      "modprobe: FATAL: Module nvidia-current not found in directory /lib/modules/6.1.0-18-amd64"}},
    {"module.no-device",
     "No such device",
     R"(could not insert '?(?:module )?(?P<module>nvidia\w*)\S*'?: No such device)",
     {"modprobe: ERROR: could not insert 'nvidia': No such device",
      "insmod: ERROR: could not insert module nvidia.ko: No such device"}},
    {"module.other-kernel",
     "Exec format error|version magic|disagrees about version of symbol",
     R"(could not insert '?(?:module )?nvidia\S*'?: Exec format error|nvidia\w*: version magic '(?P<built>\S+) [^']*' should be '(?P<running>\S+)|nvidia\w*: disagrees about version of symbol)",
     {"modprobe: ERROR: could not insert 'nvidia': Exec format error",
      "nvidia: version magic '5.15.0-91-generic SMP mod_unload modversions ' should be "
      "'5.15.0-94-generic SMP mod_unload modversions '",
      "nvidia: disagrees about version of symbol module_layout"}},
    {"module.unknown-symbol",
     "Unknown symbol",
     R"((?P<module>nvidia\w*): Unknown symbol (?P<symbol>\w+)|could not insert '?nvidia\w*'?: Unknown symbol)",
     {"nvidia_uvm: Unknown symbol radix_tree_preloads (err -2)",
      "modprobe: ERROR: could not insert 'nvidia_drm': Unknown symbol in module, or unknown "
      "parameter "
      "(see dmesg)"}},
    {"module.gpl-symbol",
     "GPL-incompatible module nvidia",
     R"(GPL-incompatible module (?P<module>nvidia\S*) uses GPL-only symbol '(?P<symbol>\w+)')",
     {"ERROR: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol "
      "'rcu_read_unlock_strict'"}},
    {"module.blacklisted",
     "could not insert 'nvidia|could not insert nvidia|install nvidia",
     R"(could not insert '?nvidia\w*'?: (?:Operation not permitted|Invalid argument)|install nvidia\w* /bin/(?:false|true))",
     {"modprobe: ERROR: could not insert 'nvidia': Operation not permitted",
      "install nvidia /bin/false"}},
    {"module.in-use",
     "Module nvidia|module 'nvidia|is in use",
     R"((?:rmmod|modprobe).*[Mm]odule '?nvidia\w*'? is (?:in use|in use by|builtin))",
     {"rmmod: ERROR: Module nvidia_uvm is in use",
      "modprobe: FATAL: Module nvidia_drm is in use."}},
    // ------------------------------------------------------------------- Secure Boot
    {"secure-boot.on",
     "SecureBoot enabled|Secure boot enabled|Secure Boot: enabled",
     R"(^\s*SecureBoot enabled|[Ss]ecure boot enabled|Secure Boot: enabled)",
     {"SecureBoot enabled", "[    0.000000] secureboot: Secure boot enabled"}},
    {"secure-boot.off",
     "SecureBoot disabled|Secure boot disabled|doesn't support Secure Boot",
     R"(SecureBoot disabled|[Ss]ecure boot disabled|This system doesn't support Secure Boot)",
     {"SecureBoot disabled", "This system doesn't support Secure Boot"}},
    {"secure-boot.key-missing",
     "is not enrolled",
     R"((?P<key>\S+) is not enrolled)",
     {"/var/lib/shim-signed/mok/MOK.der is not enrolled"}},
    // ---------------------------------------------------------------------- building
    {"dkms.status",
     "nvidia/|nvidia-current/|nvidia, ",
     R"(^\s*nvidia[\w-]*(?:/|, )(?P<version>\d+\.[\d.]+)(?:, (?P<kernel>\d[^,]+), (?P<arch>\w+))?: (?P<state>installed|built|added|broken)(?P<warning>.*))",
     {"nvidia/580.119.02, 6.17.4-76061704-generic, x86_64: installed", "nvidia, 470.57.02: added"}},
    {"dkms.failed",
     "Bad return status for module build",
     R"(Bad return status for module build on kernel: (?P<kernel>\S+))",
     {"Error! Bad return status for module build on kernel: 6.17.9-76061709-generic (x86_64)"}},
    {"dkms.make-log",
     "make.log",
     R"((?:Consult|See) (?P<path>/var/lib/dkms/(?P<module>nvidia[^/]*)/(?P<version>[^/]+)/\S*make\.log))",
     {"Consult /var/lib/dkms/nvidia/580.119.02/build/make.log for more information."}},
    {"dkms.no-headers",
     "kernel headers for kernel|kernel source tree|kernel headers",
     R"([Yy]our kernel headers for kernel (?P<kernel>\S+) cannot be found|Missing (?P<other>\S+) kernel headers for module nvidia|[Uu]nable to find the kernel source tree|Unable to find the development tool)",
     {"Error! Your kernel headers for kernel 5.15.0-94-generic cannot be found at "
      "/lib/modules/5.15.0-94-generic/build or /lib/modules/5.15.0-94-generic/source.",
      "ERROR: Unable to find the kernel source tree for the currently running kernel. Please make "
      "sure you have installed the kernel source files for your kernel"}},
    {"dkms.compiler",
     "unrecognized command|The compiler used to build the kernel|cc version mismatch|"
     "Compiler version check failed",
     R"(cc: error: unrecognized command[- ]line option [^\w-]*(?P<option>-f[\w=-]+)|The kernel was built by|cc version mismatch|Compiler version check failed|The compiler used to (?:build|compile) the kernel)",
     {"gcc: error: unrecognized command-line option '-ftrivial-auto-var-init=zero'",
      "ERROR: Compiler version check failed:"}},
    {"installer.failed",
     "performing the step: |Unable to load the kernel module|installer",
     R"re(ERROR: (?:An error occurred while performing the step: "(?P<step>[^"]+)"|Unable to load the kernel module 'nvidia[\w-]*\.ko'|Failed to run `/\S*dkms))re",
     {"ERROR: An error occurred while performing the step: \"Building kernel modules\". See "
      "/var/log/nvidia-installer.log for details.",
      "ERROR: Unable to load the kernel module 'nvidia.ko'.  This happens most frequently when "
      "this "
      "kernel module was built against the wrong or improperly configured kernel sources"}},
    {"installer.ended",
     "Installation has failed",
     R"(ERROR: Installation has failed\.)",
     {"ERROR: Installation has failed.  Please see the file '/var/log/nvidia-installer.log' for "
      "details."}},
    {"installer.nouveau",
     "Nouveau kernel driver is currently in use",
     R"(The Nouveau kernel driver is currently in use)",
     {"ERROR: The Nouveau kernel driver is currently in use by your system.  This driver is "
      "incompatible with the NVIDIA driver"}},
    {"installer.busy",
     "appears to already be loaded in your kernel|appear to be running an X server",
     R"(ERROR: (?:An NVIDIA kernel module '(?P<module>[\w-]+)' appears to already be loaded|You appear to be running an X server))",
     {"ERROR: An NVIDIA kernel module 'nvidia-uvm' appears to already be loaded in your kernel."}},
    {"package.unconfigured",
     "error processing package|is not configured yet|post-installation script subprocess",
     R"(error processing package (?P<name>(?:lib)?nvidia[\w.-]+)(?::\w+)? |Package (?P<waits>(?:lib)?nvidia[\w.:-]+) is not configured yet|installed (?P<script>(?:lib)?nvidia[\w.-]+) package post-installation script subprocess returned error)",
     {"dpkg: error processing package nvidia-dkms-580-open (--configure):",
      "  Package nvidia-dkms-580-open is not configured yet."}},
    {"package.unmet",
     "nvidia-driver-|libnvidia-|nvidia-dkms",
     R"(^\s*(?P<name>(?:lib)?nvidia-\S+) : (?:Depends|Conflicts|PreDepends): (?P<wants>\S+.*?)(?: but (?P<why>.*))?$)",
     {" nvidia-driver-535 : Depends: libnvidia-gl-535 (= 535.183.01-0ubuntu1) but it is not going "
      "to be installed"}},
    {"kernel.headers-missing",
     "linux-headers-",
     R"(Unable to locate package linux-headers-(?P<kernel>\S+))",
     {"E: Unable to locate package linux-headers-5.15.0-94-generic"}},
    // ------------------------------------------------------------------------- loaded
    {"lsmod.nvidia",
     "nvidia   ",
     R"(^nvidia\s+\d+\s+\d+(?:\s+(?P<users>\S+))?$)",
     {"nvidia              56811520  0",
      "nvidia              39059456  3 nvidia_uvm,nvidia_modeset"}},
    {"lsmod.uvm",
     "nvidia_uvm  ",
     R"(^nvidia_uvm\s+\d+\s+\d+)",
     {"nvidia_uvm           1523712  2"}},
    {"lsmod.nouveau",
     "nouveau   ",
     R"(^nouveau\s+\d+\s+(?P<uses>\d+))",
     {"nouveau              2306048  1"}},
    {"modinfo.license",
     "Dual MIT/GPL",
     R"(^(?:license:\s+)?(?P<license>Dual MIT/GPL)$)",
     {"license:        Dual MIT/GPL"}},
    {"nouveau.blacklist", "blacklist nouveau", R"(^blacklist nouveau)", {"blacklist nouveau"}},
    // ------------------------------------------------------------------------- the host
    {"host.kernel",
     "-generic|-microsoft|.el7|.el8|.el9|.fc3|.fc4|-amd64|-aws|-azure|-gcp|-arch1|-lowlatency|-pve",
     R"(^(?:Linux \S+ )?(?P<release>\d+\.\d+\.\d+[\w.+-]*(?:generic|[Mm]icrosoft|\.el\d|\.fc\d|amd64|aws|azure|gcp|arch1|lowlatency|pve)[\w.+-]*)(?: #.*)?$)",
     {"6.8.0-40-generic", "5.15.167.4-microsoft-standard-WSL2",
      "Linux node7 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux"}},
    {"host.distribution",
     "-0ubuntu|-ubuntu|PRETTY_NAME=|Description:",
     R"(\d-(?P<ubuntu>\d?ubuntu)\d|PRETTY_NAME="?(?P<name>Ubuntu|Debian|Fedora|Rocky|AlmaLinux|CentOS|Red Hat)|^Description:\s+(?P<release>Ubuntu|Debian))",
     {"ii  nvidia-driver-550               550.107.02-0ubuntu0.24.04.1     amd64",
      "PRETTY_NAME=\"Ubuntu 22.04.4 LTS\"", "Description:    Ubuntu 22.04.4 LTS"}},
};

}  // namespace

std::span<const Pattern> module_patterns() { return kPatterns; }

}  // namespace gpuwright
