#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// What stands beside the kernel module: the fabric manager, MIG's instances, the module for CUDA's
// memory and the nodes in /dev, licences, WSL.

namespace gpuwright {
namespace {

// ------------------------------------------------------------------------ fabric manager

const Event* fabric_service(const Machine& machine) {
  for (const auto* event : events_of(machine, "service.state"))
    if (value_of(*event, "name") == "nvidia-fabricmanager" && value_of(*event, "state") != "active")
      return event;
  for (const auto* event : events_of(machine, "service.missing"))
    if (value_of(*event, "name") == "nvidia-fabricmanager") return event;
  return first_event(machine, "fabric.failed");
}

const Event* fabric_waits(const Machine& machine) {
  for (const auto* event : events_of(machine, "smi.q")) {
    const auto key = value_of(*event, "key"), value = value_of(*event, "value");
    if (key == "Fabric/State" && (value == "In Progress" || value == "Not Started")) return event;
  }
  return nullptr;
}

const Event* says_802(const Machine& machine) {
  for (const auto& event : machine.events) {
    if (event.id.starts_with("kernel.")) continue;
    const auto text = lower(event.text);
    if (text.find("system not yet initialized") != std::string::npos ||
        text.find("cuda_error_system_not_ready") != std::string::npos ||
        text.find("cudaerrorsystemnotready") != std::string::npos)
      return &event;
  }
  return event_with(machine, "cuda.count-failed", "code", "802");
}

FixStep start_fabric() {
  return root_step("sudo systemctl enable --now nvidia-fabricmanager",
                   "sets up the NVSwitches; CUDA answers 802 until it has",
                   "starts the service now and at boot",
                   "sudo systemctl disable --now nvidia-fabricmanager");
}

FixStep look_at_fabric() {
  return user_step("nvidia-smi -q | grep -A3 -w Fabric",
                   "afterwards: State Completed, Status "
                   "Success",
                   "nothing", "none needed");
}

Verdict fabric_is_managed(const Machine& machine, const Catalog&) {
  const auto* versions = first_event(machine, "fabric.version");
  const auto* service = fabric_service(machine);
  const auto* code = says_802(machine);
  const auto* waits = fabric_waits(machine);
  if (versions == nullptr && service == nullptr) return NotApplicable{};
  // A machine without NVSwitch needs none, and its service does not start.
  if (versions == nullptr && code == nullptr && waits == nullptr &&
      !has_event(machine, "fabric.failed"))
    return NotApplicable{};
  if (has_event(machine, "fabric.failed") && code == nullptr && waits == nullptr &&
      versions == nullptr && event_saying(machine, "fabric.failed", "NOTHING_TO_DO") != nullptr)
    return NotApplicable{};
  Finding finding;
  finding.evidence = cite({versions, service, code, waits});
  if (versions != nullptr) {
    const auto driver = value_of(*versions, "driver");
    const auto branch = driver.substr(0, driver.find('.'));
    finding.statement = "the fabric manager is " + value_of(*versions, "fabric") +
                        " and the driver is " + driver +
                        ", so the NVSwitches are not set up and CUDA does not start";
    finding.cause =
        "the driver was upgraded without the fabric manager; both must be of exactly the "
        "same release";
    finding.fix = {
        root_step("sudo apt install nvidia-fabricmanager-" + branch + "=" + driver + "-1",
                  "RHEL: sudo dnf install nvidia-fabricmanager-" + driver +
                      "; exactly the driver's version",
                  "replaces the fabric manager", "install the former version"),
        start_fabric(), look_at_fabric()};
  } else {
    finding.statement =
        "the fabric manager does not run, so the NVSwitches are not set up and CUDA "
        "does not start";
    finding.cause = value_of(*service, "name").empty() || service->id == "service.missing"
                        ? "the service is not installed or does not start"
                        : "the service has stopped or failed; its journal tells why";
    finding.fix = {start_fabric(),
                   root_step("sudo journalctl -u nvidia-fabricmanager -b --no-pager | tail -20",
                             "when it does not stay up", "nothing", "none needed"),
                   look_at_fabric()};
    finding.certainty = Certainty::kLikely;
  }
  return finding;
}

// 802 alone: on NVSwitch boards the fabric, with confidential computing its ready state.
Verdict fabric_is_ready(const Machine& machine, const Catalog&) {
  const auto* code = says_802(machine);
  const auto* waits = fabric_waits(machine);
  if (code == nullptr && waits == nullptr) return NotApplicable{};
  return Finding{
      .statement = "CUDA error 802: the system is not ready, as the NVLink fabric is not set up",
      .evidence = cite({code, waits}),
      .cause =
          "on boards with NVSwitch (HGX, DGX) the fabric manager does not run, is not of the "
          "driver's release, or has not finished; in a confidential virtual machine the GPU is "
          "not set ready",
      .fix = {user_step("systemctl status nvidia-fabricmanager --no-pager",
                        "whether it runs, and why "
                        "not",
                        "nothing", "none needed"),
              start_fabric(), look_at_fabric(),
              root_step("sudo nvidia-smi conf-compute -srs 1",
                        "confidential computing instead: sets the GPUs ready", "the GPUs' state",
                        "sudo nvidia-smi conf-compute -srs 0")},
      .certainty = Certainty::kPossible};
}

// -------------------------------------------------------------------------------- MIG

const Event* mig_gpu(const Machine& machine) {
  if (const auto* gpu = event_with(machine, "smi.gpu", "mig", "Enabled")) return gpu;
  for (const auto* event : events_of(machine, "smi.q"))
    if (value_of(*event, "key") == "MIG Mode/Current" && value_of(*event, "value") == "Enabled")
      return event;
  return event_with(machine, "smi.row", "mig.mode.current", "Enabled");
}

Verdict mig_has_instances(const Machine& machine, const Catalog&) {
  const auto* none = first_event(machine, "smi.no-mig-devices");
  const auto* gpu = mig_gpu(machine);
  if (none == nullptr || (gpu == nullptr && has_event(machine, "smi.gpu"))) return NotApplicable{};
  const auto index = gpu == nullptr ? std::string("0") : value_of(*gpu, "index");
  const std::string on = " -i " + shell_word(index.empty() ? "0" : index);
  return Finding{
      .statement = "MIG mode is on and has no instance, so CUDA has no device",
      .evidence = cite({gpu, none}),
      .cause = "the mode survives a reboot, instances do not; or only the mode was switched on",
      .fix = {root_step("sudo nvidia-smi mig" + on + " -cgi 0 -C",
                        "one instance of the whole GPU; profiles: nvidia-smi mig -lgip",
                        "creates a GPU and a compute instance",
                        "sudo nvidia-smi mig" + on + " -dci && sudo nvidia-smi mig" + on + " -dgi"),
              root_step("sudo nvidia-smi" + on + " -mig 0", "or no MIG at all",
                        "the mode, after a GPU reset", "sudo nvidia-smi" + on + " -mig 1"),
              user_step("nvidia-smi -L", "then CUDA_VISIBLE_DEVICES to one MIG UUID a process",
                        "nothing", "none needed")}};
}

// -------------------------------------------------------------------------------- nodes

// lsmod names who uses nvidia; without nvidia_uvm there it is not loaded.
const Event* without_uvm(const Machine& machine) {
  const auto* nvidia = first_event(machine, "lsmod.nvidia");
  if (nvidia == nullptr || has_event(machine, "lsmod.uvm")) return nullptr;
  return value_of(*nvidia, "users").find("nvidia_uvm") == std::string::npos ? nvidia : nullptr;
}

const Event* nodes_without_uvm(const Machine& machine) {
  if (event_with(machine, "node.none", "name", "-uvm") != nullptr)
    return event_with(machine, "node.none", "name", "-uvm");
  const auto nodes = events_of(machine, "node.listed");
  if (nodes.size() < 2 || event_with(machine, "node.listed", "name", "nvidia-uvm") != nullptr)
    return nullptr;
  return event_with(machine, "node.listed", "name", "nvidiactl");
}

const Event* cuda_fails(const Machine& machine) {
  for (const auto* id : {"cuda.init-failed", "cuda.count-failed", "cuda.error", "torch.no-gpus"})
    if (const auto* event = first_event(machine, id)) return event;
  return nullptr;
}

Verdict uvm_is_there(const Machine& machine, const Catalog&) {
  const auto* module = without_uvm(machine);
  const auto* nodes = nodes_without_uvm(machine);
  if (module == nullptr && nodes == nullptr) return NotApplicable{};
  // CUDA loads it itself where it may; only a CUDA that fails makes this the cause.
  const auto* fails = cuda_fails(machine);
  if (fails == nullptr) return NotApplicable{};
  return Finding{
      .statement = module != nullptr
                       ? "the nvidia_uvm module is not loaded, so CUDA cannot start although "
                         "nvidia-smi works"
                       : "/dev/nvidia-uvm does not exist, so CUDA cannot start although nvidia-smi "
                         "works",
      .evidence = cite({module, nodes, fails}),
      .cause =
          "CUDA needs nvidia_uvm and its node; nvidia-modprobe, which makes them for ordinary "
          "users, is missing or not setuid, or the container was started before they existed",
      .fix = {root_step("sudo modprobe nvidia_uvm && sudo nvidia-modprobe -u -c=0",
                        "loads the module and makes /dev/nvidia-uvm",
                        "loads a module until the next boot", "sudo modprobe -r nvidia_uvm"),
              root_step("echo nvidia_uvm | sudo tee /etc/modules-load.d/nvidia-uvm.conf",
                        "makes it so at every boot", "/etc/modules-load.d/nvidia-uvm.conf",
                        "sudo rm /etc/modules-load.d/nvidia-uvm.conf")},
      .certainty = module != nullptr ? Certainty::kProven : Certainty::kLikely};
}

Verdict nodes_may_be_opened(const Machine& machine, const Catalog&) {
  const auto* nvml = event_saying(machine, "nvml.init-failed", "nsufficient");
  if (nvml == nullptr) nvml = event_saying(machine, "nvml.init-failed", "NoPermission");
  const auto* refused = first_event(machine, "node.not-permitted");
  const Event* closed = nullptr;
  for (const auto* node : events_of(machine, "node.listed"))
    if (closed == nullptr && value_of(*node, "mode").substr(7, 1) != "w" &&
        value_of(*node, "mode").size() == 9)
      closed = node;
  if (nvml == nullptr && refused == nullptr) return NotApplicable{};
  const auto group = closed == nullptr ? "" : value_of(*closed, "group");
  std::vector<FixStep> fix;
  if (!group.empty() && group != "root")
    fix.push_back(root_step("sudo usermod -aG " + shell_word(group) + " $USER",
                            "then log out and in again", "your groups",
                            "sudo gpasswd -d $USER " + shell_word(group)));
  fix.push_back(user_step("ls -l /dev/nvidia* ; id", "who may open the nodes, and who you are",
                          "nothing", "none needed"));
  fix.push_back(
      advice("in a batch job: only the GPUs that the job asked for can be opened (device cgroup)"));
  return Finding{.statement = "this user may not open the device nodes in /dev" +
                              (group.empty() ? "" : ", they are for group " + group),
                 .evidence = cite({nvml, refused, closed}),
                 .cause =
                     "the nodes are kept for a group (NVreg_DeviceFileMode, udev), or a device "
                     "cgroup keeps them from this process",
                 .fix = std::move(fix),
                 .certainty = Certainty::kLikely};
}

// --------------------------------------------------------------------------------- WSL

Verdict wsl_has_no_linux_driver(const Machine& machine, const Catalog&) {
  if (wsl_event(machine) == nullptr) return NotApplicable{};
  const Event* windows = nullptr;
  const Event* linux_one = nullptr;
  for (const auto* event : events_of(machine, "loader.libcuda")) {
    const bool of_windows = value_of(*event, "path").starts_with("/usr/lib/wsl/");
    if (of_windows && windows == nullptr) windows = event;
    if (!of_windows && linux_one == nullptr) linux_one = event;
  }
  const auto* owner = first_event(machine, "package.owns-libcuda");
  const auto* package = first_event(machine, "package.driver");
  if (linux_one == nullptr && owner == nullptr && package == nullptr) return NotApplicable{};
  const auto name = owner != nullptr     ? value_of(*owner, "package")
                    : package != nullptr ? value_of(*package, "name")
                                         : std::string();
  return Finding{
      .statement = "a Linux driver" + (name.empty() ? "" : " (" + name + ")") +
                   " is installed inside WSL: its libcuda.so.1 comes before the one of Windows in "
                   "/usr/lib/wsl/lib",
      .evidence = cite({linux_one, windows, owner, package, cuda_fails(machine)}),
      .cause =
          "in WSL the GPU is reached through the driver of Windows only; packages like cuda or "
          "nvidia-driver bring a Linux driver along, which finds no device",
      .fix = {root_step("sudo apt purge 'libnvidia-compute-*' 'nvidia-driver-*' && sudo ldconfig",
                        "keeps the driver of Windows alone; from the CUDA repository take "
                        "cuda-toolkit-*, never cuda or cuda-drivers",
                        "removes the Linux driver", "install the packages again"),
              user_step("export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH", "stop-gap",
                        "this shell", "open a new shell")},
      .certainty = linux_one != nullptr ? Certainty::kProven : Certainty::kLikely};
}

Verdict windows_gives_the_gpu(const Machine& machine, const Catalog&) {
  const auto* blocked = first_event(machine, "wsl.blocked");
  const auto* none = first_event(machine, "wsl.no-adapter");
  if (blocked == nullptr && none == nullptr) return NotApplicable{};
  return Finding{
      .statement = blocked != nullptr
                       ? "Windows keeps the GPU from WSL (GPU access blocked by the operating "
                         "system)"
                       : "WSL has no GPU: Windows hands none in",
      .evidence = cite({blocked, none}),
      .cause =
          "the driver of Windows and the WSL kernel or its libraries do not fit (one of them "
          "was updated), or the Windows driver has no support for WSL",
      .fix = {user_step("wsl.exe --update && wsl.exe --shutdown",
                        "in PowerShell: the newest WSL kernel, then open WSL again",
                        "updates WSL; ends what runs in it", "none needed"),
              advice("install the current NVIDIA driver in Windows and restart Windows; nothing "
                     "inside WSL")},
      .certainty = Certainty::kLikely};
}

// ------------------------------------------------------------------------------ licence

Verdict vgpu_has_licence(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "kernel.vgpu-unlicensed");
  if (line == nullptr) return NotApplicable{};
  return Finding{.severity = Severity::kWarning,
                 .statement =
                     "the virtual GPU has no licence: it works slowed down, and CUDA stops "
                     "after a while",
                 .evidence = cite({line}),
                 .cause =
                     "the licence server is not reached or has none left, or no token is "
                     "installed",
                 .fix = {root_step("sudo systemctl restart nvidia-gridd && sudo journalctl -u "
                                   "nvidia-gridd -b | tail",
                                   "asks again, after the token is in "
                                   "/etc/nvidia/ClientConfigToken and the server is reachable",
                                   "restarts the licence client", "none needed")},
                 .certainty = Certainty::kLikely};
}

Verdict answers_in_time(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "kernel.stuck");
  if (line == nullptr || !events_of(machine, "kernel.xid").empty()) return NotApplicable{};
  return Finding{.statement = value_of(*line, "task") + " (pid " + value_of(*line, "pid") +
                              ") is stuck in the kernel",
                 .evidence = cite({line}),
                 .cause =
                     "the driver waits for a GPU or a file system that does not answer; the "
                     "trace below the line names which",
                 .fix = {root_step("sudo dmesg -T | grep -A25 'blocked for more than'",
                                   "nvidia or nv_ in the trace: the driver; nfs, ext4: a disk",
                                   "nothing", "none needed"),
                         reboot("a task in this state cannot be killed")},
                 .certainty = Certainty::kPossible};
}

constexpr Rule kRules[] = {
    {"driver.fabric-manager", "NVSwitches are managed", fabric_is_managed, Standing::kOwn},
    {"driver.wsl-linux-driver-inside", "WSL has no Linux driver", wsl_has_no_linux_driver},
    {"driver.wsl-no-gpu", "Windows hands its GPU to WSL", windows_gives_the_gpu},
    {"driver.mig-without-instances", "MIG has instances", mig_has_instances},
    {"driver.nodes-missing", "CUDA's nodes and module are there", uvm_is_there},
    {"driver.nodes-not-permitted", "this user may open the nodes", nodes_may_be_opened},
    {"driver.vgpu-unlicensed", "the virtual GPU has a licence", vgpu_has_licence, Standing::kOwn},
    {"driver.hangs", "no process is stuck in the driver", answers_in_time},
    {"driver.fabric-not-ready", "the NVLink fabric is set up", fabric_is_ready},
};

}  // namespace

std::span<const Rule> log_service_rules() { return kRules; }

}  // namespace gpuwright
