#include "probe/driver.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/driver_nodes.h"
#include "probe/driver_software.h"
#include "probe/probe.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

Driver probe(const System& system, Machine before = {}) {
  Machine machine;
  probe_driver({system, before, Catalog::built_in(), ProbeOptions{}})(machine);
  return machine.driver;
}

constexpr const char* kOpenVersion =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  "
    "(builder@)  \nGCC version:  gcc version 15.3.0 (GCC) \n";
constexpr const char* kProprietaryVersion =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
    "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n";

TEST(DriverVersion, ReadsBothFlavours) {
  const auto open = parse_driver_version(kOpenVersion);
  ASSERT_TRUE(open.has_value());
  EXPECT_EQ(open->version.text(), "580.159.04");
  EXPECT_EQ(open->flavour, "open");
  const auto proprietary = parse_driver_version(kProprietaryVersion);
  ASSERT_TRUE(proprietary.has_value());
  EXPECT_EQ(proprietary->version.text(), "550.90.07");
  EXPECT_EQ(proprietary->flavour, "proprietary");
}

TEST(DriverVersion, IsNothingForOtherTexts) {
  EXPECT_FALSE(parse_driver_version("").has_value());
  EXPECT_FALSE(
      parse_driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module\n").has_value());
  EXPECT_FALSE(parse_driver_version("GCC version:  gcc version 12.3.0\n").has_value());
}

TEST(Module, IsTakenFromSysfsWhereProcHasNone) {
  MemorySystem system;
  system.add_file("/sys/module/nvidia/version", "535.183.01\n");
  system.add_file("/sys/module/nvidia/taint", "POE\n");
  auto driver = probe(system);
  EXPECT_TRUE(driver.module_version.is(Version::of("535.183.01")));
  EXPECT_TRUE(driver.module_flavour.is("proprietary"));
  system.add_file("/sys/module/nvidia/taint", "OE\n");
  EXPECT_TRUE(probe(system).module_flavour.is("open"));
}

TEST(Module, IsAbsentOnlyUnderARunningKernel) {
  MemorySystem system;
  EXPECT_TRUE(probe(system).module_version.is_unknown());
  system.add_file("/proc/modules", "ext4 1 0 - Live 0x0\n");
  EXPECT_TRUE(probe(system).module_version.is_absent());
}

TEST(Module, IsUnknownUnderGvisor) {
  MemorySystem system;
  system.add_file("/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n");
  system.add_file("/proc/driver/nvidia/params", "DeviceFileMode: 438\n");
  EXPECT_TRUE(probe(system).module_version.is_unknown());
}

TEST(Module, IsUnknownWhenItsFileMayNotBeRead) {
  MemorySystem system;
  system.set_error("/proc/driver/nvidia/version", EACCES);
  EXPECT_TRUE(probe(system).module_version.is_unknown());
}

TEST(LoadedModules, AreThoseThatDecideWhoDrivesAGpu) {
  const std::vector<std::string> expected = {"nvidia", "nvidia_uvm"};
  EXPECT_EQ(parse_gpu_modules("nvidia_uvm 1830912 - - Live 0xffffffffc080c000 (O)\n"
                              "nvidia 14299136 - - Live 0xffffffffc0400000 (O)\n"
                              "nvidiafb 1 0 - Live 0x0\nvideo 2 0 - Live 0x0\n"),
            expected);
  EXPECT_EQ(parse_gpu_modules("nouveau 1 0 - Live 0x0\nvfio_pci 1 0 - Live 0x0\n").size(), 2u);
}

TEST(CharacterMajor, LooksAtCharacterDevicesOnly) {
  constexpr const char* kDevices =
      "Character devices:\n  1 mem\n195 nvidia\n238 nvidia-uvm\n\nBlock devices:\n  7 loop\n"
      "259 nvidia-uvm\n";
  EXPECT_EQ(parse_character_major(kDevices, "nvidia-uvm"), 238u);
  EXPECT_EQ(parse_character_major("Block devices:\n  7 nvidia-uvm\n", "nvidia-uvm"), std::nullopt);
}

// ----------------------------------------------------------------------- nouveau

TEST(Nouveau, IsBlacklistedByAnyOfTheThreeWays) {
  EXPECT_TRUE(blacklists_nouveau("# generated\nblacklist nouveau\noptions nouveau modeset=0\n"));
  EXPECT_TRUE(blacklists_nouveau("install nouveau /bin/false\n"));
  EXPECT_TRUE(blacklists_nouveau("alias nouveau off\n"));
  EXPECT_FALSE(blacklists_nouveau("#blacklist nouveau\nblacklist nvidiafb\n"));
  EXPECT_TRUE(command_line_blacklists_nouveau("ro quiet modprobe.blacklist=floppy,nouveau"));
  EXPECT_TRUE(command_line_blacklists_nouveau("nouveau.modeset=0"));
  EXPECT_FALSE(command_line_blacklists_nouveau("modprobe.blacklist=floppy rd.driver.pre=nouveau"));
}

TEST(ModuleOptions, ComeFromModprobeAndTheCommandLine) {
  MemorySystem system;
  system.add_file("/etc/modprobe.d/nvidia.conf", "options nvidia NVreg_EnableGpuFirmware=0\n");
  system.add_file("/proc/cmdline", "ro nvidia-drm.modeset=1\n");
  const auto options = probe(system).module_options;
  EXPECT_EQ(options.at("nvidia.NVreg_EnableGpuFirmware"), "0");
  EXPECT_EQ(options.at("nvidia_drm.modeset"), "1");
}

TEST(Nouveau, ReadsOnlyTheFirstFileOfAName) {
  MemorySystem system;
  system.add_file("/etc/modprobe.d/nvidia.conf", "# emptied by the administrator\n");
  system.add_file("/lib/modprobe.d/nvidia.conf", "blacklist nouveau\n");
  EXPECT_TRUE(probe(system).nouveau_blacklisted.is(false));
  system.add_file("/lib/modprobe.d/other.conf", "blacklist nouveau\n");
  const auto fact = probe(system).nouveau_blacklisted;
  EXPECT_TRUE(fact.is(true));
  EXPECT_EQ(fact.source(), "/lib/modprobe.d/other.conf");
}

TEST(Nouveau, IsUnknownWhenAFileCannotBeRead) {
  MemorySystem system;
  system.set_error("/etc/modprobe.d/site.conf", EACCES);
  EXPECT_TRUE(probe(system).nouveau_blacklisted.is_unknown());
}

// ------------------------------------------------------------------- device nodes

class RefusingSystem : public MemorySystem {
 public:
  Result<bool> may_read_write(const std::string& path) const override {
    if (path == refused) return fail("Operation not permitted", path, code);
    return MemorySystem::may_read_write(path);
  }
  std::string refused;
  int code = EPERM;
};

TEST(DeviceNodes, AreReadInNaturalOrder) {
  MemorySystem system;
  system.add_file("/etc/group", "video:x:44:\n");
  for (const int minor : {0, 2, 10})
    system.add_device("/dev/nvidia" + std::to_string(minor), 195, minor, 0660, 0, 44);
  system.add_device("/dev/nvidiactl", 195, 255);
  system.add_device("/dev/nvidia-caps/nvidia-cap1", 241, 1, 0400);
  system.add_directory("/dev/nvidia-uvm");  // what a bind mount of a missing node leaves
  system.who = {1000, 1000, {44}};
  const auto nodes = read_device_nodes(system);
  ASSERT_TRUE(nodes.is_known());
  std::vector<std::string> paths;
  for (const auto& node : *nodes) paths.push_back(node.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia0",
                                             "/dev/nvidia2", "/dev/nvidia10", "/dev/nvidiactl"}));
  const auto& gpu = (*nodes)[1];
  EXPECT_EQ(gpu.major, 195u);
  EXPECT_EQ(gpu.mode, 0660u);
  EXPECT_EQ(gpu.owner_group, "video");
  EXPECT_TRUE(gpu.usable.is(true));
  EXPECT_EQ(gpu.refusal, "");
}

TEST(DeviceNodes, TellTheModeFromTheControlGroup) {
  RefusingSystem system;
  system.add_device("/dev/nvidia0", 195, 0, 0660, 0, 44);
  system.add_device("/dev/nvidiactl", 195, 255);
  system.who = {1000, 1000, {}};
  system.refused = "/dev/nvidiactl";
  const auto nodes = read_device_nodes(system);
  EXPECT_TRUE((*nodes)[0].usable.is(false));
  EXPECT_EQ((*nodes)[0].refusal, "mode");
  EXPECT_TRUE((*nodes)[1].usable.is(false));
  EXPECT_EQ((*nodes)[1].refusal, "cgroup");
}

TEST(DeviceNodes, KeepOtherRefusalsUnknown) {
  RefusingSystem system;
  system.add_device("/dev/nvidiactl", 195, 255);
  system.refused = "/dev/nvidiactl";
  system.code = ENOSYS;
  const auto nodes = read_device_nodes(system);
  EXPECT_TRUE(nodes->front().usable.is_unknown());
  EXPECT_EQ(nodes->front().refusal, "Operation not permitted");
}

TEST(DeviceNodes, AreAnEmptyListWithoutDriver) {
  MemorySystem system;
  EXPECT_TRUE(read_device_nodes(system).is_unknown()) << "no /dev in this tree";
  system.add_device("/dev/null", 1, 3);
  const auto nodes = read_device_nodes(system);
  ASSERT_TRUE(nodes.is_known());
  EXPECT_TRUE(nodes->empty());
}

TEST(NodeHelper, CountsOnlyWithTheSetuidBit) {
  MemorySystem system;
  EXPECT_TRUE(read_node_helper(system).is(false));
  system.add_file("/usr/bin/nvidia-modprobe", "", 0755);
  EXPECT_TRUE(read_node_helper(system).is(false));
  system.add_file("/usr/bin/nvidia-modprobe", "", 04755);
  EXPECT_TRUE(read_node_helper(system).is(true));
}

TEST(NaturalOrder, ComparesRunsOfDigitsAsNumbers) {
  EXPECT_TRUE(natural_less("6.8.0-49-generic", "6.8.0-101-generic"));
  EXPECT_TRUE(natural_less("6.8.0-49-generic", "6.11.0-9-generic"));
  EXPECT_TRUE(natural_less("6.1.0-9-amd64", "6.1.0-27-amd64"));
  EXPECT_FALSE(natural_less("6.1.0-27-amd64", "6.1.0-27-amd64"));
  EXPECT_TRUE(natural_less("6.1.0-27", "6.1.0-27-amd64"));
}

// -------------------------------------------------------------------- kernel log

TEST(KernelLog, KeepsTheLinesAboutTheGpu) {
  constexpr const char* kLog =
      "<6>[    0.157425] pci 0000:00:06.0: BAR 0 [mem 0x104002000000-0x104002ffffff 64bit pref]\n"
      "<6>[    0.156481] pci 0000:00:06.0: [10de:2335] type 00 class 0x030200 PCIe Endpoint\n"
      "<6>[    0.200000] pci 0000:01:00.0: BAR 1 [mem size 0x800000000 64bit pref]: failed to "
      "assign\n"
      "<5>[    0.300000] random: crng init done\n"
      "<4>[    0.513680] nvidia: loading out-of-tree module taints kernel.\n"
      "<4>[    1.000000] NVRM: Xid (PCI:0000:00:06): 79, GPU has fallen off the bus.\n"
      "<4>[    2.000000] Lockdown: modprobe: unsigned module loading is restricted\n";
  const auto found = gpu_lines(kLog);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0],
            "[    0.156481] pci 0000:00:06.0: [10de:2335] type 00 class 0x030200 PCIe Endpoint");
  EXPECT_EQ(found[2], "[    0.513680] nvidia: loading out-of-tree module taints kernel.");
}

// A region that found no room, and the line that tells whether a later round found some.
TEST(KernelLog, FollowsARegionThatFoundNoRoom) {
  constexpr const char* kLog =
      "[    1.0] pci 0000:1e:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]\n"
      "[    1.1] pci 0000:1f:00.0: BAR 0: assigned [mem 0xb8000000-0xb80fffff]\n"
      "[    1.2] pci 0000:1e:00.0: BAR 1: assigned [mem 0x3f000000000-0x3f7ffffffff 64bit pref]\n"
      "[    2.0] INFO: task python3:4711 blocked for more than 122 seconds.\n";
  const auto found = gpu_lines(kLog);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NE(found[1].find("0000:1e:00.0: BAR 1: assigned"), std::string::npos);
  EXPECT_NE(found[2].find("blocked for more than"), std::string::npos);
}

TEST(KernelLog, KeepsTheNewestOfMany) {
  const auto found = gpu_lines("NVRM: one\nNVRM: two\nNVRM: three\n", 2);
  EXPECT_EQ(found, (std::vector<std::string>{"NVRM: two", "NVRM: three"}));
}

TEST(KernelLog, IsUnknownToAnOrdinaryUserOfARestrictedKernel) {
  MemorySystem system;
  system.log_error = EPERM;
  const auto log = probe(system).kernel_log;
  ASSERT_TRUE(log.is_unknown());
  EXPECT_NE(log.reason().find("dmesg_restrict"), std::string::npos);
}

// ---------------------------------------------------------------------- packages

constexpr const char* kDpkg =
    "Package: adduser\nStatus: install ok installed\nVersion: 3.134\n"
    "Description: Package: nvidia-driver-999 in a text is no field\n\n"
    "Package: libnvidia-compute-550\nStatus: install ok installed\nArchitecture: amd64\n"
    "Version: 550.54.14-0ubuntu1\n\n"
    "Package: libnvidia-compute-550\nStatus: install ok installed\nArchitecture: i386\n"
    "Version: 550.54.14-0ubuntu1\n\n"
    "Package: nvidia-dkms-550\nStatus: install ok half-configured\nVersion: 550.54.14-0ubuntu1\n\n"
    "Package: nvidia-driver-535\nStatus: deinstall ok config-files\nVersion: 535.183.01-0ubuntu1\n";

TEST(Packages, AreTheDriversThatAreOnTheDisk) {
  EXPECT_EQ(parse_driver_packages(kDpkg),
            (std::vector<std::string>{"libnvidia-compute-550 550.54.14-0ubuntu1",
                                      "nvidia-dkms-550 550.54.14-0ubuntu1 (half-configured)"}));
}

TEST(Packages, AreFoundAcrossThePiecesOfALargeFile) {
  MemorySystem system;
  std::string status;
  std::size_t expected = 0;
  while (status.size() < (1u << 20)) {
    status += "Package: filler\nStatus: install ok installed\nVersion: 1\nDescription: " +
              std::string(1000 + status.size() % 977, 'x') + "\n\n";
    status += "Package: nvidia-part-" + std::to_string(++expected) +
              "\nStatus: install ok installed\nVersion: 1\n\n";
  }
  system.add_file("/var/lib/dpkg/status", status);
  const auto packages = probe(system).packages;
  ASSERT_TRUE(packages.is_known());
  EXPECT_EQ(packages->size(), expected);
}

TEST(Packages, AreUnknownUnderRpm) {
  MemorySystem system;
  EXPECT_TRUE(probe(system).packages.is_absent());
  system.add_file("/var/lib/rpm/rpmdb.sqlite", "");
  EXPECT_TRUE(probe(system).packages.is_unknown());
}

TEST(Packages, LoseEpochAndRevision) {
  EXPECT_EQ(upstream_version("1:550.54.15-0ubuntu1"), "550.54.15");
  EXPECT_EQ(upstream_version("550.54.15-1"), "550.54.15");
  EXPECT_EQ(upstream_version("580.65.06"), "580.65.06");
}

// ----------------------------------------------------------------------- daemons

TEST(PersistenceDaemon, NeedsALivingProcessBehindItsPidFile) {
  MemorySystem system;
  system.add_file("/run/nvidia-persistenced/nvidia-persistenced.pid", "812\n");
  EXPECT_TRUE(probe(system).persistence_daemon.is(false));
  system.add_file("/proc/812/comm", "nvidia-persiste\n");
  EXPECT_TRUE(probe(system).persistence_daemon.is(true));
}

TEST(PersistenceDaemon, IsUnknownInsideAContainerWithoutItsSocket) {
  MemorySystem system;
  system.add_file("/proc/version", "Linux\n");
  EXPECT_TRUE(probe(system).persistence_daemon.is(false));
  Machine inside;
  inside.host.container = Fact<std::string>::known("docker", "/.dockerenv");
  EXPECT_TRUE(probe(system, inside).persistence_daemon.is_unknown());
}

TEST(FabricManager, IsLookedForAmongProcessesWhenInstalled) {
  MemorySystem system;
  EXPECT_TRUE(probe(system).fabric_manager_running.is_absent());
  system.add_file("/usr/bin/nv-fabricmanager", "", 0755);
  system.add_file("/proc/1/comm", "systemd\n");
  system.add_file("/var/lib/dpkg/status",
                  "Package: nvidia-fabricmanager-550\nStatus: install ok installed\n"
                  "Version: 550.54.15-1\n\n");
  auto driver = probe(system);
  EXPECT_TRUE(driver.fabric_manager_running.is(false));
  EXPECT_TRUE(driver.fabric_manager_version.is(Version::of("550.54.15")));
  system.add_file("/proc/990/comm", "nv-fabricmanage\n");
  EXPECT_TRUE(probe(system).fabric_manager_running.is(true));
}

}  // namespace
}  // namespace gpuwright
