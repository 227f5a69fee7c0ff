#include <gtest/gtest.h>

#include "diagnose/machines.h"

namespace gpuwright {
namespace {

constexpr const char* kMismatch = "driver.version-mismatch";
constexpr const char* kNodes = "driver.nodes-missing";
constexpr const char* kPermission = "driver.nodes-not-permitted";

// ------------------------------------------------------------------------------- module

TEST(ModuleRules, SayNothingWhenTheModuleIsLoaded) {
  const Machine machine = healthy_machine();
  for (const char* id :
       {"driver.not-installed", "driver.module-missing-for-kernel", "driver.module-refused",
        "driver.nouveau-in-the-way", "driver.module-not-loaded"})
    EXPECT_TRUE(is_fine(judge(id, machine))) << id;
}

TEST(ModuleRules, DoNotApplyWhereTheKernelIsSomebodyElses) {
  Machine machine = machine_without_module();
  machine.host.container = text("podman");
  EXPECT_TRUE(does_not_apply(judge("driver.module-not-loaded", machine)));
  machine = machine_without_module();
  machine.host.wsl = known<std::uint64_t>(2);
  EXPECT_TRUE(does_not_apply(judge("driver.not-installed", machine)));
}

TEST(ModuleRules, TakeTheListOfModulesWhereTheVersionIsUnreadable) {
  Machine machine = healthy_machine();
  machine.driver.module_version = Fact<Version>::unknown("/proc", "Permission denied");
  EXPECT_TRUE(is_fine(judge("driver.module-not-loaded", machine)));
  machine.driver.loaded_modules = Fact<std::vector<std::string>>::unknown("/proc", "denied");
  EXPECT_TRUE(is_undecided(judge("driver.module-not-loaded", machine)));
}

TEST(NotInstalled, IsUndecidedWhenModulesOnDiskCannotBeRead) {
  Machine machine = machine_without_module();
  machine.driver.packages = known(std::vector<std::string>{});
  machine.driver.libraries = known(std::vector<DriverLibrary>{});
  machine.driver.module_files = Fact<std::vector<ModuleFile>>::unknown("/lib/modules", "denied");
  EXPECT_TRUE(is_undecided(judge("driver.not-installed", machine)));
}

TEST(NotInstalled, DoesNotTakeAContainerToolkitForADriver) {
  Machine machine = machine_without_module();
  machine.driver.libraries = known(std::vector<DriverLibrary>{});
  machine.driver.module_files = known(std::vector<ModuleFile>{});
  machine.driver.packages =
      known(std::vector<std::string>{"nvidia-container-toolkit 1.17.8-1", "nvidia-modprobe 535-1"});
  EXPECT_EQ(findings_of(judge("driver.not-installed", machine)).size(), 1u);
}

TEST(ModuleMissing, IsUndecidedWithoutTheRunningKernel) {
  Machine machine = machine_without_module();
  machine.host.kernel_release = Fact<std::string>::unknown("uname", "denied");
  EXPECT_TRUE(is_undecided(judge("driver.module-missing-for-kernel", machine)));
}

TEST(ModuleRefused, NeedsTheKernelsWord) {
  Machine machine = machine_without_module();
  machine.host.secure_boot = known(true);
  EXPECT_TRUE(does_not_apply(judge("driver.module-refused", machine)));
  machine.driver.kernel_log = Fact<std::vector<std::string>>::unknown("kernel log", "restricted");
  EXPECT_TRUE(does_not_apply(judge("driver.module-refused", machine)));
  EXPECT_EQ(findings_of(judge("driver.module-not-loaded", machine)).size(), 1u);
}

TEST(ModuleRefused, TellsAnUnsignedModuleFromAnUnknownKey) {
  Machine machine = machine_without_module();
  machine.driver.kernel_log = known(std::vector<std::string>{
      "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7"});
  EXPECT_NE(finding_of(judge("driver.module-refused", machine)).statement.find("not signed"),
            std::string::npos);
}

TEST(NextKernel, IsSilentWhereEvenTheRunningKernelHasNoFile) {
  Machine machine = healthy_machine();
  machine.driver.module_files = known(std::vector<ModuleFile>{});
  machine.driver.newest_kernel = text("6.1.0-28-amd64");
  EXPECT_TRUE(does_not_apply(judge("driver.module-missing-for-next-kernel", machine)));
}

// ---------------------------------------------------------------------------- libraries

TEST(VersionMismatch, IsUndecidedWhenTheModulesVersionCannotBeRead) {
  Machine machine = healthy_machine();
  machine.driver.module_version =
      Fact<Version>::unknown("/proc/driver/nvidia/version", "Permission denied");
  EXPECT_TRUE(is_undecided(judge(kMismatch, machine)));
}

TEST(VersionMismatch, IsUndecidedWhenOneVersionIsMissingAndTheOtherAgrees) {
  Machine machine = healthy_machine();
  machine.driver.libraries.edit()[1].version = Fact<Version>::unknown("x", "no version in name");
  EXPECT_TRUE(is_undecided(judge(kMismatch, machine)));
}

TEST(VersionMismatch, SpeaksOfTheLibraryThatDiffersThoughTheOtherIsUnknown) {
  Machine machine = healthy_machine();
  machine.driver.libraries.edit()[0].version = known(Version::of("550.90.07"));
  machine.driver.libraries.edit()[1].version = Fact<Version>::unknown("x", "no version in name");
  EXPECT_EQ(finding_of(judge(kMismatch, machine)).statement,
            "the loaded module (535.261.03) and libcuda.so.1 (550.90.07) differ");
}

TEST(VersionMismatch, IgnoresCopiesThatNoProgramLoads) {
  Machine machine = healthy_machine();
  auto other = healthy_library("libcuda.so.1", "470.82.01");
  other.chosen = false;
  machine.driver.libraries.edit().push_back(other);
  EXPECT_TRUE(is_fine(judge(kMismatch, machine)));
}

TEST(VersionMismatch, LeavesCompatAndStubToTheirRules) {
  for (const char* kind : {"compat", "stub", "empty"}) {
    Machine machine = healthy_machine();
    machine.driver.libraries.edit()[0].version = known(Version::of("550.90.07"));
    machine.driver.libraries.edit()[0].kind = kind;
    EXPECT_TRUE(is_fine(judge(kMismatch, machine))) << kind;
  }
}

TEST(VersionMismatch, DoesNotApplyUnderWslAndGvisor) {
  Machine machine = healthy_machine();
  machine.driver.libraries.edit()[0].version = known(Version::of("550.90.07"));
  machine.host.wsl = known<std::uint64_t>(2);
  EXPECT_TRUE(does_not_apply(judge(kMismatch, machine)));
  machine.host.wsl = Fact<std::uint64_t>::absent("test");
  machine.host.sandbox = text("gvisor");
  EXPECT_TRUE(does_not_apply(judge(kMismatch, machine)));
}

TEST(VersionMismatch, TellsFromTheFileOnDiskWhetherARebootSuffices) {
  Machine machine = healthy_machine();
  machine.driver.libraries.edit()[0].version = known(Version::of("550.90.07"));
  auto& file = machine.driver.module_files.edit()[0];

  file.version = known(Version::of("550.90.07"));
  Finding finding = finding_of(judge(kMismatch, machine));
  EXPECT_EQ(finding.fix.at(0).command, "sudo reboot");
  EXPECT_EQ(finding.certainty, Certainty::kProven);

  file.version = known(Version::of("535.261.03"));
  finding = finding_of(judge(kMismatch, machine));
  EXPECT_EQ(finding.fix.at(0).command, "sudo apt install --reinstall nvidia-driver");

  file.version = Fact<Version>::unknown("x", "compressed");
  finding = finding_of(judge(kMismatch, machine));
  EXPECT_EQ(finding.fix.at(0).command, "sudo reboot");
  EXPECT_EQ(finding.certainty, Certainty::kLikely);
}

TEST(VersionMismatch, IsAWarningForTheManagementLibraryAlone) {
  Machine machine = healthy_machine();
  machine.driver.libraries.edit()[1].version = known(Version::of("550.90.07"));
  EXPECT_EQ(finding_of(judge(kMismatch, machine)).severity, Severity::kWarning);
}

TEST(LibrariesMissing, IsUndecidedWhenTheSearchCouldNotBeDone) {
  Machine machine = healthy_machine();
  machine.driver.libraries = Fact<std::vector<DriverLibrary>>::unknown("loader", "no program");
  EXPECT_TRUE(is_undecided(judge("driver.libraries-missing", machine)));
}

TEST(LibrariesMissing, DoesNotApplyWithoutAKernelSide) {
  Machine machine = machine_without_module();
  machine.driver.libraries = known(std::vector<DriverLibrary>{});
  EXPECT_TRUE(does_not_apply(judge("driver.libraries-missing", machine)));
}

TEST(LibrariesMissing, BlamesTheRequestOnlyWhenItLeavesTheLibraryOut) {
  Machine machine = healthy_machine();
  machine.host.container = text("docker");
  machine.driver.libraries = known(std::vector<DriverLibrary>{});
  for (const char* enough : {"all", "compute,utility", " utility , compute", ""}) {
    machine.cuda.variables["NVIDIA_DRIVER_CAPABILITIES"] = enough;
    const auto finding = finding_of(judge("driver.libraries-missing", machine));
    EXPECT_EQ(finding.statement.find("leaves it out"), std::string::npos) << enough;
  }
  machine.cuda.variables["NVIDIA_DRIVER_CAPABILITIES"] = "utility,video";
  const auto finding = finding_of(judge("driver.libraries-missing", machine));
  EXPECT_NE(finding.statement.find("leaves it out"), std::string::npos);
}

// -------------------------------------------------------------------------------- nodes

void remove_node(Machine& machine, std::string_view path) {
  std::erase_if(machine.driver.nodes.edit(), [&](const auto& node) { return node.path == path; });
}

TEST(NodesMissing, AreMadeOnDemandWhereTheHelperIs) {
  Machine machine = healthy_machine();
  machine.driver.nodes = known(std::vector<DeviceNode>{});
  EXPECT_TRUE(is_fine(judge(kNodes, machine)));
  machine.driver.node_helper = Fact<bool>::unknown("/usr/bin/nvidia-modprobe", "denied");
  EXPECT_TRUE(is_undecided(judge(kNodes, machine)));
  machine.driver.node_helper = known(false);
  EXPECT_EQ(findings_of(judge(kNodes, machine)).size(), 1u);
}

TEST(NodesMissing, TellsAnUnloadedUvmFromAMissingNode) {
  Machine machine = healthy_machine();
  machine.driver.node_helper = known(false);
  remove_node(machine, "/dev/nvidia-uvm");
  EXPECT_FALSE(has_command(finding_of(judge(kNodes, machine)), "sudo modprobe nvidia_uvm"));
  machine.driver.loaded_modules = known(std::vector<std::string>{"nvidia"});
  EXPECT_TRUE(has_command(finding_of(judge(kNodes, machine)), "sudo modprobe nvidia_uvm"));
}

TEST(NodesMissing, IsUndecidedWhenDevCannotBeRead) {
  Machine machine = healthy_machine();
  machine.driver.nodes = Fact<std::vector<DeviceNode>>::unknown("/dev", "Permission denied");
  EXPECT_TRUE(is_undecided(judge(kNodes, machine)));
}

void refuse(DeviceNode& node, const char* why) {
  node.usable = known(false);
  node.refusal = why;
}

TEST(NodesNotPermitted, IsUndecidedWhenThePermissionOfANeededNodeIsUnknown) {
  Machine machine = healthy_machine();
  machine.driver.nodes.edit()[2].usable = Fact<bool>::unknown("/dev/nvidiactl", "EIO");
  EXPECT_TRUE(is_undecided(judge(kPermission, machine)));
}

TEST(NodesNotPermitted, LetsABatchSystemHandOutSingleGpus) {
  Machine machine = healthy_machine();
  auto second = healthy_node("/dev/nvidia1");
  refuse(second, "cgroup");
  machine.driver.nodes.edit().push_back(second);
  EXPECT_TRUE(is_fine(judge(kPermission, machine)));
  refuse(machine.driver.nodes.edit()[0], "cgroup");
  EXPECT_EQ(findings_of(judge(kPermission, machine)).size(), 1u);
}

TEST(NodesNotPermitted, NamesTheGroupOnlyWhenTheGroupMayOpenThem) {
  Machine machine = healthy_machine();
  auto& control = machine.driver.nodes.edit()[2];
  refuse(control, "mode");
  control.mode = 0660;
  control.gid = 44;
  control.owner_group = "video";
  EXPECT_TRUE(
      has_command(finding_of(judge(kPermission, machine)), "sudo usermod -aG video \"$USER\""));
  control.mode = 0640;
  EXPECT_TRUE(has_command(finding_of(judge(kPermission, machine)), "sudo chmod 0666 /dev/nvidia*"));
}

// ----------------------------------------------------------------------------- services

TEST(FabricManager, DoesNotApplyWithoutNvswitch) {
  EXPECT_TRUE(does_not_apply(judge("driver.fabric-manager", healthy_machine())));
}

TEST(FabricManager, IsUndecidedWhenProcessesCannotBeSeen) {
  Machine machine = healthy_machine();
  machine.hardware.nvswitch = known(true);
  machine.driver.fabric_manager_running = Fact<bool>::unknown("/proc", "hidepid");
  EXPECT_TRUE(is_undecided(judge("driver.fabric-manager", machine)));
}

TEST(FabricManager, IsRightWhenItRunsAndItsVersionIsNotKnown) {
  Machine machine = healthy_machine();
  machine.hardware.nvswitch = known(true);
  machine.driver.fabric_manager_running = known(true);
  machine.driver.fabric_manager_version = Fact<Version>::unknown("/var/lib/rpm", "not read");
  EXPECT_TRUE(is_fine(judge("driver.fabric-manager", machine)));
}

TEST(Persistence, IsSilentWhereADesktopMayKeepTheGpuAwake) {
  Machine machine = healthy_machine();
  machine.driver.persistence_daemon = known(false);
  EXPECT_TRUE(does_not_apply(judge("driver.persistence-off", machine)));
  machine.hardware.gpus.edit()[0].class_code = "0x030200";
  EXPECT_EQ(finding_of(judge("driver.persistence-off", machine)).severity, Severity::kInfo);
}

TEST(Persistence, IsUndecidedWithoutTheLogThatWouldShowTheOlderMode) {
  Machine machine = healthy_machine();
  machine.driver.persistence_daemon = known(false);
  machine.hardware.gpus.edit()[0].class_code = "0x030200";
  machine.driver.kernel_log = Fact<std::vector<std::string>>::unknown("kernel log", "restricted");
  EXPECT_TRUE(is_undecided(judge("driver.persistence-off", machine)));
}

}  // namespace
}  // namespace gpuwright
