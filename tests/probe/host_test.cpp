#include "probe/host.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cerrno>
#include <limits>

#include "probe/host_surroundings.h"
#include "probe/probe.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

Host probe(const System& system) {
  Machine machine;
  probe_host({system, Machine{}, Catalog::built_in(), ProbeOptions{}})(machine);
  return machine.host;
}

constexpr const char* kUbuntuRelease = R"text(PRETTY_NAME="Ubuntu 24.04.3 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.3 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
HOME_URL="https://www.ubuntu.com/"
)text";

TEST(OsRelease, ReadsBareAndQuotedValues) {
  const auto release = parse_os_release(kUbuntuRelease);
  EXPECT_EQ(release.id, "ubuntu");
  EXPECT_EQ(release.version_id, "24.04");
  EXPECT_EQ(release.pretty_name, "Ubuntu 24.04.3 LTS");
}

TEST(OsRelease, UndoesShellQuoting) {
  const auto release = parse_os_release("ID='rhel'\nPRETTY_NAME=\"a \\\"b\\\" \\$c\"\n");
  EXPECT_EQ(release.id, "rhel");
  EXPECT_EQ(release.pretty_name, "a \"b\" $c");
  EXPECT_EQ(release.version_id, std::nullopt);
}

TEST(Host, TakesTheVendorsReleaseFileWhenEtcHasNone) {
  MemorySystem system;
  system.add_file("/usr/lib/os-release", "ID=arch\nPRETTY_NAME=\"Arch Linux\"\n");
  const auto host = probe(system);
  EXPECT_TRUE(host.distribution.is("arch"));
  EXPECT_EQ(host.distribution.source(), "/usr/lib/os-release");
  EXPECT_TRUE(host.distribution_version.is_absent()) << "a rolling distribution has no version";
}

TEST(Host, DoesNotPassOverAReleaseFileThatItMayNotRead) {
  MemorySystem system;
  system.set_error("/etc/os-release", EACCES);
  system.add_file("/usr/lib/os-release", "ID=arch\n");
  EXPECT_TRUE(probe(system).distribution.is_unknown());
}

TEST(GroupNames, SkipBrokenLines) {
  const auto names = parse_group_names("root:x:0:\nvideo:x:44:ann,bob\nbroken\n:x:9:\nx:x:z:\n");
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(group_name(names, 44), "video");
  EXPECT_EQ(group_name(names, 1003), "#1003");
}

TEST(Host, NamesTheGroupsOfThisProcessOnce) {
  MemorySystem system;
  system.add_file("/etc/group", "video:x:44:\nann:x:1000:\n");
  system.who = {1000, 1000, {44, 1000, 1003}};
  EXPECT_TRUE(probe(system).groups.is({"ann", "video", "#1003"}));
}

constexpr const char* kLimits =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max locked memory         8388608              unlimited            bytes     \n";

TEST(LockedMemoryLimit, IsTheSoftOne) {
  EXPECT_EQ(parse_locked_memory_limit(kLimits), 8388608u);
  EXPECT_EQ(parse_locked_memory_limit("Max locked memory  unlimited unlimited bytes\n"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_locked_memory_limit("Max cpu time 1 1 s\n"), std::nullopt);
}

TEST(Lockdown, IsTheBracketedWord) {
  EXPECT_EQ(parse_lockdown("none [integrity] confidentiality\n"), "integrity");
  EXPECT_EQ(parse_lockdown("none integrity\n"), std::nullopt);
  EXPECT_EQ(parse_lockdown("]none[\n"), std::nullopt);
}

TEST(SymbolVersions, GiveTheNewestPublicOne) {
  const std::vector<std::string> names = {"GLIBC_2.2.5", "GLIBC_2.39", "GLIBC_2.4", "GLIBC_PRIVATE",
                                          "GLIBC_ABI_DT_RELR"};
  const auto newest = newest_symbol_version(names, "GLIBC_");
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->text(), "2.39");
  EXPECT_EQ(newest_symbol_version(names, "GLIBCXX_"), std::nullopt);
}

// ------------------------------------------------------------------- Secure Boot

constexpr const char* kSecureBoot =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

TEST(SecureBoot, IsTheFifthByteOfTheVariable) {
  MemorySystem system;
  system.add_file(kSecureBoot, std::string("\x06\x00\x00\x00\x01", 5));
  EXPECT_TRUE(probe(system).secure_boot.is(true));
  system.add_file(kSecureBoot, std::string("\x06\x00\x00\x00\x00", 5));
  EXPECT_TRUE(probe(system).secure_boot.is(false));
}

TEST(SecureBoot, IsUnknownForAVariableOfAnotherForm) {
  MemorySystem system;
  system.add_file(kSecureBoot, "\x06");
  EXPECT_TRUE(probe(system).secure_boot.is_unknown());
}

TEST(SecureBoot, IsAbsentWithoutEfi) {
  MemorySystem system;
  system.add_directory("/sys/firmware/acpi");
  EXPECT_TRUE(probe(system).secure_boot.is_absent());
}

TEST(SecureBoot, IsUnknownWhereAContainerHidesTheFirmware) {
  MemorySystem system;
  system.add_directory("/sys/firmware");
  EXPECT_TRUE(probe(system).secure_boot.is_unknown());
}

// ----------------------------------------------------------------------- cgroups

TEST(DeviceCgroup, IsReadOfTheOwnGroupOfVersion1) {
  MemorySystem system;
  system.add_file("/proc/self/cgroup", "5:cpuset:/job\n4:net_cls,devices:/job\n");
  system.add_file("/sys/fs/cgroup/devices/devices.list", "a *:* rwm\n");
  system.add_file("/sys/fs/cgroup/devices/job/devices.list", "c 195:* rwm\n");
  EXPECT_TRUE(probe(system).device_cgroup.is("c 195:* rwm"));
}

TEST(DeviceCgroup, IsReadOfTheMountsTopInsideAContainer) {
  MemorySystem system;
  system.add_file("/proc/self/cgroup", "4:devices:/docker/0123\n");
  system.add_file("/sys/fs/cgroup/devices/devices.list", "c 1:3 rwm\n");
  EXPECT_TRUE(probe(system).device_cgroup.is("c 1:3 rwm"));
}

TEST(DeviceCgroup, IsUnknownUnderVersion2) {
  MemorySystem system;
  system.add_file("/proc/self/cgroup", "0::/user.slice/user-1000.slice\n");
  EXPECT_TRUE(probe(system).device_cgroup.is_unknown());
}

// -------------------------------------------------------------------- containers

TEST(Container, IsKnownByFilesAndVariables) {
  const struct {
    const char* file;
    const char* variable;
    const char* kind;
  } cases[] = {
      {"/.dockerenv", nullptr, "docker"},
      {"/run/.containerenv", nullptr, "podman"},
      {"/.singularity.d/labels.json", nullptr, "apptainer"},
      {"/.dockerenv", "KUBERNETES_SERVICE_HOST", "kubernetes"},
      {nullptr, "APPTAINER_CONTAINER", "apptainer"},
  };
  for (const auto& c : cases) {
    MemorySystem system;
    if (c.file != nullptr) system.add_file(c.file, "");
    if (c.variable != nullptr) system.environment_block[c.variable] = "x";
    EXPECT_TRUE(read_container(system).is(c.kind)) << c.kind;
  }
}

TEST(Container, IsNoneWhereADiskImageKeptTheMarkOfOne) {
  MemorySystem system;
  system.add_file("/.dockerenv", "");
  system.add_file("/run/systemd/container", "docker\n");  // in Ubuntu's images
  system.add_file("/proc/1/cgroup", "0::/\n");
  system.add_link("/proc/self/ns/pid", "pid:[4026531836]");
  system.add_file("/proc/self/mountinfo", "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n");
  EXPECT_TRUE(read_container(system).is_absent());
  system.add_file("/proc/self/mountinfo", "27 1 0:50 / / rw - overlay overlay rw,lowerdir=/a\n");
  EXPECT_TRUE(read_container(system).is("docker")) << "--pid=host shares the first namespace";
}

TEST(Container, IsKnownByTheVariableOfItsManager) {
  MemorySystem system;
  system.add_file("/proc/1/environ", std::string("PATH=/bin\0container=lxc\0", 24));
  EXPECT_TRUE(read_container(system).is("lxc"));
  EXPECT_EQ(container_of_variable("oci"), "container");
  EXPECT_EQ(container_of_variable("wsl"), std::nullopt);
}

TEST(Container, IsKnownByTheControlGroupOfItsFirstProcess) {
  EXPECT_EQ(container_of_cgroup("12:devices:/kubepods/besteffort/pod1/abc\n"), "kubernetes");
  EXPECT_EQ(container_of_cgroup("0::/system.slice/docker-0123abcd.scope\n"), "docker");
  EXPECT_EQ(container_of_cgroup("0::/machine.slice/libpod-0123.scope/container\n"), "podman");
  EXPECT_EQ(container_of_cgroup("0::/init.scope\n"), std::nullopt);
  EXPECT_EQ(container_of_cgroup("0::/\n"), std::nullopt);
}

constexpr const char* kDockerMounts =
    "620 505 0:49 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/"
    "l/AB:/var/lib/docker/overlay2/l/CD,upperdir=/var/lib/docker/overlay2/0123/diff\n"
    "621 620 0:52 / /proc rw,nosuid - proc proc rw\n";
constexpr const char* kHostMounts =
    "28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "700 28 0:50 / /var/lib/docker/overlay2/0123/merged rw - overlay overlay rw,lowerdir="
    "/var/lib/docker/overlay2/l/AB\n";

TEST(Container, IsKnownByWhatBacksTheRoot) {
  EXPECT_EQ(container_of_mounts(kDockerMounts), "docker");
  EXPECT_EQ(container_of_mounts(kHostMounts), std::nullopt) << "the host of containers is none";
}

TEST(Container, IsAbsentOnlyWhereTheMountsWereSeen) {
  MemorySystem system;
  EXPECT_TRUE(read_container(system).is_unknown());
  system.add_file("/proc/self/mountinfo", kHostMounts);
  EXPECT_TRUE(read_container(system).is_absent());
}

// ---------------------------------------------------- virtual machines, WSL, gVisor

constexpr const char* kVirtualCpu =
    "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu vme de hypervisor lahf_lm\n";
constexpr const char* kRealCpu =
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme de lahf_lm\n";

TEST(Hypervisor, IsNamedByTheFirmware) {
  const struct {
    const char* text;
    const char* kind;
  } cases[] = {{"QEMU\n", "kvm"},
               {"VMware, Inc.\n", "vmware"},
               {"Microsoft Corporation\n", "microsoft"},
               {"Google\n", "kvm"},
               {"innotek GmbH\n", "virtualbox"}};
  for (const auto& c : cases) {
    MemorySystem system;
    system.add_file("/proc/cpuinfo", kVirtualCpu);
    system.add_file("/sys/class/dmi/id/sys_vendor", c.text);
    EXPECT_TRUE(read_hypervisor(system, {}).is(c.kind)) << c.text;
  }
}

TEST(Hypervisor, IsAbsentOnACloudsBareMetal) {
  MemorySystem system;
  system.add_file("/proc/cpuinfo", kRealCpu);
  system.add_file("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
  EXPECT_TRUE(read_hypervisor(system, {}).is_absent());
}

TEST(Hypervisor, HasNoNameWhenOnlyTheCpuTells) {
  MemorySystem system;
  system.add_file("/proc/cpuinfo", kVirtualCpu);
  EXPECT_TRUE(read_hypervisor(system, {}).is("virtual machine"));
  system.add_file("/sys/firmware/acpi/tables/FACP", std::string("FACP\x14\x01\0\0\x06\x66"
                                                                "FIRECKFCVMFADT",
                                                                24));
  EXPECT_TRUE(read_hypervisor(system, {}).is("firecracker"));
}

TEST(Wsl, IsToldByTheKernelsRelease) {
  EXPECT_EQ(wsl_of_release("5.15.167.4-microsoft-standard-WSL2"), 2u);
  EXPECT_EQ(wsl_of_release("4.4.0-19041-Microsoft"), 1u);
  EXPECT_EQ(wsl_of_release("6.8.0-49-generic"), std::nullopt);
}

TEST(Wsl, IsAGuestOfHyperV) {
  MemorySystem system;
  system.kernel_name.release = "5.15.167.4-microsoft-standard-WSL2";
  system.add_file("/proc/cpuinfo", kVirtualCpu);
  const auto host = probe(system);
  EXPECT_TRUE(host.wsl.is(2));
  EXPECT_TRUE(host.hypervisor.is("microsoft"));
}

TEST(Wsl, IsFoundUnderAKernelOfOnesOwn) {
  MemorySystem system;
  system.add_file("/proc/sys/fs/binfmt_misc/WSLInterop", "enabled\n");
  EXPECT_TRUE(read_wsl(system).is(2));
}

TEST(Sandbox, IsGvisorByOldAndNewNames) {
  MemorySystem system;
  EXPECT_TRUE(read_sandbox(system).is_absent());
  system.kernel_name = {"4.4.0", "#1 SMP Sun Jan 10 15:06:54 PST 2016", "x86_64"};
  EXPECT_TRUE(read_sandbox(system).is("gvisor"));
  system.kernel_name = {"4.19.0-gvisor", "#1 SMP", "x86_64"};
  EXPECT_TRUE(read_sandbox(system).is("gvisor"));
  system.kernel_name = {"6.1.0", "#1 SMP", "x86_64"};
  system.log = "<6>[    0.000000] Starting gVisor...\n";
  EXPECT_TRUE(read_sandbox(system).is("gvisor"));
}

TEST(Sandbox, IsNotARealKernelOfThatRelease) {
  MemorySystem system;
  system.kernel_name = {"4.4.0", "#1 SMP Mon Feb 1 00:00:00 UTC 2016", "x86_64"};
  EXPECT_TRUE(read_sandbox(system).is_absent());
}

// -------------------------------------------------------------------- this machine

TEST(Host, AgreesWithTheRunningSystem) {
  const auto host = probe(*make_live_system());
  utsname name{};
  ASSERT_EQ(uname(&name), 0);
  EXPECT_TRUE(host.kernel_release.is(name.release));
  EXPECT_TRUE(host.architecture.is(name.machine));
  ASSERT_TRUE(host.glibc.is_known()) << host.glibc.reason();
  EXPECT_EQ(host.glibc->text(), gnu_get_libc_version());
  ASSERT_TRUE(host.cxx_runtime.is_known()) << host.cxx_runtime.reason();
  EXPECT_TRUE(host.cxx_runtime->glibcxx.starts_with("3.4.")) << host.cxx_runtime->glibcxx;
}

TEST(Host, KeepsWhatItCouldNotLookAtUnknown) {
  const auto host = probe(MemorySystem());
  EXPECT_TRUE(host.distribution.is_absent());
  EXPECT_TRUE(host.glibc.is_unknown());
  EXPECT_TRUE(host.memlock_bytes.is_unknown());
  EXPECT_TRUE(host.device_cgroup.is_unknown());
  EXPECT_TRUE(host.kernel_lockdown.is_unknown());
  EXPECT_TRUE(host.shm_bytes.is_absent());
  EXPECT_TRUE(host.sudo_user.is_absent());
}

}  // namespace
}  // namespace gpuwright
