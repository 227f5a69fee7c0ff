#include <gtest/gtest.h>

#include "diagnose/ladder.h"
#include "diagnose/machines.h"

namespace gpuwright {
namespace {

Diagnosis diagnosis_of(const Machine& machine, const DiagnoseOptions& options = {}) {
  return diagnose(machine, Catalog::built_in(), options);
}

RungResult rung_of(const Diagnosis& diagnosis, Rung rung) {
  return diagnosis.rungs.at(static_cast<std::size_t>(rung));
}

Framework torch() {
  Framework framework;
  framework.name = "torch";
  framework.version = known(Version::of("2.5.1"));
  framework.build = text("cuda");
  framework.build_cuda = known(Version::of("12.1"));
  framework.targets = known(std::vector<std::string>{"sm_80", "sm_86"});
  framework.opener = text("/x/libtorch_cuda.so");
  return framework;
}

TEST(Diagnose, IsRightOnAHealthyMachineWithoutAFramework) {
  const auto diagnosis = diagnosis_of(healthy_machine());
  EXPECT_EQ(diagnosis.outcome, Outcome::kRight);
  EXPECT_EQ(diagnosis.verdict,
            "All right up to CUDA: NVIDIA GeForce RTX 3090, driver 535.261.03; no deep-learning "
            "framework is in /usr/bin/python3.");
  EXPECT_EQ(rung_of(diagnosis, Rung::kFramework).state, RungState::kNotApplicable);
  EXPECT_EQ(rung_of(diagnosis, Rung::kWork).state, RungState::kNotJudged);
}

TEST(Diagnose, NamesTheFrameworksThatWillUseTheGpu) {
  Machine machine = healthy_machine();
  machine.frameworks = {torch()};
  EXPECT_EQ(diagnosis_of(machine).verdict,
            "All right: torch 2.5.1 will use 1 GPU (NVIDIA GeForce RTX 3090).");
}

TEST(Diagnose, KnowsNothingAboutAMachineThatNobodyLookedAt) {
  const auto diagnosis = diagnosis_of(Machine{});
  EXPECT_EQ(diagnosis.outcome, Outcome::kUndecided);
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_TRUE(diagnosis.verdict.starts_with("Cannot tell: "));
  EXPECT_EQ(rung_of(diagnosis, Rung::kHardware).state, RungState::kUnknown);
}

TEST(Diagnose, LeavesOutConsequencesOfALowerError) {
  Machine machine = machine_without_module();
  machine.driver.libraries = known(std::vector<DriverLibrary>{});
  machine.frameworks = {torch()};
  const auto diagnosis = diagnosis_of(machine);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].id, "driver.module-not-loaded");
  EXPECT_EQ(rung_of(diagnosis, Rung::kDriver).state, RungState::kBroken);
  EXPECT_EQ(rung_of(diagnosis, Rung::kCuda).state, RungState::kFollows);
  EXPECT_EQ(rung_of(diagnosis, Rung::kCuda).because, Rung::kDriver);
  EXPECT_EQ(rung_of(diagnosis, Rung::kFramework).because, Rung::kDriver);
  EXPECT_EQ(rung_of(diagnosis, Rung::kPython).state, RungState::kRight);
}

TEST(Diagnose, KeepsFaultsOfTheirOwnBesideALowerError) {
  Machine machine = machine_without_module();
  machine.frameworks = {torch()};
  machine.frameworks[0].build = text("cpu");
  const auto diagnosis = diagnosis_of(machine);
  ASSERT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_EQ(diagnosis.findings[1].id, "framework.cpu-build");
  EXPECT_EQ(rung_of(diagnosis, Rung::kFramework).state, RungState::kBroken);
}

TEST(Diagnose, TakesAPromiseBackOverAnUnknownLink) {
  Machine machine = healthy_machine();
  machine.frameworks = {torch()};
  machine.hardware.gpus.edit()[0].driver = Fact<std::string>::unknown("/sys", "Permission denied");
  const auto diagnosis = diagnosis_of(machine);
  EXPECT_EQ(diagnosis.outcome, Outcome::kUndecided);
  EXPECT_EQ(diagnosis.frameworks.at(0).answer, Answer::kCannotTell);
}

TEST(Diagnose, IsSureOfAnErrorWhateverIsUnknownAboveIt) {
  Machine machine = machine_without_module();
  machine.driver.libraries = Fact<std::vector<DriverLibrary>>::unknown("loader", "no program");
  machine.cuda.library_path = Fact<std::vector<PathElement>>::unknown("environment", "denied");
  const auto diagnosis = diagnosis_of(machine);
  EXPECT_EQ(diagnosis.outcome, Outcome::kProblems);
  EXPECT_TRUE(diagnosis.verdict.starts_with("Broken at driver: ")) << diagnosis.verdict;
}

TEST(Diagnose, StaysRightOverUnknownsOfMereAdvice) {
  Machine machine = healthy_machine();
  machine.hardware.gpus.edit()[0].class_code = "0x030200";
  machine.driver.persistence_daemon = Fact<bool>::unknown("/run", "denied");
  machine.driver.newest_kernel = Fact<std::string>::unknown("/lib/modules", "denied");
  EXPECT_EQ(diagnosis_of(machine).outcome, Outcome::kRight);
}

TEST(Diagnose, CountsWarningsInTheVerdict) {
  Machine machine = healthy_machine();
  machine.frameworks = {torch()};
  machine.hardware.gpus.edit()[0].link_width = known<std::uint64_t>(4);
  EXPECT_EQ(diagnosis_of(machine).verdict,
            "All right: torch 2.5.1 will use 1 GPU (NVIDIA GeForce RTX 3090); 1 warning.");
}

TEST(Diagnose, TellsOneFactThatLeavesManyRulesOpenOnce) {
  Machine machine = machine_without_module();
  machine.host.container = Fact<std::string>::unknown("/proc/1/environ", "Permission denied");
  std::size_t times = 0;
  for (const auto& open : diagnosis_of(machine).undecided)
    for (const auto& evidence : open.missing)
      times += evidence.text.starts_with("container: unknown") ? 1 : 0;
  EXPECT_EQ(times, 1u);
}

TEST(DiagnoseOnly, ReportsOneRungInTheLightOfThoseBelow) {
  DiagnoseOptions options;
  options.only = {Rung::kCuda};
  const auto diagnosis = diagnosis_of(machine_without_module(), options);
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_EQ(rung_of(diagnosis, Rung::kCuda).state, RungState::kFollows);
  EXPECT_EQ(rung_of(diagnosis, Rung::kDriver).state, RungState::kNotJudged);
  EXPECT_EQ(diagnosis.outcome, Outcome::kProblems);
  EXPECT_EQ(diagnosis.verdict,
            "Nothing of its own is wrong with cuda, but it cannot work: driver is broken.");
}

TEST(DiagnoseOneFramework, SaysThatItIsNotInstalled) {
  DiagnoseOptions options;
  options.framework = "tensorflow";
  Machine machine = healthy_machine();
  machine.frameworks = {torch()};
  const auto diagnosis = diagnosis_of(machine, options);
  EXPECT_EQ(diagnosis.outcome, Outcome::kProblems);
  EXPECT_EQ(diagnosis.verdict, "tensorflow is not installed in /usr/bin/python3.");
}

TEST(Diagnose, GivesTheSameForTheSame) {
  Machine machine = machine_without_module();
  machine.frameworks = {torch()};
  const auto first = diagnosis_of(machine), second = diagnosis_of(machine);
  EXPECT_EQ(first.verdict, second.verdict);
  EXPECT_EQ(first.findings, second.findings);
}

TEST(Ladder, FilesDoNotDependOnTheMachine) {
  EXPECT_TRUE(depends_on(Rung::kFramework, Rung::kDriver));
  EXPECT_TRUE(depends_on(Rung::kCuda, Rung::kHost));
  EXPECT_FALSE(depends_on(Rung::kLibraries, Rung::kDriver));
  EXPECT_FALSE(depends_on(Rung::kPython, Rung::kHost));
  EXPECT_FALSE(depends_on(Rung::kDriver, Rung::kCuda));
}

}  // namespace
}  // namespace gpuwright
