#include "diagnose/framework.h"

#include <gtest/gtest.h>

#include "frameworks.h"
#include "machines.h"

namespace gpuwright {
namespace {

using Texts = std::vector<std::string>;

CodeFit fit(const Texts& targets, const char* capability) {
  return code_fit(targets, Version::of(capability));
}

TEST(CodeFit, MachineCodeRunsOnItsMajorFromItsMinorOn) {
  EXPECT_EQ(fit({"sm_80"}, "8.0"), CodeFit::kMachineCode);
  EXPECT_EQ(fit({"sm_80"}, "8.9"), CodeFit::kMachineCode);
  EXPECT_EQ(fit({"sm_86"}, "8.0"), CodeFit::kNone);
  EXPECT_EQ(fit({"sm_80"}, "9.0"), CodeFit::kNone);
  EXPECT_EQ(fit({"sm_120"}, "12.1"), CodeFit::kMachineCode);
  EXPECT_EQ(fit({"sm_100"}, "12.0"), CodeFit::kNone);
}

TEST(CodeFit, PtxRunsOnAllThatIsNewer) {
  EXPECT_EQ(fit({"sm_80", "compute_90"}, "12.0"), CodeFit::kPtxOnly);
  EXPECT_EQ(fit({"compute_90"}, "9.0"), CodeFit::kPtxOnly);
  EXPECT_EQ(fit({"compute_90"}, "8.9"), CodeFit::kNone);
}

TEST(CodeFit, MachineCodeIsPreferredToPtx) {
  EXPECT_EQ(fit({"compute_50", "sm_90"}, "9.0"), CodeFit::kMachineCode);
}

TEST(CodeFit, ArchitectureSpecificCodeRunsOnThatGpuAlone) {
  EXPECT_EQ(fit({"sm_90a"}, "9.0"), CodeFit::kMachineCode);
  EXPECT_EQ(fit({"sm_100a"}, "10.3"), CodeFit::kNone);
  EXPECT_EQ(fit({"sm_100f"}, "10.3"), CodeFit::kMachineCode);
  EXPECT_EQ(fit({"compute_90a"}, "10.0"), CodeFit::kNone);
}

TEST(CodeFit, WhatIsNoTargetIsPassedOver) {
  EXPECT_EQ(fit({"", "sm_", "sm_x", "gfx90a", "sm_9"}, "9.0"), CodeFit::kNone);
  EXPECT_EQ(fit({}, "9.0"), CodeFit::kNone);
}

TEST(ReachableGpus, AreThoseOfTheDriverWithANode) {
  auto machine = machine_with_gpus(3);
  EXPECT_EQ(reachable_gpus(machine).gpus.size(), 3U);
  std::erase_if(machine.driver.nodes.edit(),
                [](const auto& node) { return node.path == "/dev/nvidia1"; });
  const auto reachable = reachable_gpus(machine);
  ASSERT_EQ(reachable.gpus.size(), 2U);
  EXPECT_EQ(reachable.gpus[1].address, "0000:03:00.0");
  EXPECT_TRUE(reachable.count_known);
}

TEST(ReachableGpus, AreTheNodesWhereTheDriverListsNone) {
  auto machine = machine_with_gpus(2);
  machine.hardware.driver_gpus = Fact<std::vector<DriverGpu>>::absent("/proc/driver/nvidia/gpus");
  const auto reachable = reachable_gpus(machine);
  ASSERT_EQ(reachable.gpus.size(), 2U);
  EXPECT_EQ(reachable.gpus[0].address, "/dev/nvidia0");
}

TEST(ReachableGpus, AreNotCountedWithoutNodesOrUnderWsl) {
  auto machine = machine_with_gpus(1);
  machine.driver.nodes = Fact<std::vector<DeviceNode>>::unknown("/dev", "permission denied");
  EXPECT_FALSE(reachable_gpus(machine).count_known);
  machine = machine_with_gpus(0);
  machine.hardware.driver_gpus = Fact<std::vector<DriverGpu>>::absent("test");
  machine.host.wsl = known<std::uint64_t>(2);
  EXPECT_FALSE(reachable_gpus(machine).count_known);
}

FrameworkAnswer answer_of(const Machine& machine) {
  const auto diagnosis = diagnose(machine, Catalog::built_in());
  EXPECT_EQ(diagnosis.frameworks.size(), 1U);
  return diagnosis.frameworks.at(0);
}

TEST(Answer, SoundFrameworksUseTheGpu) {
  for (const auto& framework : {sound_tensorflow(), sound_torch(), sound_jax()}) {
    const auto answer = answer_of(machine_with(framework));
    EXPECT_EQ(answer.answer, Answer::kUses) << framework.name << ": " << answer.because;
    EXPECT_EQ(answer.gpus, Texts{"0 (NVIDIA GeForce RTX 3090, 0000:01:00.0)"});
    EXPECT_EQ(answer.confidence, "high");
  }
}

TEST(Answer, VisibleDevicesGiveTheOrder) {
  auto machine = machine_with_gpus(3);
  machine.frameworks = {sound_torch()};
  machine.cuda.variables["CUDA_VISIBLE_DEVICES"] = "2,0";
  const auto answer = answer_of(machine);
  ASSERT_EQ(answer.gpus.size(), 2U);
  EXPECT_NE(answer.gpus[0].find("0000:03:00.0"), std::string::npos);
  EXPECT_NE(answer.gpus[1].find("0000:01:00.0"), std::string::npos);
}

TEST(Answer, IndicesAmongUnlikeGpusAreNotCertain) {
  auto machine = machine_with_gpus(2);
  machine.hardware.driver_gpus.edit()[1].model = text("NVIDIA T4");
  machine.frameworks = {sound_torch()};
  machine.cuda.variables["CUDA_VISIBLE_DEVICES"] = "1";
  EXPECT_EQ(answer_of(machine).confidence, "medium");
  machine.cuda.variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  EXPECT_EQ(answer_of(machine).confidence, "high");
}

TEST(Answer, WhatEndsTheQuestionForOneFrameworkComesBeforeTheMachine) {
  auto framework = sound_torch();
  framework.build = text("cpu");
  framework.build_cuda = Fact<Version>::absent("test");
  auto machine = machine_without_module();
  machine.frameworks = {framework};
  const auto answer = answer_of(machine);
  EXPECT_EQ(answer.answer, Answer::kDoesNot);
  EXPECT_EQ(answer.finding_id, "framework.cpu-build");
}

TEST(Answer, BrokenMachineComesBeforeMissingLibraries) {
  auto machine = machine_without_module();
  machine.frameworks = {without(sound_tensorflow(), "libcufft.so.11")};
  const auto answer = answer_of(machine);
  EXPECT_EQ(answer.answer, Answer::kDoesNot);
  EXPECT_TRUE(answer.finding_id.starts_with("driver.")) << answer.finding_id;
}

TEST(Answer, UnknownOnTheWayIsCannotTell) {
  auto framework = sound_tensorflow();
  library(framework, "libcufft.so.11").state = "unknown";
  library(framework, "libcufft.so.11").error = "permission denied";
  auto answer = answer_of(machine_with(framework));
  EXPECT_EQ(answer.answer, Answer::kCannotTell);
  EXPECT_NE(answer.because.find("libcufft.so.11"), std::string::npos);

  framework = sound_tensorflow();
  framework.opener = Fact<std::string>::unknown("/env/tensorflow", "no object defines it");
  EXPECT_EQ(answer_of(machine_with(framework)).answer, Answer::kCannotTell);

  framework = sound_tensorflow();
  framework.build = Fact<std::string>::unknown("build_info.py", "permission denied");
  EXPECT_EQ(answer_of(machine_with(framework)).answer, Answer::kCannotTell);
}

TEST(Answer, MissingNvmlIsCannotTellWhereItsNeedIsUnknown) {
  auto framework = sound_jax();
  framework.needs_nvml = Fact<bool>::unknown("catalogue", "no row for this release");
  framework.libraries.push_back(found("libnvidia-ml.so.1", "optional", "/usr/lib"));
  EXPECT_EQ(answer_of(machine_with(framework)).answer, Answer::kUses);
  framework = without(framework, "libnvidia-ml.so.1");
  EXPECT_EQ(answer_of(machine_with(framework)).answer, Answer::kCannotTell);
  framework.needs_nvml = known(false);
  EXPECT_EQ(answer_of(machine_with(framework)).answer, Answer::kUses);
}

// A library that is certainly missing decides, whatever else is unknown.
TEST(Answer, CertainMissDecidesBesideAnUnknown) {
  auto framework = without(sound_tensorflow(), "libcudnn.so.9");
  library(framework, "libcufft.so.11").state = "unknown";
  const auto answer = answer_of(machine_with(framework));
  EXPECT_EQ(answer.answer, Answer::kDoesNot);
  EXPECT_EQ(answer.finding_id, "framework.libraries-missing");
}

TEST(Answer, UnknownVisibleDevicesAreCannotTell) {
  auto machine = machine_with(sound_torch());
  machine.cuda.variables["CUDA_VISIBLE_DEVICES"] = "MIG-1234";
  EXPECT_EQ(answer_of(machine).answer, Answer::kCannotTell);
}

TEST(Answer, MixedCudnnIsACaveatAndNoDecision) {
  auto framework = sound_tensorflow();
  framework.libraries.push_back(found("libcudnn_ops.so.9", "sub-library", "/opt/cudnn"));
  framework.libraries.back().version = known(Version::of("9.1.0"));
  const auto answer = answer_of(machine_with(framework));
  EXPECT_EQ(answer.answer, Answer::kUses);
  EXPECT_FALSE(answer.caveats.empty());
}

}  // namespace
}  // namespace gpuwright
