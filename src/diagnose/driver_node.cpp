#include <algorithm>
#include <optional>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// What a program opens to reach the loaded driver: /dev/nvidiactl, /dev/nvidia0 and its like, and
// /dev/nvidia-uvm. NVML does without the last one, which is why "nvidia-smi works, CUDA does not"
// is first of all a matter of it. Behind the nodes, two services: the fabric manager of machines
// with NVSwitch, and the persistence daemon.

namespace gpuwright {
namespace {

constexpr const char* kControl = "/dev/nvidiactl";
constexpr const char* kUvm = "/dev/nvidia-uvm";

const DeviceNode* node_at(const Machine& machine, std::string_view path) {
  for (const auto& node : *machine.driver.nodes)
    if (node.path == path) return &node;
  return nullptr;
}

std::vector<DeviceNode> gpu_nodes(const Machine& machine) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  std::vector<DeviceNode> found;
  for (const auto& node : *machine.driver.nodes) {
    const auto number =
        std::string_view(node.path).substr(std::min(kPrefix.size(), node.path.size()));
    if (node.path.starts_with(kPrefix) && parse_unsigned(number)) found.push_back(node);
  }
  return found;
}

bool handed_in(Setting setting) {
  return setting == Setting::kContainer || setting == Setting::kGvisor;
}

// Nodes matter where a module is loaded, or where a container has been handed some; WSL has none,
// and what a container was not given at all is a question for the rule about its toolkit.
std::optional<Verdict> before_node_question(const Machine& machine) {
  const auto setting = setting_of(machine);
  if (setting == Setting::kWsl || is_wsl(machine) || is_jetson(machine)) return NotApplicable{};
  const auto& nodes = machine.driver.nodes;
  if (!nodes.is_known()) return Undecided{{cite("device nodes", nodes)}};
  if (handed_in(setting))
    return gpu_nodes(machine).empty() ? std::optional<Verdict>(NotApplicable{}) : std::nullopt;
  switch (module_loaded(machine)) {
    case Tristate::kYes:
      return std::nullopt;
    case Tristate::kNo:
      return NotApplicable{};
    case Tristate::kUnknown:
      break;
  }
  return Undecided{{cite("loaded module", machine.driver.module_version)}};
}

// --------------------------------------------------------------------------- they exist

std::vector<std::string> missing_nodes(const Machine& machine) {
  std::vector<std::string> missing;
  if (node_at(machine, kControl) == nullptr) missing.emplace_back(kControl);
  if (gpu_nodes(machine).empty()) missing.emplace_back("/dev/nvidia0");
  if (node_at(machine, kUvm) == nullptr) missing.emplace_back(kUvm);
  return missing;
}

bool lacks_only_uvm(const std::vector<std::string>& missing) {
  return missing.size() == 1 && missing.front() == kUvm;
}

std::string helper_command(const Machine& machine) {
  return pick(machine, {.apt = "sudo apt install nvidia-modprobe",
                        .dnf = "sudo dnf install nvidia-modprobe",
                        .zypper = "sudo zypper install nvidia-modprobe",
                        .pacman = "sudo pacman -S nvidia-utils"});
}

std::vector<FixStep> make_nodes(const Machine& machine, bool only_uvm) {
  std::vector<FixStep> steps;
  if (only_uvm && has_module(machine, "nvidia_uvm") != Tristate::kYes) {
    steps.push_back(root_step("sudo modprobe nvidia_uvm", "loads the module behind the node",
                              "until the next boot", "sudo modprobe -r nvidia_uvm"));
    steps.push_back(root_step("echo nvidia_uvm | sudo tee /etc/modules-load.d/nvidia-uvm.conf",
                              "loads it at every boot",
                              "writes /etc/modules-load.d/nvidia-uvm.conf",
                              "sudo rm /etc/modules-load.d/nvidia-uvm.conf"));
  }
  steps.push_back(root_step("sudo nvidia-modprobe -u -c=0", "makes the nodes now",
                            "/dev, until the next boot", "reboot"));
  const std::string helper = helper_command(machine);
  if (!helper.empty())
    steps.push_back(root_step(helper, "lets every CUDA program make them when it needs them",
                              "adds a setuid program", "remove the package again"));
  return steps;
}

std::vector<FixStep> hand_in_nodes(const Machine& machine) {
  auto steps = start_with_gpu(machine);
  steps.push_back(root_step("sudo nvidia-modprobe -u -c=0",
                            "on the host first, when the node is missing there too",
                            "/dev of the host, until its next boot", "reboot the host"));
  return steps;
}

std::string why_no_nodes(const Machine& machine, bool only_uvm) {
  if (handed_in(setting_of(machine)))
    return "the container was started with some nodes named one by one (--device), or the host had "
           "not made them yet";
  if (only_uvm && has_module(machine, "nvidia_uvm") == Tristate::kNo)
    return "the nvidia_uvm module is not loaded: nothing loads it at boot, and no nvidia-modprobe "
           "is "
           "there to do it on demand";
  const auto& options = machine.driver.module_options;
  const auto forbidden = options.find("nvidia.NVreg_ModifyDeviceFiles");
  if (forbidden != options.end() && forbidden->second == "0")
    return "the module was told that nobody makes them (NVreg_ModifyDeviceFiles=0 in modprobe.d or "
           "on the kernel's command line), and no udev rule of this system does";
  return "nodes are made by nvidia-modprobe, a setuid program that is not installed here, or by "
         "udev; on a machine without a desktop nobody else does";
}

Finding nodes_missing(const Machine& machine, const std::vector<std::string>& missing) {
  const bool only_uvm = lacks_only_uvm(missing);
  const bool unloaded = only_uvm && has_module(machine, "nvidia_uvm") == Tristate::kNo;
  std::vector<Evidence> evidence = {{"no " + join(missing, ", no "), machine.driver.nodes.source()},
                                    cite("loaded modules", machine.driver.loaded_modules),
                                    cite("major number of nvidia-uvm", machine.driver.uvm_major)};
  if (!handed_in(setting_of(machine)))
    evidence.push_back(cite("nvidia-modprobe with setuid", machine.driver.node_helper));
  return {
      .statement = unloaded ? "the nvidia_uvm module is not loaded and /dev/nvidia-uvm does not "
                              "exist: NVML works, CUDA does not"
                            : join(missing, ", ") +
                                  (missing.size() == 1 ? " does not exist" : " do not exist") +
                                  (only_uvm ? ": NVML works, CUDA does not" : ""),
      .evidence = std::move(evidence),
      .cause = why_no_nodes(machine, only_uvm),
      .fix =
          handed_in(setting_of(machine)) ? hand_in_nodes(machine) : make_nodes(machine, only_uvm),
  };
}

// A host with the setuid helper needs no nodes beforehand: the first CUDA program has them made.
// A container cannot make any.
Verdict nodes_exist(const Machine& machine, const Catalog&) {
  if (auto answer = before_node_question(machine)) return *answer;
  const auto missing = missing_nodes(machine);
  if (missing.empty()) return Fine{};
  if (!handed_in(setting_of(machine))) {
    const auto& helper = machine.driver.node_helper;
    if (makes_missing_nodes(machine)) return Fine{};
    if (helper.is_unknown()) return Undecided{{cite("nvidia-modprobe with setuid", helper)}};
  }
  return nodes_missing(machine, missing);
}

// ---------------------------------------------------------------------- and may be opened

// Slurm, Kubernetes and container engines hand out GPUs by the device cgroup, so that single GPUs
// which may not be opened are the order of the day. It counts when none is left.
std::vector<DeviceNode> refused_nodes(const Machine& machine) {
  std::vector<DeviceNode> refused;
  for (const char* path : {kControl, kUvm}) {
    const DeviceNode* node = node_at(machine, path);
    if (node != nullptr && node->usable.is(false)) refused.push_back(*node);
  }
  const auto gpus = gpu_nodes(machine);
  const bool none_left =
      !gpus.empty() && std::all_of(gpus.begin(), gpus.end(),
                                   [](const DeviceNode& node) { return node.usable.is(false); });
  if (none_left) refused.insert(refused.end(), gpus.begin(), gpus.end());
  return refused;
}

std::string octal(std::uint64_t mode) {
  std::string digits;
  for (; mode != 0; mode >>= 3) digits.insert(digits.begin(), static_cast<char>('0' + (mode & 7)));
  return "0" + digits;
}

Evidence cite_node(const DeviceNode& node) {
  return {node.path + ": mode " + octal(node.mode) + ", owner " + std::to_string(node.uid) +
              ", group " + node.owner_group + ", refused by " +
              (node.refusal.empty() ? "the kernel" : node.refusal),
          node.path};
}

/// Who keeps this user from the nodes.
enum class Keeper { kGroup, kMode, kDaemonReload, kScheduler, kService };

Keeper keeper_of(const Machine& machine, const DeviceNode& node) {
  if (node.refusal == "cgroup") {
    if (handed_in(setting_of(machine))) return Keeper::kDaemonReload;
    return machine.cuda.variables.contains("SLURM_JOB_ID") ? Keeper::kScheduler : Keeper::kService;
  }
  const bool group_may = (node.mode & 060) == 060 && node.gid != 0;
  return group_may ? Keeper::kGroup : Keeper::kMode;
}

std::string why_refused(Keeper keeper, const DeviceNode& node) {
  switch (keeper) {
    case Keeper::kGroup:
      return "the nodes are for the group " + node.owner_group + ", and this user is not in it";
    case Keeper::kMode:
      return "the nodes are for their owner alone: the driver was told so (NVreg_DeviceFileMode), "
             "or "
             "they were made by hand";
    case Keeper::kDaemonReload:
      return "the device cgroup of this container does not allow them (any more): systemctl "
             "daemon-reload on the host makes systemd write the rules of running containers anew, "
             "without the nodes that the toolkit had added";
    case Keeper::kScheduler:
      return "the job asked Slurm for no GPU, so its device cgroup allows none";
    case Keeper::kService:
      break;
  }
  return "the device cgroup of this session or service does not allow them (DeviceAllow=, "
         "PrivateDevices= of a systemd unit, or a batch system)";
}

std::vector<FixStep> open_by_mode() {
  return {root_step("sudo chmod 0666 /dev/nvidia*", "lets everybody open them now",
                    "/dev, until the next boot", "sudo chmod 0660 /dev/nvidia*"),
          root_step("echo 'options nvidia NVreg_DeviceFileMode=0666' | sudo tee "
                    "/etc/modprobe.d/nvidia-mode.conf",
                    "and after the next boot; see first which file says otherwise: grep -r "
                    "NVreg_DeviceFile /etc/modprobe.d",
                    "writes /etc/modprobe.d/nvidia-mode.conf",
                    "sudo rm /etc/modprobe.d/nvidia-mode.conf")};
}

std::vector<FixStep> open_by_new_container() {
  return {
      advice("stop the container and start it again: a new one gets its rules back"),
      root_step("sudo nvidia-ctk system create-dev-char-symlinks --create-all",
                "on the host, so that a daemon-reload does no harm any more; put it into a udev "
                "rule or a unit that runs at boot",
                "makes links in /dev/char of the host", "sudo rm /dev/char/195:*"),
      advice("or hand the GPU in by CDI (docker run --device nvidia.com/gpu=all), or let Docker "
             "use the cgroupfs driver")};
}

std::vector<FixStep> open_nodes(Keeper keeper, const DeviceNode& node) {
  switch (keeper) {
    case Keeper::kGroup:
      return {root_step("sudo usermod -aG " + shell_word(node.owner_group) + " \"$USER\"",
                        "then log out and in again", "the groups of this user",
                        "sudo gpasswd -d \"$USER\" " + shell_word(node.owner_group))};
    case Keeper::kMode:
      return open_by_mode();
    case Keeper::kDaemonReload:
      return open_by_new_container();
    case Keeper::kScheduler:
      return {user_step("srun --gres=gpu:1 --pty nvidia-smi",
                        "asks for one; in a batch script: #SBATCH --gres=gpu:1", "nothing",
                        "none needed")};
    case Keeper::kService:
      break;
  }
  return {
      user_step("systemctl show --property=DeviceAllow,PrivateDevices UNIT", "what the unit allows",
                "nothing", "none needed"),
      root_step("sudo systemctl edit UNIT",
                "add under [Service]: DeviceAllow=/dev/nvidiactl rw, DeviceAllow=/dev/nvidia0 rw, "
                "DeviceAllow=/dev/nvidia-uvm rw",
                "a drop-in of the unit", "sudo systemctl revert UNIT")};
}

std::string statement_of(const Machine& machine, const std::vector<DeviceNode>& refused) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> paths;
  for (const auto& node : refused)
    if (paths.size() < kShown) paths.push_back(node.path);
  std::string which = join(paths, ", ");
  if (refused.size() > kShown)
    which += " and " + std::to_string(refused.size() - kShown) + " more nodes";
  const std::string who = machine.host.uid.is_known() ? "user " + std::to_string(*machine.host.uid)
                                                      : std::string("this user");
  return who + " may not open " + which + ": " +
         (refused.front().refusal == "cgroup"
              ? "the device cgroup forbids it"
              : "mode " + octal(refused.front().mode) + ", group " + refused.front().owner_group);
}

Verdict nodes_may_be_opened(const Machine& machine, const Catalog&) {
  if (auto answer = before_node_question(machine)) return *answer;
  const auto refused = refused_nodes(machine);
  if (refused.empty()) {
    for (const auto& node : *machine.driver.nodes)
      if (node.usable.is_unknown() && (node.path == kControl || node.path == kUvm))
        return Undecided{{cite(node.path.c_str(), node.usable)}};
    return Fine{};
  }
  const Keeper keeper = keeper_of(machine, refused.front());
  std::vector<Evidence> evidence;
  for (const auto& node : refused) evidence.push_back(cite_node(node));
  evidence.push_back(cite("groups of this user", machine.host.groups));
  if (machine.host.container.is_known())
    evidence.push_back(cite("container", machine.host.container));
  const bool certain = keeper == Keeper::kGroup || keeper == Keeper::kMode;
  return Finding{
      .statement = statement_of(machine, refused),
      .evidence = std::move(evidence),
      .cause = why_refused(keeper, refused.front()),
      .fix = open_nodes(keeper, refused.front()),
      .certainty = certain ? Certainty::kProven : Certainty::kLikely,
  };
}

// ---------------------------------------------------------------------- fabric manager

std::vector<FixStep> run_fabric_manager(const Machine& machine) {
  const Version& module = *machine.driver.module_version;
  const std::string branch = std::to_string(module.major_part());
  const std::string version = shell_word(module.text());
  const std::string command = pick(
      machine, {.apt = "sudo apt install nvidia-fabricmanager-" + branch + "=" + version + "-1",
                .dnf = "sudo dnf install nvidia-fabric-manager-" + version,
                .zypper = "sudo zypper install nvidia-fabric-manager=" + version,
                .pacman = ""});
  const std::string text = "exactly the version of the driver, " + module.text();
  std::vector<FixStep> steps;
  steps.push_back(command.empty() ? advice("install NVIDIA's fabric manager, " + text)
                                  : root_step(command, text, "the fabric manager's package",
                                              "remove the package again"));
  steps.push_back(root_step("sudo systemctl enable --now nvidia-fabricmanager",
                            "starts it now and at boot", "the service",
                            "sudo systemctl disable --now nvidia-fabricmanager"));
  steps.push_back(user_step("nvidia-smi -q | grep -A 3 -w Fabric", "the state has to be Completed",
                            "nothing", "none needed"));
  return steps;
}

// GPUs behind NVSwitch take no work before the fabric manager has set up the switches: cuInit gives
// 802 meanwhile. It speaks to the module over a private interface and stops at once when its own
// version is another, which an upgrade of one package alone brings about.
Verdict fabric_manager_runs(const Machine& machine, const Catalog&) {
  const Driver& driver = machine.driver;
  if (setting_of(machine) != Setting::kHost || !machine.hardware.nvswitch.is(true))
    return NotApplicable{};
  if (!driver.module_version.is_known()) return NotApplicable{};
  const auto& running = driver.fabric_manager_running;
  if (running.is_unknown()) return Undecided{{cite("fabric manager runs", running)}};
  const auto& version = driver.fabric_manager_version;
  const bool differs = version.is_known() && *version != *driver.module_version;
  if (running.is(true) && !differs) return Fine{};
  std::string statement = "this machine has NVSwitch, and the fabric manager ";
  if (running.is_absent()) {
    statement += "is not installed";
  } else if (!differs) {
    statement += "does not run";
  } else {
    statement += running.is(true) ? "on disk" : "does not run: it";
    statement += " is " + version->text() + ", the driver " + driver.module_version->text();
  }
  return Finding{
      .severity = running.is(true) ? Severity::kWarning : Severity::kError,
      .statement = std::move(statement),
      .evidence = {cite("NVSwitch on the bus", machine.hardware.nvswitch),
                   cite("fabric manager runs", running), cite("fabric manager", version),
                   cite("loaded module", driver.module_version)},
      .cause = differs
                   ? "driver and fabric manager come in separate packages, and one was upgraded "
                     "without the other"
                   : "the driver's packages do not bring the fabric manager, or its service is "
                     "not enabled",
      .fix = run_fabric_manager(machine),
      .certainty = Certainty::kLikely,
  };
}

// ----------------------------------------------------------------------- persistence

bool has_display_function(const Machine& machine) {
  const auto& gpus = machine.hardware.gpus;
  return !gpus.is_known() || std::any_of(gpus->begin(), gpus->end(), [](const PciGpu& gpu) {
    return gpu.class_code.starts_with("0x0300");
  });
}

// Without a client the driver puts a GPU to sleep, and wakes it for the next one, which takes
// seconds and forgets settings and volatile error counters. A desktop is such a client, so this is
// about 3D controllers. The older way, nvidia-smi -pm 1, leaves its line in the kernel's log.
Verdict driver_persists(const Machine& machine, const Catalog&) {
  const Driver& driver = machine.driver;
  if (setting_of(machine) != Setting::kHost || module_loaded(machine) != Tristate::kYes)
    return NotApplicable{};
  if (has_display_function(machine)) return NotApplicable{};
  if (driver.persistence_daemon.is_unknown() || driver.kernel_log.is_unknown())
    return Undecided{{cite("nvidia-persistenced runs", driver.persistence_daemon),
                      cite("kernel log", driver.kernel_log)}};
  if (driver.persistence_daemon.is(true)) return Fine{};
  if (!log_lines(machine, {"Persistence mode"}).empty()) return Fine{};
  return Finding{
      .severity = Severity::kInfo,
      .statement =
          "nvidia-persistenced does not run: the first use after a pause wakes each GPU, "
          "which takes seconds",
      .evidence = {cite("nvidia-persistenced runs", driver.persistence_daemon)},
      .cause = "its service is not enabled, or its package is not installed",
      .fix = {root_step("sudo systemctl enable --now nvidia-persistenced",
                        "starts it now and at boot", "the service",
                        "sudo systemctl disable --now nvidia-persistenced")},
      .certainty = Certainty::kPossible,
  };
}

constexpr Rule kRules[] = {
    {"driver.nodes-missing", "the device nodes that CUDA opens exist", nodes_exist},
    {"driver.nodes-not-permitted", "this user may open them", nodes_may_be_opened, Standing::kOwn},
    {"driver.fabric-manager", "with NVSwitch, the fabric manager of the driver's version runs",
     fabric_manager_runs},
    {"driver.persistence-off", "a server's driver keeps its GPUs awake", driver_persists,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> driver_node_rules() { return kRules; }

}  // namespace gpuwright
