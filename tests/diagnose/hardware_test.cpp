#include <gtest/gtest.h>

#include "diagnose/machines.h"

namespace gpuwright {
namespace {

constexpr const char* kNoGpu = "hardware.no-gpu";
constexpr const char* kFewer = "hardware.gpu-fewer-in-driver";
constexpr const char* kBound = "hardware.bound-to-other-driver";

Machine machine_without_gpu() {
  Machine machine = machine_without_module();
  machine.hardware.gpus = known(std::vector<PciGpu>{});
  return machine;
}

TEST(NoGpu, IsUndecidedWhenTheBusCannotBeRead) {
  Machine machine = machine_without_gpu();
  machine.hardware.gpus = Fact<std::vector<PciGpu>>::unknown("/sys", "Permission denied");
  EXPECT_TRUE(is_undecided(judge(kNoGpu, machine)));
}

TEST(NoGpu, IsUndecidedWhenItMayBeAContainer) {
  Machine machine = machine_without_gpu();
  machine.host.container = Fact<std::string>::unknown("/proc/1/environ", "Permission denied");
  EXPECT_TRUE(is_undecided(judge(kNoGpu, machine)));
}

TEST(NoGpu, BelievesANodeMoreThanAnEmptyBus) {
  Machine machine = machine_without_gpu();
  machine.driver.nodes = known(std::vector<DeviceNode>{healthy_node("/dev/nvidia0")});
  EXPECT_TRUE(is_fine(judge(kNoGpu, machine)));
}

TEST(NoGpu, LetsNodesDecideInContainersWhereNoBusIsSeen) {
  Machine machine = machine_without_gpu();
  machine.host.container = text("docker");
  machine.hardware.gpus = Fact<std::vector<PciGpu>>::unknown("/sys", "No such file or directory");
  EXPECT_EQ(finding_of(judge(kNoGpu, machine)).severity, Severity::kError);
  machine.driver.nodes = Fact<std::vector<DeviceNode>>::unknown("/dev", "Permission denied");
  EXPECT_TRUE(is_undecided(judge(kNoGpu, machine)));
}

TEST(NoGpu, DoesNotTakeTheControlNodeForAGpu) {
  Machine machine = machine_without_gpu();
  machine.driver.nodes = known(std::vector<DeviceNode>{healthy_node("/dev/nvidiactl")});
  EXPECT_EQ(findings_of(judge(kNoGpu, machine)).size(), 1u);
}

TEST(NoGpu, LeavesWsl1ToTheHostRung) {
  Machine machine = machine_without_gpu();
  machine.host.wsl = known<std::uint64_t>(1);
  const auto diagnosis = diagnose(machine, Catalog::built_in());
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].id, "host.wsl1");
}

TEST(FewerInDriver, IsUndecidedWhenTheDriversListCannotBeRead) {
  Machine machine = healthy_machine();
  machine.hardware.driver_gpus = Fact<std::vector<DriverGpu>>::unknown("/proc", "hidden");
  EXPECT_TRUE(is_undecided(judge(kFewer, machine)));
}

TEST(FewerInDriver, IsSilentAboutAGpuThatTheCatalogueDoesNotKnow) {
  Machine machine = machine_without_module();
  machine.hardware.gpus.edit()[0].device_id = "ffff";
  EXPECT_TRUE(does_not_apply(judge(kFewer, machine)));
}

TEST(FewerInDriver, BelievesTheDriverMoreThanTheCatalogue) {
  Machine machine = healthy_machine();
  machine.driver.module_version = known(Version::of("999.1.1"));
  machine.hardware.gpus.edit()[0].device_id = "1c82";  // Pascal, dropped after 580
  EXPECT_TRUE(is_fine(judge(kFewer, machine)));
}

TEST(FewerInDriver, WarnsWhileAnotherGpuWorks) {
  Machine machine = healthy_machine();
  machine.hardware.gpus.edit().push_back(healthy_gpu("0000:02:00.0", "2204"));
  const Finding finding = finding_of(judge(kFewer, machine));
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.subject, "0000:02:00.0");
  EXPECT_EQ(finding.certainty, Certainty::kPossible);
}

TEST(FewerInDriver, CountsAnExcludedGpuAsNotListed) {
  Machine machine = healthy_machine();
  machine.hardware.driver_gpus.edit()[0].excluded = known(true);
  EXPECT_EQ(findings_of(judge(kFewer, machine)).size(), 1u);
}

TEST(FewerInDriver, GivesOneFindingForEachKindOfReason) {
  Machine machine = machine_without_module();
  auto& file = machine.driver.module_files.edit()[0];
  file.version = known(Version::of("595.71.05"));
  file.flavour = text("proprietary");
  machine.hardware.gpus = known(std::vector<PciGpu>{healthy_gpu("0000:01:00.0", "1c82"),
                                                    healthy_gpu("0000:02:00.0", "1c82"),
                                                    healthy_gpu("0000:03:00.0", "2b85")});
  const auto findings = findings_of(judge(kFewer, machine));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].subject, "0000:01:00.0, 0000:02:00.0");
  EXPECT_EQ(findings[1].subject, "0000:03:00.0");
  EXPECT_NE(findings[0].statement.find("580"), std::string::npos);
  EXPECT_TRUE(findings[0].fix.at(0).command.starts_with("sudo apt install")) << "Pascal alone";
}

TEST(BoundToOtherDriver, LeavesNouveauWithoutALoadedModuleToTheDriverRung) {
  Machine machine = machine_without_module();
  machine.hardware.gpus.edit()[0].driver = text("nouveau");
  EXPECT_TRUE(is_fine(judge(kBound, machine)));
  machine.driver.module_version = known(Version::of("535.261.03"));
  EXPECT_EQ(findings_of(judge(kBound, machine)).size(), 1u);
}

TEST(BoundToOtherDriver, IsUndecidedWhenTheLinkCannotBeRead) {
  Machine machine = healthy_machine();
  machine.hardware.gpus.edit()[0].driver = Fact<std::string>::unknown("/sys", "Permission denied");
  EXPECT_TRUE(is_undecided(judge(kBound, machine)));
}

TEST(NarrowLink, IsSilentWithoutBothWidths) {
  Machine machine = healthy_machine();
  auto& gpu = machine.hardware.gpus.edit()[0];
  gpu.link_width = known<std::uint64_t>(8);
  gpu.link_width_max = Fact<std::uint64_t>::unknown("/sys", "reads '255'");
  EXPECT_TRUE(is_fine(judge("hardware.link-narrow", machine)));
  gpu.link_width_max = known<std::uint64_t>(16);
  EXPECT_EQ(finding_of(judge("hardware.link-narrow", machine)).severity, Severity::kWarning);
}

}  // namespace
}  // namespace gpuwright
