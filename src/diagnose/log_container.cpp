#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// What keeps the GPU out of a container: no toolkit, a runtime that is not configured, a container
// that was not given the GPU or lost it, an image that wants a newer driver.

namespace gpuwright {
namespace {

FixStep configure_docker() {
  return root_step(
      "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart "
      "docker",
      "tells Docker about it",
      "/etc/docker/daemon.json; restarts Docker and its "
      "containers",
      "take the nvidia runtime out of /etc/docker/daemon.json");
}

FixStep try_docker() {
  return user_step("docker run --rm --gpus all ubuntu nvidia-smi", "test", "nothing",
                   "none needed");
}

bool is_kubernetes(const Machine& machine) {
  for (const auto& event : machine.events)
    if (event.id.starts_with("kubernetes.") || event.text.find("pod sandbox") != std::string::npos)
      return true;
  return false;
}

Verdict has_toolkit(const Machine& machine, const Catalog&) {
  const auto* driver = first_event(machine, "container.no-device-driver");
  const auto* runtime = first_event(machine, "container.no-runtime");
  if (driver == nullptr && runtime == nullptr) return NotApplicable{};
  const auto* installed = first_event(machine, "package.toolkit");
  std::vector<FixStep> fix;
  if (installed == nullptr)
    fix.push_back(root_step("sudo apt-get install -y nvidia-container-toolkit",
                            "from NVIDIA's repository for it (RHEL: dnf, SUSE: zypper)",
                            "adds the package", "sudo apt-get remove nvidia-container-toolkit"));
  if (is_kubernetes(machine))
    fix.push_back(
        root_step("sudo nvidia-ctk runtime configure --runtime=containerd && sudo "
                  "systemctl restart containerd",
                  "on the node; k3s and MicroK8s have a containerd of their own",
                  "/etc/containerd/config.toml", "take the nvidia runtime out again"));
  else
    fix.push_back(configure_docker());
  fix.push_back(try_docker());
  if (driver == nullptr && runtime != nullptr && !is_kubernetes(machine))
    fix.push_back(advice("Docker of snap and Docker Desktop have a configuration of their own"));
  return Finding{
      .statement =
          installed != nullptr
              ? "the NVIDIA Container Toolkit is installed and the container runtime is not "
                "configured to use it"
              : "the container runtime has no handler for GPUs: the NVIDIA Container "
                "Toolkit (nvidia-container-toolkit) is not installed or not configured",
      .evidence = cite({driver, runtime, first_event(machine, "container.runtimes"), installed}),
      .cause =
          "Docker and containerd reach GPUs only through that toolkit; it is a package of its "
          "own and has to be entered in their configuration",
      .fix = std::move(fix),
      .certainty = Certainty::kLikely};
}

// ------------------------------------------------------------------ libnvidia-container

struct CliFailure {
  std::string_view words;  ///< Of the message, lower case.
  const char* statement;
  const char* cause;
  const char* command;
  const char* note;
};
constexpr CliFailure kFailures[] = {
    {"driver not loaded", "the host's NVIDIA driver is not loaded, so no container gets a GPU",
     "the module is not loaded on the host: a kernel update, or the driver is not installed",
     "nvidia-smi", "on the host: fix this first"},
    {"libnvidia-ml.so.1: cannot open",
     "the host's driver library libnvidia-ml.so.1 is not found, so no container gets a GPU",
     "no driver on this host (or in the machine that Docker runs in: Docker Desktop, a snap, a "
     "virtual machine), or its libraries are not in the loader's cache",
     "sudo ldconfig && ldconfig -p | grep libnvidia-ml", "on the host; empty: install the driver"},
    {"bpf_prog_query", "the container runtime may not set device rules (no permission for BPF)",
     "a container in a container, LXC or a rootless engine: there the device cgroup cannot be set",
     "sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place",
     "in the inner or rootless setting; the devices then have to be handed in"},
    {"cgroup subsystem devices not found", "the container toolkit is too old for cgroup version 2",
     "libnvidia-container before 1.8 knows version 1 only",
     "sudo apt-get install --only-upgrade nvidia-container-toolkit libnvidia-container1",
     "a toolkit of 1.8 or newer"},
    {"unknown device", "a GPU that is asked for by number or UUID does not exist on the host",
     "--gpus device=... or NVIDIA_VISIBLE_DEVICES names another machine's GPU, a MIG instance of "
     "before, or a GPU that is lost",
     "nvidia-smi -L", "on the host: the numbers and UUIDs that exist"},
    {"ldconfig.real",
     "the container toolkit calls an ldconfig that this distribution does not have",
     "/sbin/ldconfig.real is Ubuntu's; Debian and others have /sbin/ldconfig",
     "sudo sed -i 's#@/sbin/ldconfig.real#@/sbin/ldconfig#' "
     "/etc/nvidia-container-runtime/config.toml",
     "then start the container again"},
    {"file exists", "the image holds files of a driver, which the host's driver cannot be put over",
     "the image was saved from a running GPU container, or a driver was installed into it",
     "docker run --rm --entrypoint sh IMAGE -c 'rm -f /usr/lib/x86_64-linux-gnu/libnvidia-ml.so* "
     "/usr/lib/x86_64-linux-gnu/libcuda.so*'",
     "in the image's Dockerfile: remove libcuda.so.*, libnvidia-* and nvidia-smi"},
    {"no adapters were found", "WSL has no GPU, so no container gets one",
     "Windows hands no GPU in: its driver, or WSL version 1", "nvidia-smi", "inside WSL, first"},
    {"insufficient permissions", "the container engine may not open the GPU's device nodes",
     "a rootless engine, or nodes that are kept for a group", "ls -l /dev/nvidia*", "on the host"},
    {"failed to process request", "the container toolkit cannot load the host's driver",
     "the host's driver does not work, or was installed or upgraded without a reboot", "nvidia-smi",
     "on the host: fix this first"},
    {"detection error", "the container toolkit cannot ask the host's driver about the GPUs",
     "a GPU is lost or in an error state, or driver files are missing", "nvidia-smi",
     "on the host, and sudo dmesg | grep NVRM"},
    {"mount error", "the container toolkit cannot mount a file of the host's driver",
     "driver files are missing on the host (an upgrade under way), or the container's file system "
     "is "
     "read-only",
     "nvidia-container-cli list", "on the host: the files that it mounts; one of them is missing"},
    {"initialization error", "the container toolkit cannot initialise on the host's driver",
     "the host's driver does not work", "nvidia-smi", "on the host: fix this first"},
};

Verdict cli_works(const Machine& machine, const Catalog&) {
  for (const auto* event : events_of(machine, "container.cli-failed")) {
    const auto text = lower(event->text);
    if (text.find("version mismatch") != std::string::npos ||
        text.find("unsatisfied condition") != std::string::npos)
      continue;
    for (const auto& failure : kFailures) {
      if (text.find(failure.words) == std::string::npos) continue;
      return Finding{
          .statement = failure.statement,
          .evidence = cite({event}),
          .cause = failure.cause,
          .fix = {user_step(failure.command, failure.note, "see the command", "none needed")},
          .certainty = Certainty::kLikely};
    }
  }
  return NotApplicable{};
}

Verdict driver_is_new_enough(const Machine& machine, const Catalog& catalog) {
  const auto* condition = first_event(machine, "container.needs-newer-cuda");
  const auto* banner = first_event(machine, "container.built-for-driver");
  if (condition == nullptr && banner == nullptr) return NotApplicable{};
  const auto driver = told_driver(machine);
  const auto cuda = condition == nullptr ? "" : value_of(*condition, "cuda");
  std::string needs = banner == nullptr ? "" : "driver " + value_of(*banner, "needs");
  if (!cuda.empty()) {
    needs = "a driver for CUDA " + cuda;
    if (const auto version = Version::parse(cuda))
      if (const auto floor = catalog.driver_floor(*version))
        needs += " (" + floor->text() + " or newer)";
  }
  if (needs.empty()) needs = "another driver or GPU";
  const auto found = banner != nullptr && !value_of(*banner, "found").empty()
                         ? value_of(*banner, "found")
                     : driver ? driver->version
                              : std::string();
  return Finding{
      .statement = "the image wants " + needs + ", the host's driver is " +
                   (found.empty() ? "older" : found),
      .evidence = cite({condition, banner, driver ? driver->line : nullptr}),
      .cause = "an image carries its own CUDA, which asks for a driver that is at least as new",
      .fix = {advice("upgrade the driver of the host"),
              user_step("docker run --gpus all IMAGE:OLDER-TAG",
                        "or an image for an older CUDA" +
                            (driver && driver->line->values.contains("cuda")
                                 ? ", up to " + value_of(*driver->line, "cuda")
                                 : std::string()),
                        "nothing", "none needed")}};
}

// --------------------------------------------------------------------------------- CDI

Verdict cdi_is_current(const Machine& machine, const Catalog&) {
  const auto* missing = first_event(machine, "cdi.unresolvable");
  const auto* stale = first_event(machine, "cdi.stale");
  if (missing == nullptr && stale == nullptr) return NotApplicable{};
  return Finding{
      .statement = stale != nullptr
                       ? "the CDI specification still names files of driver " +
                             value_of(*stale, "version") + ", which are gone"
                       : "no CDI specification names the device " +
                             (value_of(*missing, "device").empty() ? "that is asked for"
                                                                   : value_of(*missing, "device")),
      .evidence = cite({stale, missing}),
      .cause = stale != nullptr ? "the driver was upgraded after the specification was written"
                                : "/etc/cdi/nvidia.yaml was never written, or before this GPU or "
                                  "MIG instance was there",
      .fix = {
          root_step("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
                    "from the package nvidia-container-toolkit; again after every driver upgrade",
                    "writes /etc/cdi/nvidia.yaml", "sudo rm /etc/cdi/nvidia.yaml"),
          user_step("nvidia-ctk cdi list", "the names that can be asked for", "nothing",
                    "none needed")}};
}

// ------------------------------------------------------------------------------- devices

// systemd owns the device rules of containers; a reload makes it write them anew, without those
// that the toolkit added behind its back.
Verdict keeps_devices(const Machine& machine, const Catalog&) {
  const auto* nvml = event_saying(machine, "nvml.init-failed", "Unknown Error");
  const auto* reload = first_event(machine, "systemd.reload");
  if (nvml == nullptr) return NotApplicable{};
  const auto* driver = event_with(machine, "container.cgroup-driver", "driver", "systemd");
  const bool in_container = reload != nullptr || driver != nullptr ||
                            event_saying(machine, "nvml.init-failed", "container") != nullptr;
  if (!in_container || !events_of(machine, "kernel.xid").empty()) return NotApplicable{};
  Finding finding;
  finding.statement =
      "a running container lost access to /dev/nvidia*: a systemctl daemon-reload on the host made "
      "systemd rewrite its device cgroup";
  finding.evidence = cite({nvml, reload, driver, smi_works(machine)});
  finding.cause =
      "with the systemd cgroup driver the rules that the toolkit adds are unknown to systemd and "
      "go "
      "at the next daemon-reload (package upgrades do one)";
  finding.fix = {
      user_step("docker restart CONTAINER", "gives access back; a pod has to be created anew",
                "restarts the container", "none needed"),
      root_step("sudo nvidia-ctk system create-dev-char-symlinks --create-all",
                "prevents it: systemd then knows the nodes (also as a udev rule at boot)",
                "links in /dev/char", "none needed"),
      user_step(
          "docker run --gpus all --device=/dev/nvidia0 --device=/dev/nvidiactl "
          "--device=/dev/nvidia-uvm IMAGE",
          "or hands the nodes in by name; CDI, or Docker with native.cgroupdriver=cgroupfs, do "
          "as well",
          "nothing on the host", "none needed")};
  finding.certainty = reload != nullptr ? Certainty::kLikely : Certainty::kPossible;
  return finding;
}

Verdict was_given_gpu(const Machine& machine, const Catalog&) {
  const auto* banner = first_event(machine, "container.no-driver-banner");
  const auto* nv = first_event(machine, "apptainer.no-nv-files");
  if (nv != nullptr)
    return Finding{.statement =
                       "apptainer --nv found no driver on this host, so the container has "
                       "no GPU",
                   .evidence = cite({nv}),
                   .cause =
                       "the host (a login node?) has no NVIDIA driver, or its libraries are not "
                       "in the loader's cache",
                   .fix = {user_step("nvidia-smi -L",
                                     "on this very host; in a cluster start it in a "
                                     "GPU job",
                                     "nothing", "none needed")},
                   .certainty = Certainty::kLikely};
  if (banner == nullptr) return NotApplicable{};
  return Finding{
      .statement = "the container was started without the GPU: the image finds no NVIDIA driver",
      .evidence = cite({banner}),
      .cause = "the driver comes from the host, and only where the container is started with it",
      .fix = {user_step("docker run --gpus all IMAGE",
                        "compose: deploy.resources.reservations.devices; Kubernetes: "
                        "resources.limits nvidia.com/gpu: 1; Apptainer: --nv",
                        "nothing on the host", "start it without the option"),
              advice("when --gpus was there: install nvidia-container-toolkit on the host, and a "
                     "driver that works (nvidia-smi)")},
      .certainty = Certainty::kLikely};
}

constexpr Rule kRules[] = {
    {"driver.container-toolkit-missing", "the container runtime can hand GPUs in", has_toolkit},
    {"driver.container-needs-newer-driver", "the driver is new enough for the image",
     driver_is_new_enough},
    {"driver.container-setup-fails", "the container toolkit works", cli_works},
    {"driver.cdi-outdated", "a CDI specification names the devices", cdi_is_current},
    {"driver.container-lost-devices", "the container keeps its devices", keeps_devices},
    {"driver.container-without-toolkit", "the container was given the GPU", was_given_gpu},
};

}  // namespace

std::span<const Rule> log_container_rules() { return kRules; }

}  // namespace gpuwright
