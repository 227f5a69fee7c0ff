#include <gtest/gtest.h>

#include "diagnose/machines.h"

namespace gpuwright {
namespace {

// What NVML says of the healthy machine's GPU, in its own form of the address.
Machine examined(NvmlGpu gpu = {}) {
  Machine machine = healthy_machine();
  gpu.address = "00000000:01:00.0";
  gpu.name = "NVIDIA GeForce RTX 3090";
  NvmlRun run;
  run.result = "NVML_SUCCESS";
  run.gpus = {gpu};
  machine.run.nvml = known(run);
  return machine;
}

constexpr const char* kHealthRules[] = {
    "hardware.gpu-lost",    "hardware.memory-errors", "hardware.memory-repair-pending",
    "hardware.memory-worn", "hardware.link-slow",     "hardware.slowed-down"};

TEST(Health, IsFineWhereAGpuSupportsNoneOfIt) {
  for (const char* id : kHealthRules) EXPECT_TRUE(is_fine(judge(id, examined()))) << id;
}

TEST(Health, IsNotJudgedWithoutNvmlAndLog) {
  Machine machine = healthy_machine();
  machine.driver.kernel_log = Fact<std::vector<std::string>>::unknown("kernel log", "restricted");
  for (const char* id : kHealthRules) EXPECT_TRUE(does_not_apply(judge(id, machine))) << id;
}

TEST(GpuLost, IsAnErrorWhenNoneIsLeft) {
  NvmlGpu gpu;
  gpu.error = "NVML_ERROR_GPU_IS_LOST (15)";
  EXPECT_EQ(finding_of(judge("hardware.gpu-lost", examined(gpu))).severity, Severity::kError);
  gpu.error = "NVML_ERROR_NO_PERMISSION (4)";
  EXPECT_TRUE(is_fine(judge("hardware.gpu-lost", examined(gpu))));
}

TEST(MemoryErrors, CountSinceTheDriverWasLoaded) {
  NvmlGpu gpu;
  gpu.ecc_uncorrected_aggregate = known<std::uint64_t>(7);
  EXPECT_TRUE(is_fine(judge("hardware.memory-errors", examined(gpu))));
  gpu.ecc_uncorrected_volatile = known<std::uint64_t>(2);
  EXPECT_EQ(finding_of(judge("hardware.memory-errors", examined(gpu))).certainty,
            Certainty::kProven);
}

TEST(MemoryErrors, OfTheLogAreOverWhenNvmlCountsNone) {
  NvmlGpu gpu;
  Machine machine = examined(gpu);
  machine.driver.kernel_log =
      known(std::vector<std::string>{"NVRM: Xid (PCI:0000:01:00): 48, pid=1, name=x, DBE"});
  EXPECT_EQ(finding_of(judge("hardware.memory-errors", machine)).certainty, Certainty::kLikely);
  machine.run.nvml.edit().gpus[0].ecc_uncorrected_volatile = known<std::uint64_t>(0);
  EXPECT_TRUE(is_fine(judge("hardware.memory-errors", machine)));
}

TEST(MemoryRepair, KnowsPagesAndRows) {
  NvmlGpu gpu;
  gpu.retirement_pending = known(true);
  EXPECT_EQ(findings_of(judge("hardware.memory-repair-pending", examined(gpu))).size(), 1u);
  NvmlGpu other;
  other.remap_failed = known(true);
  EXPECT_EQ(findings_of(judge("hardware.memory-worn", examined(other))).size(), 1u);
}

TEST(SlowLink, NeedsALoadedGpuAndBothGenerations) {
  NvmlGpu gpu;
  gpu.link_generation = known<std::uint64_t>(1);
  gpu.utilisation_percent = known<std::uint64_t>(95);
  EXPECT_TRUE(is_fine(judge("hardware.link-slow", examined(gpu))));
  gpu.link_generation_max = known<std::uint64_t>(4);
  EXPECT_EQ(findings_of(judge("hardware.link-slow", examined(gpu))).size(), 1u);
  gpu.utilisation_percent = known<std::uint64_t>(3);
  EXPECT_TRUE(is_fine(judge("hardware.link-slow", examined(gpu))));
}

TEST(SlowedDown, IsTheHardwaresBrakeAndNoCap) {
  NvmlGpu gpu;
  gpu.clock_reasons = known(std::vector<std::string>{"sw_power_cap", "sw_thermal"});
  EXPECT_TRUE(is_fine(judge("hardware.slowed-down", examined(gpu))));
  gpu.clock_reasons = known(std::vector<std::string>{"hw_power_brake"});
  EXPECT_NE(finding_of(judge("hardware.slowed-down", examined(gpu))).statement.find("brake"),
            std::string::npos);
}

// -------------------------------------------------------------------- modes of a GPU

TEST(Mps, IsNobodysBusinessWhereNobodyAskedForIt) {
  Machine machine = healthy_machine();
  EXPECT_TRUE(does_not_apply(judge("driver.mps-daemon-missing", machine)));
  machine.driver.mps_directory = known(std::string("/tmp/nvidia-mps"), "/tmp/nvidia-mps");
  machine.driver.mps_daemon = known(false);
  EXPECT_TRUE(does_not_apply(judge("driver.mps-daemon-missing", machine)));
}

TEST(Fabric, IsReadyWhereCudaStarts) {
  NvmlGpu gpu;
  gpu.fabric_state = text("in progress");
  Machine machine = examined(gpu);
  EXPECT_EQ(findings_of(judge("driver.fabric-not-ready", machine)).size(), 1u);
  DriverRun run;
  run.result = "CUDA_SUCCESS";
  machine.run.driver = known(run);
  EXPECT_TRUE(is_fine(judge("driver.fabric-not-ready", machine)));
}

TEST(Licence, IsNotAskedOfAWholeGpu) {
  Machine machine = healthy_machine();
  machine.driver.vgpu_guest = known(false);
  machine.driver.licence_configured = known(false);
  EXPECT_TRUE(does_not_apply(judge("driver.vgpu-unlicensed", machine)));
}

}  // namespace
}  // namespace gpuwright
