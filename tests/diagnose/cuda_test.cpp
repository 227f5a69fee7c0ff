#include <gtest/gtest.h>

#include "diagnose/machines.h"

namespace gpuwright {
namespace {

constexpr const char* kCompat = "cuda.compat-shadows-driver";
constexpr const char* kPath = "cuda.library-path-broken";

Machine machine_with_compat(const char* version) {
  Machine machine = healthy_machine();
  auto& library = machine.driver.libraries.edit()[0];
  library.kind = "compat";
  library.version = known(Version::of(version));
  return machine;
}

TEST(Compat, IsForbiddenOnGeforceAndAllowedOnDataCentreBoards) {
  Machine machine = machine_with_compat("550.54.15");
  EXPECT_EQ(findings_of(judge(kCompat, machine)).size(), 1u);
  machine.hardware.driver_gpus.edit()[0].model = text("NVIDIA A100-SXM4-80GB");
  EXPECT_TRUE(is_fine(judge(kCompat, machine)));
}

TEST(Compat, IsUndecidedForABoardThatIsNeither) {
  Machine machine = machine_with_compat("550.54.15");
  machine.hardware.driver_gpus.edit()[0].model = text("NVIDIA RTX A4000");
  EXPECT_TRUE(is_undecided(judge(kCompat, machine)));
}

TEST(Compat, IsUndecidedWithoutAVersion) {
  Machine machine = machine_with_compat("550.54.15");
  machine.driver.libraries.edit()[0].version = Fact<Version>::unknown("x", "no version");
  EXPECT_TRUE(is_undecided(judge(kCompat, machine)));
}

TEST(Compat, OlderThanTheModuleIsWrongOnEveryBoard) {
  Machine machine = machine_with_compat("525.60.13");
  machine.hardware.driver_gpus.edit()[0].model = text("NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(findings_of(judge(kCompat, machine)).size(), 1u);
}

PathElement element(const char* path, bool exists) {
  PathElement out;
  out.text = path;
  out.exists = exists;
  return out;
}

Verdict judge_path(std::vector<PathElement> elements) {
  Machine machine = healthy_machine();
  machine.cuda.library_path = known(std::move(elements));
  return judge(kPath, machine);
}

TEST(LibraryPath, WarnsOfWhatNoShellExpanded) {
  for (const char* path : {"/x/nvidia/*/lib", "~/cuda/lib64", "$CUDA_HOME/lib64"})
    EXPECT_EQ(finding_of(judge_path({element(path, false)})).severity, Severity::kWarning) << path;
}

TEST(LibraryPath, OnlyMentionsWhatIsNotThere) {
  EXPECT_EQ(finding_of(judge_path({element("/gone", false)})).severity, Severity::kInfo);
  EXPECT_EQ(finding_of(judge_path({element("", true)})).severity, Severity::kInfo);
}

TEST(LibraryPath, KnowsTheLoadersTokensAndTheImagesHabits) {
  EXPECT_TRUE(is_fine(judge_path({element("$ORIGIN/../lib", false), element("${LIB}", false),
                                  element("/usr/local/nvidia/lib", false)})));
}

TEST(LibraryPath, PrintsAnExportThatKeepsTheRestAndQuotesIt) {
  const auto finding =
      finding_of(judge_path({element("/opt/my libs", true), element("/gone", false)}));
  EXPECT_TRUE(has_command(finding, "export LD_LIBRARY_PATH='/opt/my libs'"));
}

TEST(StubLibrary, IsJudgedThoughTheDriverIsBroken) {
  Machine machine = machine_without_module();
  machine.driver.libraries.edit()[0].kind = "stub";
  const auto diagnosis = diagnose(machine, Catalog::built_in());
  ASSERT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_EQ(diagnosis.findings[1].id, "cuda.stub-library");
}

TEST(Toolkits, AreNotComparedWithoutBothChoices) {
  Machine machine = healthy_machine();
  Toolkit toolkit;
  toolkit.root = "/usr/local/cuda-12.4";
  toolkit.on_path = true;
  machine.cuda.toolkits = known(std::vector<Toolkit>{toolkit});
  EXPECT_TRUE(is_fine(judge("cuda.toolkits-differ", machine)));
}

}  // namespace
}  // namespace gpuwright
