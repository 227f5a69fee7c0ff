#include "reading/pattern.h"

// Containers: Docker, Podman, CDI, libnvidia-container, images of NVIDIA, Apptainer; systemd, which
// rules over their devices.

namespace gpuwright {
namespace {

constexpr Pattern kPatterns[] = {
    // ------------------------------------------------------------------------ docker
    {"container.no-device-driver",
     "could not select device driver",
     R"re(could not select device driver ["'\\]*(?P<driver>[^"'\\]*)["'\\]* with capabilities: \[\[(?P<capabilities>[^\]]*)\]\])re",
     {"docker: Error response from daemon: could not select device driver \"\" with capabilities: "
      "[[gpu]].",
      "Error response from daemon: could not select device driver \"nvidia\" with capabilities: "
      "[[gpu]]"}},
    {"container.no-runtime",
     "untime name: nvidia|untime specified nvidia|runtime for \"nvidia\" is configured|untime "
     "nvidia not found|"
     "nvidia-container-runtime: executable file not found|nvidia-container-runtime-hook|"
     "invalid runtime name",
     R"re([Uu]nknown (?:or invalid )?runtime (?:name:? |specified )?"?nvidia|no runtime for \\?"nvidia\\?" is configured|nvidia-container-runtime(?:-hook)?\\?"?:? (?:executable file not found|no such file)|nvidia-container-runtime-hook: (?:no such file|executable)|invalid runtime name: nvidia)re",
     {"docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
      "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox "
      "runtime: "
      "no runtime for \"nvidia\" is configured",
      "docker: Error response from daemon: Unknown runtime specified nvidia: unknown runtime "
      "\"nvidia\""}},
    {"container.runtimes",
     "Runtimes: ",
     R"(^\s*Runtimes: (?P<names>.+)$)",
     {" Runtimes: io.containerd.runc.v2 runc"}},
    {"container.cgroup-driver",
     "Cgroup Driver: ",
     R"(Cgroup Driver: (?P<driver>\w+))",
     {" Cgroup Driver: systemd"}},
    {"container.cli-failed",
     "nvidia-container-cli: |nvidia-container-cli.real: ",
     R"(nvidia-container-cli(?:\.real)?: (?P<what>[a-z][a-z ]+?): (?P<why>.+?)(?:: unknown\.?)?$)",
     {"nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown.",
      "stderr: nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, please "
      "update your driver to a newer version, or use an earlier cuda container: unknown",
      "nvidia-container-cli: container error: cgroup subsystem devices not found: unknown."}},
    {"container.cli-failed",
     "Auto-detected mode as|error running hook #0|error running prestart hook",
     R"(nvidia-container-runtime\S*: (?P<what>error): (?P<why>.+)$|Auto-detected mode as .(?P<mode>legacy|cdi|csv|jit-cdi).)",
     {"Auto-detected mode as 'legacy'"}},
    {"container.needs-newer-cuda",
     "unsatisfied condition: ",
     R"re(unsatisfied condition: (?P<condition>cuda ?>= ?(?P<cuda>\d+\.\d+)|[a-z]+[^,]*))re",
     {"requirement error: unsatisfied condition: cuda>=12.6, please update your driver to a newer "
      "version, or use an earlier cuda container"}},
    // --------------------------------------------------------------------------- CDI
    {"cdi.unresolvable",
     "unresolvable CDI device|failed to inject CDI devices|no CDI devices|CDI device injection",
     R"((?:failed to inject CDI devices: |CDI device injection failed: )?unresolvable CDI devices? (?P<device>[\w./=,:-]+)|failed to inject CDI devices|CDI device injection failed)",
     {"Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
      "docker: Error response from daemon: failed to create task for container: CDI device "
      "injection "
      "failed: unresolvable CDI devices nvidia.com/gpu=0"}},
    {"cdi.stale",
     "libcuda.so.|libnvidia-ml.so.|libnvidia-|/dev/nvidia",
     R"((?:crun|runc|podman|OCI runtime|error mounting|cannot stat|failed to stat)[^/]*.*?(?P<path>/\S*lib(?:cuda|nvidia-[\w-]+)\.so\.(?P<version>\d+\.[\d.]*\d))[^:]*:.* ?[Nn]o such file or directory)",
     {"Error: crun: cannot stat `/usr/lib64/libnvidia-ml.so.550.54.14`: No such file or directory: "
      "OCI "
      "runtime attempted to invoke a command that was not found"}},
    // ------------------------------------------------------------------------- images
    {"container.no-driver-banner",
     "The NVIDIA Driver was not detected|No NVIDIA GPU detected|Failed to detect NVIDIA driver",
     R"(WARNING: The NVIDIA Driver was not detected|Failed to detect NVIDIA driver version)",
     {"WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available."}},
    {"container.built-for-driver",
     "container was built for NVIDIA Driver Release",
     R"(container was built for NVIDIA Driver Release (?P<needs>\d+\.\d+) or later, but\s*(?:version (?P<found>\d+\.[\d.]+))?)",
     {"ERROR: This container was built for NVIDIA Driver Release 535.86 or later, but version "
      "470.182.03 was detected and compatibility mode is UNAVAILABLE."}},
    {"container.shm-hint",
     "SHMEM allocation limit",
     R"(The SHMEM allocation limit is set to the default of (?P<limit>\d+\w+))",
     {"NOTE: The SHMEM allocation limit is set to the default of 64MB.  This may be"}},
    {"container.started-without-gpu",
     "docker run |podman run ",
     R"(^(?:\S+[ ]?)?[$#>]\s*(?:sudo )?(?:docker|podman) run (?P<arguments>.*)$)",
     {"$ docker run --rm -it tensorflow/tensorflow:2.16.1-gpu bash"}},
    {"apptainer.no-nv-files",
     "any nv files on this host|nv files",
     R"((?:WARNING|INFO): *Could not find any nv files on this host)",
     {"WARNING: Could not find any nv files on this host!",
      "INFO:    Could not find any nv files on "
      "this host!"}},
    {"apptainer.started",
     "apptainer exec|apptainer run|apptainer shell|singularity exec|singularity run|"
     "singularity shell",
     R"((?:apptainer|singularity) (?:exec|run|shell)(?P<arguments> .*)$)",
     {"$ apptainer exec --nv pytorch.sif python train.py"}},
    // ------------------------------------------------------------------------ systemd
    {"systemd.reload",
     "systemd[1]: Reloading|daemon-reload|Reloading requested from client",
     R"((?P<line>systemd\[1\]: Reloading(?: requested from client.*|\.\.\.|\.)?\s*$|systemd\[1\]: Reloading requested|systemctl daemon-reload))",
     {"Jul 14 16:01:44 gpu-node systemd[1]: Reloading.",
      "systemd[1]: Reloading requested from client PID 4021 ('systemctl') (unit "
      "session-9.scope)...",
      "# systemctl daemon-reload"}},
    {"service.missing",
     ".service could not be found|.service not found",
     R"(Unit (?P<name>nvidia[\w-]*|docker|dcgm)\.service (?:could not be found|not found))",
     {"Unit nvidia-fabricmanager.service could not be found."}},
    {"fabric.version",
     "fabric manager NVIDIA GPU driver interface version",
     R"(fabric manager NVIDIA GPU driver interface version (?P<fabric>\d+\.[\d.]*\d) don't match with driver version (?P<driver>\d+\.[\d.]*\d))",
     {"nv-fabricmanager[2214]: fabric manager NVIDIA GPU driver interface version 550.127.05 don't "
      "match with driver version 550.144.03. Please update with matching NVIDIA driver package."}},
    {"fabric.failed",
     "fabricmanager|nv-fabricmanager|Fabric Manager",
     R"((?:Failed to start nvidia-fabricmanager|nvidia-fabricmanager\.service: (?:Main process exited|Failed with result)|request to query NVSwitch device information from NVSwitch driver failed|failed to open NVSwitch|fabricmanager.*(?i:fatal error)))",
     {"systemd[1]: Failed to start nvidia-fabricmanager.service - NVIDIA fabric manager service.",
      "nv-fabricmanager[911]: request to query NVSwitch device information from NVSwitch driver "
      "failed "
      "with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]"}},
};

}  // namespace

std::span<const Pattern> container_patterns() { return kPatterns; }

}  // namespace gpuwright
