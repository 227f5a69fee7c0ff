#include "diagnose/fix.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "diagnose/gpu.h"

namespace gpuwright {
namespace {

struct DistributionRow {
  std::string_view id;  // ID of os-release
  PackageManager manager;
};
constexpr DistributionRow kDistributions[] = {
    {"ubuntu", PackageManager::kApt},
    {"debian", PackageManager::kApt},
    {"linuxmint", PackageManager::kApt},
    {"pop", PackageManager::kApt},
    {"zorin", PackageManager::kApt},
    {"elementary", PackageManager::kApt},
    {"neon", PackageManager::kApt},
    {"kali", PackageManager::kApt},
    {"raspbian", PackageManager::kApt},
    {"fedora", PackageManager::kDnf},
    {"rhel", PackageManager::kDnf},
    {"centos", PackageManager::kDnf},
    {"rocky", PackageManager::kDnf},
    {"almalinux", PackageManager::kDnf},
    {"ol", PackageManager::kDnf},
    {"amzn", PackageManager::kDnf},
    {"opensuse-leap", PackageManager::kZypper},
    {"opensuse-tumbleweed", PackageManager::kZypper},
    {"sles", PackageManager::kZypper},
    {"sled", PackageManager::kZypper},
    {"arch", PackageManager::kPacman},
    {"manjaro", PackageManager::kPacman},
    {"endeavouros", PackageManager::kPacman},
    {"cachyos", PackageManager::kPacman},
};

// Distributions that have ubuntu-drivers and Ubuntu's names of driver packages.
bool has_ubuntu_packages(const Machine& machine) {
  constexpr std::array<std::string_view, 6> kIds = {"ubuntu", "linuxmint",  "pop",
                                                    "zorin",  "elementary", "neon"};
  const auto id = machine.host.distribution.value_or("");
  return std::find(kIds.begin(), kIds.end(), id) != kIds.end();
}

// RHEL 8 and 9 and what is built from them choose the driver by a module stream; RHEL 10 and
// Fedora have no modules any more (NVIDIA Driver Installation Guide, Kernel Modules).
bool has_module_streams(const Machine& machine) {
  const auto id = machine.host.distribution.value_or("");
  const auto version = machine.host.distribution_version.value_or("");
  return id != "fedora" && (version.starts_with("8") || version.starts_with("9"));
}

bool wants_open(const DriverNeed& need) { return need.flavour != ModuleFlavour::kProprietary; }

// What distributions and repositories offer by themselves is newer than this; a lower bound below
// it needs no words.
constexpr std::uint64_t kCommonBranch = 550;

bool needs_recent(const DriverNeed& need) {
  return need.first_branch && *need.first_branch > kCommonBranch;
}

std::string ubuntu_command(const DriverNeed& need) {
  if (!need.last_branch && need.flavour == ModuleFlavour::kOpen && need.first_branch)
    return "sudo apt install nvidia-driver-" + std::to_string(*need.first_branch) + "-open";
  if (!need.last_branch) return "sudo ubuntu-drivers install";
  return "sudo apt install nvidia-driver-" + std::to_string(*need.last_branch);
}

// Debian's own driver is 535 (12) or 550 (13): too old for what came later, fine for all else.
std::string debian_command(const DriverNeed& need) {
  if (need.last_branch && *need.last_branch <= 470)
    return "sudo apt install linux-headers-amd64 nvidia-tesla-470-driver";
  if (needs_recent(need)) return "sudo apt install nvidia-open";
  return "sudo apt install linux-headers-amd64 nvidia-driver firmware-misc-nonfree";
}

std::string dnf_command(const Machine& machine, const DriverNeed& need) {
  const std::string package = wants_open(need) ? "nvidia-open" : "cuda-drivers";
  const std::string install = "sudo dnf install " + package;
  if (!has_module_streams(machine)) return install;
  const std::string stream = need.last_branch   ? std::to_string(*need.last_branch) + "-dkms"
                             : wants_open(need) ? "open-dkms"
                                                : "latest-dkms";
  return "sudo dnf module enable nvidia-driver:" + stream + " && " + install;
}

std::string pacman_command(const DriverNeed& need) {
  if (!need.last_branch) return "sudo pacman -S nvidia-open nvidia-utils";
  const auto branch = std::to_string(*need.last_branch) + "xx";
  return "yay -S nvidia-" + branch + "-dkms nvidia-" + branch + "-utils";
}

std::string install_command(const Machine& machine, const DriverNeed& need) {
  switch (package_manager(machine)) {
    case PackageManager::kApt:
      return has_ubuntu_packages(machine) ? ubuntu_command(need) : debian_command(need);
    case PackageManager::kDnf:
      return dnf_command(machine, need);
    case PackageManager::kZypper:
      return wants_open(need) ? "sudo zypper install nvidia-open"
                              : "sudo zypper install cuda-drivers";
    case PackageManager::kPacman:
      return pacman_command(need);
    case PackageManager::kUnknown:
      break;
  }
  return {};
}

// What has to be there before the command of install_command works.
std::string install_note(const Machine& machine, const DriverNeed& need) {
  switch (package_manager(machine)) {
    case PackageManager::kApt:
      if (has_ubuntu_packages(machine)) return "";
      return needs_recent(need)
                 ? "; Debian's own driver is too old for this GPU, add NVIDIA's repository first"
                 : "; needs the components contrib, non-free and non-free-firmware in APT's "
                   "sources";
    case PackageManager::kDnf:
    case PackageManager::kZypper:
      return "; the package is in NVIDIA's CUDA repository";
    case PackageManager::kPacman:
      return need.last_branch ? "; this branch is kept in the AUR" : "";
    case PackageManager::kUnknown:
      break;
  }
  return "";
}

std::string driver_in_words(const DriverNeed& need) {
  std::string words = "an NVIDIA driver";
  if (need.last_branch) {
    words += " of branch " + std::to_string(*need.last_branch) + " or older";
  } else if (needs_recent(need)) {
    words += " of branch " + std::to_string(*need.first_branch) + " or newer";
  }
  if (need.flavour != ModuleFlavour::kEither)
    words += " with the " + std::string(name_of(need.flavour)) + " kernel module";
  return words;
}

}  // namespace

PackageManager package_manager(const Machine& machine) {
  const auto id = machine.host.distribution.value_or("");
  for (const auto& row : kDistributions)
    if (row.id == id) return row.manager;
  return PackageManager::kUnknown;
}

std::string pick(const Machine& machine, const PerManager& commands) {
  switch (package_manager(machine)) {
    case PackageManager::kApt:
      return commands.apt;
    case PackageManager::kDnf:
      return commands.dnf;
    case PackageManager::kZypper:
      return commands.zypper;
    case PackageManager::kPacman:
      return commands.pacman;
    case PackageManager::kUnknown:
      break;
  }
  return {};
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!text.empty() && text.find_first_not_of(kSafe) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

FixStep root_step(std::string command, std::string text, std::string changes, std::string undo) {
  return {.command = std::move(command),
          .text = std::move(text),
          .needs_root = true,
          .changes = std::move(changes),
          .undo = std::move(undo)};
}

FixStep user_step(std::string command, std::string text, std::string changes, std::string undo) {
  return {.command = std::move(command),
          .text = std::move(text),
          .needs_root = false,
          .changes = std::move(changes),
          .undo = std::move(undo)};
}

FixStep advice(std::string text) { return {.text = std::move(text)}; }

FixStep reboot(std::string text) {
  return root_step("sudo reboot", std::move(text), "restarts the machine; nothing on disk",
                   "none needed");
}

std::vector<FixStep> install_driver(const Machine& machine, const Catalog& catalog,
                                    const std::vector<PciGpu>& gpus) {
  const DriverNeed need = driver_need(catalog, gpus);
  if (need.impossible)
    return {
        advice("no single driver serves all of these GPUs: take the older or the newer ones "
               "out, or pass them to a virtual machine with a driver of its own")};
  const std::string words = driver_in_words(need);
  const std::string command = install_command(machine, need);
  if (command.empty())
    return {advice("install " + words + " the way your distribution documents it"),
            reboot("loads the new module")};
  return {root_step(command, "installs " + words + install_note(machine, need),
                    "adds the driver's packages and builds its kernel module",
                    "remove the packages that the command named"),
          reboot("loads the new module")};
}

std::vector<FixStep> build_module(const Machine& machine, const std::string& kernel) {
  const std::string name = shell_word(kernel);
  const std::string headers = pick(machine, {.apt = "sudo apt install linux-headers-" + name,
                                             .dnf = "sudo dnf install kernel-devel-" + name,
                                             .zypper = "sudo zypper install kernel-default-devel",
                                             .pacman = "sudo pacman -S linux-headers"});
  std::vector<FixStep> steps;
  if (headers.empty()) {
    steps.push_back(advice("install the headers of kernel " + kernel));
  } else {
    steps.push_back(root_step(headers, "what the module is built against",
                              "adds the kernel's headers", "remove the package again"));
  }
  const bool akmods = machine.host.distribution.is("fedora") && !machine.driver.dkms.is_known();
  if (akmods) {
    steps.push_back(root_step("sudo akmods --force --kernels " + name, "builds the module",
                              "adds module files under /lib/modules/" + kernel,
                              "none needed: the module is only used by that kernel"));
  } else {
    steps.push_back(root_step("sudo dkms autoinstall -k " + name,
                              "builds the module; when it fails, make.log under "
                              "/var/lib/dkms/nvidia/*/build has the first compiler error",
                              "adds module files under /lib/modules/" + kernel,
                              "sudo dkms remove nvidia/VERSION -k " + name));
  }
  return steps;
}

FixStep rebuild_initramfs(const Machine& machine) {
  const std::string command = pick(machine, {.apt = "sudo update-initramfs -u -k all",
                                             .dnf = "sudo dracut --force --regenerate-all",
                                             .zypper = "sudo dracut --force --regenerate-all",
                                             .pacman = "sudo mkinitcpio -P"});
  if (command.empty()) return advice("write the initial RAM disk (initramfs) anew");
  return root_step(command, "the initial RAM disk holds its own copies of modprobe.d and modules",
                   "the initial RAM disks in /boot", "run it again after undoing the other steps");
}

std::vector<FixStep> start_with_gpu(const Machine& machine) {
  const auto kind = machine.host.container.value_or("");
  const std::string nothing = "nothing on the host";
  const std::string undo = "start it without the option again";
  if (kind == "kubernetes")
    return {
        advice("ask for the GPU in the pod's spec: resources.limits with nvidia.com/gpu: 1; the "
               "node needs NVIDIA's device plugin")};
  if (kind == "apptainer")
    return {user_step("apptainer exec --nv IMAGE COMMAND", "hands the driver's libraries in",
                      nothing, undo)};
  if (kind == "lxc")
    return {
        root_step("incus config device add CONTAINER gpu gpu && "
                  "incus config set CONTAINER nvidia.runtime=true",
                  "on the host; with LXD the command is lxc instead of incus",
                  "the container's configuration", "incus config device remove CONTAINER gpu")};
  if (kind == "podman")
    return {user_step("podman run --device nvidia.com/gpu=all IMAGE",
                      "on the host, which needs a CDI specification of its GPUs (next step)",
                      nothing, undo),
            root_step("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
                      "on the host, from the package nvidia-container-toolkit",
                      "writes /etc/cdi/nvidia.yaml", "sudo rm /etc/cdi/nvidia.yaml")};
  return {user_step("docker run --gpus all IMAGE", "on the host", nothing, undo),
          root_step("sudo nvidia-ctk runtime configure --runtime=docker && "
                    "sudo systemctl restart docker",
                    "on the host, once, after installing the package nvidia-container-toolkit",
                    "/etc/docker/daemon.json; restarts Docker and its containers",
                    "take the nvidia runtime out of /etc/docker/daemon.json")};
}

std::vector<std::string> installed_packages(const Machine& machine,
                                            std::initializer_list<std::string_view> prefixes) {
  std::vector<std::string> names;
  for (const auto& package : machine.driver.packages.value_or({})) {
    const std::string name = package.substr(0, package.find(' '));
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::any_of(prefixes.begin(), prefixes.end(), begins)) names.push_back(shell_word(name));
  }
  return names;
}

FixStep library_path_without(const Machine& machine, bool (*drop)(const PathElement&),
                             std::string text) {
  std::vector<std::string> kept;
  if (machine.cuda.library_path.is_known()) {
    for (const auto& element : *machine.cuda.library_path)
      if (!drop(element)) kept.push_back(element.text);
  }
  const std::string command = kept.empty()
                                  ? "unset LD_LIBRARY_PATH"
                                  : "export LD_LIBRARY_PATH=" + shell_word(join(kept, ":"));
  return user_step(command, kept.empty() ? "nothing else is in it" : std::move(text),
                   "this shell and what is started from it", "open a new shell");
}

}  // namespace gpuwright
