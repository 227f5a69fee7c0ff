#include "probe/host_surroundings.h"

#include <algorithm>

#include "base/text.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

struct Mark {
  const char* text;
  const char* kind;
};

template <std::size_t N>
std::optional<std::string> first_mark(const Mark (&marks)[N], std::string_view text) {
  for (const auto& mark : marks)
    if (text.find(mark.text) != std::string_view::npos) return mark.kind;
  return std::nullopt;
}

// Kubernetes and Apptainer first: the containers below them leave marks as well, and the outer name
// tells what to change.
constexpr Mark kContainerVariables[] = {
    {"KUBERNETES_SERVICE_HOST", "kubernetes"}, {"APPTAINER_CONTAINER", "apptainer"},
    {"APPTAINER_NAME", "apptainer"},           {"SINGULARITY_CONTAINER", "apptainer"},
    {"SINGULARITY_NAME", "apptainer"},
};
constexpr Mark kContainerFiles[] = {
    {"/run/secrets/kubernetes.io", "kubernetes"},
    {"/.singularity.d", "apptainer"},
    {"/run/.containerenv", "podman"},
    {"/.dockerenv", "docker"},
};
constexpr Mark kContainerValues[] = {
    {"docker", "docker"},
    {"podman", "podman"},
    {"libpod", "podman"},
    {"lxc", "lxc"},
    {"systemd-nspawn", "systemd-nspawn"},
    {"apptainer", "apptainer"},
    {"singularity", "apptainer"},
};
constexpr Mark kCgroupMarks[] = {
    {"kubepods", "kubernetes"},  {"libpod", "podman"}, {"/docker", "docker"},
    {"lxc.payload", "lxc"},      {"/lxc/", "lxc"},     {"machine.slice/machine-", "systemd-nspawn"},
    {"containerd", "container"},
};
constexpr Mark kRootMounts[] = {
    {"/docker/", "docker"},
    {"/containers/storage/", "podman"},
    {"containerd", "container"},
    {"/lxc/", "lxc"},
};

// Beginnings of what firmware says in sys_vendor, product_name, board_vendor and bios_vendor.
// Clouds that run KVM are called "kvm": the name serves to explain pass-through, not to name the
// provider.
constexpr Mark kFirmwareMarks[] = {
    {"Firecracker", "firecracker"},
    {"KVM", "kvm"},
    {"QEMU", "kvm"},
    {"OpenStack", "kvm"},
    {"KubeVirt", "kvm"},
    {"Amazon EC2", "kvm"},
    {"Google", "kvm"},
    {"Alibaba Cloud", "kvm"},
    {"DigitalOcean", "kvm"},
    {"Red Hat", "kvm"},
    {"Nutanix", "kvm"},
    {"VMware", "vmware"},
    {"VMW", "vmware"},
    {"innotek GmbH", "virtualbox"},
    {"VirtualBox", "virtualbox"},
    {"Xen", "xen"},
    {"HVM domU", "xen"},
    {"Microsoft Corporation", "microsoft"},
    {"Parallels", "parallels"},
    {"BHYVE", "bhyve"},
    {"Apple Virtualization", "apple"},
};

// gVisor's answer to uname, in all releases seen (2018 to 2026): its kernel's date is that of Linux
// 4.4, its release "4.4.0" and since 2025 "4.19.0-gvisor" (google/gvisor, syscalls/linux).
constexpr std::string_view kGvisorVersion = "#1 SMP Sun Jan 10 15:06:54 PST 2016";

Fact<std::string> known(std::optional<std::string> kind, std::string source) {
  return Fact<std::string>::known(*std::move(kind), std::move(source));
}

}  // namespace

std::optional<std::string> container_of_variable(std::string_view value) {
  value = trim(value);
  if (value.empty() || value == "wsl") return std::nullopt;
  return first_mark(kContainerValues, value).value_or("container");
}

std::optional<std::string> container_of_cgroup(std::string_view text) {
  return first_mark(kCgroupMarks, text);
}

namespace {

// The line of mountinfo for "/"; the last one lies on top. Fields: id parent device root
// mount-point options … - type source.
std::string_view root_mount(std::string_view text) {
  std::string_view root;
  for (const auto line : lines(text)) {
    const auto fields = words(line);
    if (fields.size() > 5 && fields[4] == "/") root = line;
  }
  return root;
}

}  // namespace

std::optional<std::string> container_of_mounts(std::string_view text) {
  for (const auto line : lines(text)) {
    const auto fields = words(line);
    if (fields.size() > 5 && fields[3].find("/kubelet/pods/") != std::string_view::npos)
      return "kubernetes";
  }
  const auto root = root_mount(text);
  const auto tail = root.find(" - overlay ");
  return tail == std::string_view::npos ? std::nullopt : first_mark(kRootMounts, root.substr(tail));
}

std::optional<std::string> hypervisor_of_firmware(std::string_view text) {
  text = trim(text);
  for (const auto& mark : kFirmwareMarks)
    if (text.starts_with(mark.text)) return mark.kind;
  return std::nullopt;
}

std::optional<bool> cpu_is_virtual(std::string_view cpuinfo) {
  const auto flags = value_after(cpuinfo, "flags");
  if (!flags) return std::nullopt;
  for (const auto flag : words(*flags))
    if (flag == "hypervisor") return true;
  return false;
}

std::optional<std::uint64_t> wsl_of_release(std::string_view release) {
  // WSL1: "4.4.0-19041-Microsoft"; WSL2: "5.15.167.4-microsoft-standard-WSL2".
  if (release.ends_with("-Microsoft")) return 1;
  if (lower(release).find("microsoft") != std::string::npos) return 2;
  return std::nullopt;
}

namespace {

// A disk image unpacked from a container image, as micro-VMs boot them, keeps /.dockerenv, and
// Ubuntu's images carry a /run/systemd/container. The kernel's first PID namespace has a fixed
// number (PROC_PID_INIT_INO of include/linux/proc_ns.h), and a container that shares it
// (--pid=host) still has a layered root.
bool is_booted_image(const System& system) {
  if (system.read_link("/proc/self/ns/pid").value_or("") != "pid:[4026531836]") return false;
  const auto mounts = system.read("/proc/self/mountinfo");
  return mounts && root_mount(*mounts).find(" - overlay ") == std::string_view::npos;
}

using Kind = std::optional<Fact<std::string>>;

Kind container_by_variables(const System& system) {
  const auto environment = system.environment().value_or(std::map<std::string, std::string>{});
  for (const auto& mark : kContainerVariables)
    if (environment.contains(mark.text)) return known(mark.kind, mark.text);
  const auto variable = environment.find("container");
  if (variable == environment.end()) return std::nullopt;
  const auto kind = container_of_variable(variable->second);
  return kind ? Kind(known(kind, "environment variable container")) : std::nullopt;
}

Kind container_by_files(const System& system) {
  if (is_booted_image(system)) return std::nullopt;
  for (const auto& mark : kContainerFiles)
    if (exists(system, mark.text)) return known(mark.kind, mark.text);
  const std::string path = "/run/systemd/container";
  const auto kind = container_of_variable(system.read(path).value_or(""));
  return kind ? Kind(known(kind, path)) : std::nullopt;
}

Kind container_by_first_environment(const System& system) {
  const std::string path = "/proc/1/environ";
  const std::string block = system.read(path).value_or("");
  for (const auto item : split(block, '\0')) {
    if (!item.starts_with("container=")) continue;
    if (const auto kind = container_of_variable(item.substr(10))) return known(kind, path);
  }
  return std::nullopt;
}

// Absent when one of the two could be read and neither says anything.
Fact<std::string> container_by_kernel(const System& system) {
  const auto cgroup = system.read("/proc/1/cgroup");
  if (const auto kind = container_of_cgroup(cgroup.value_or("")))
    return known(kind, "/proc/1/cgroup");
  const auto mounts = system.read("/proc/self/mountinfo");
  if (const auto kind = container_of_mounts(mounts.value_or("")))
    return known(kind, "/proc/self/mountinfo");
  if (!cgroup && !mounts)
    return Fact<std::string>::unknown("/proc/self/mountinfo", mounts.error().message);
  return Fact<std::string>::absent("/.dockerenv, /run/.containerenv, /proc/1/cgroup, mounts");
}

}  // namespace

// Sources: variables that container managers set; files that they leave; the variable `container`
// of process 1, whose environment is root's to read; the control group of process 1; the mounts.
Fact<std::string> read_container(const System& system) {
  for (const auto look :
       {container_by_variables, container_by_files, container_by_first_environment})
    if (auto kind = look(system)) return *std::move(kind);
  return container_by_kernel(system);
}

namespace {

// ACPI tables carry their author in bytes 10 to 15; micro-VMs have these and no DMI. Root's to
// read.
std::optional<std::string> hypervisor_of_acpi(const System& system) {
  const auto table = system.read("/sys/firmware/acpi/tables/FACP", 64);
  if (table && table->size() > 16 && table->substr(10, 6) == "FIRECK") return "firecracker";
  return std::nullopt;
}

}  // namespace

// Sources: the kernel of WSL2, which is a guest of Hyper-V without firmware; the CPU's flag, which
// outranks the rest since clouds put their name on bare metal too; the firmware's names (DMI);
// /sys/hypervisor of Xen; the author of an ACPI table. With nothing but the flag: "virtual
// machine".
Fact<std::string> read_hypervisor(const System& system, const Fact<std::uint64_t>& wsl) {
  if (wsl.is(2)) return known("microsoft", wsl.source());
  const auto cpuinfo = system.read("/proc/cpuinfo", 8192);
  const auto flagged = cpu_is_virtual(cpuinfo.value_or(""));
  if (flagged && !*flagged) return Fact<std::string>::absent("flags of /proc/cpuinfo");

  for (const std::string name : {"sys_vendor", "product_name", "board_vendor", "bios_vendor"}) {
    const auto path = "/sys/class/dmi/id/" + name;
    if (const auto text = system.read(path, 4096))
      if (const auto kind = hypervisor_of_firmware(*text)) return known(kind, path);
  }
  if (const auto type = system.read("/sys/hypervisor/type", 64))
    return known(printable(trim(*type)), "/sys/hypervisor/type");
  if (const auto kind = hypervisor_of_acpi(system))
    return known(kind, "/sys/firmware/acpi/tables/FACP");
  if (flagged) return known("virtual machine", "flag 'hypervisor' of /proc/cpuinfo");
  if (!cpuinfo) return Fact<std::string>::unknown("/proc/cpuinfo", cpuinfo.error().message);
  return Fact<std::string>::absent("/sys/class/dmi/id, /sys/hypervisor");
}

// Sources: uname; the first line of its kernel log, which it writes itself and lets everyone read.
Fact<std::string> read_sandbox(const System& system) {
  const auto kernel = system.kernel();
  if (kernel &&
      (kernel->release.find("gvisor") != std::string::npos || kernel->version == kGvisorVersion))
    return known("gvisor", "uname");
  const auto log = system.kernel_log(4096);
  if (log && log->find("Starting gVisor") != std::string::npos)
    return known("gvisor", "kernel log");
  if (!kernel) return Fact<std::string>::unknown("uname", kernel.error().message);
  return Fact<std::string>::absent("uname");
}

// Sources: the kernel's release; for a kernel that the user built, the interoperability that only
// WSL2 offers to such kernels.
Fact<std::uint64_t> read_wsl(const System& system) {
  const auto kernel = system.kernel();
  if (!kernel) return Fact<std::uint64_t>::unknown("uname -r", kernel.error().message);
  if (const auto version = wsl_of_release(kernel->release))
    return Fact<std::uint64_t>::known(*version, "uname -r");
  const std::string interop = "/proc/sys/fs/binfmt_misc/WSLInterop";
  if (exists(system, interop)) return Fact<std::uint64_t>::known(2, interop);
  return Fact<std::uint64_t>::absent("uname -r");
}

}  // namespace gpuwright
