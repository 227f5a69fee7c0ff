#include <gtest/gtest.h>

#include "frameworks.h"
#include "machines.h"

// Every rule about frameworks and their libraries: that it speaks, that it is silent beside the
// matter, and that what it could not see is undecided. The texts are for tests/cases/.

namespace gpuwright {
namespace {

Verdict judge(const std::string& id, Framework framework) {
  return judge(id, machine_with(std::move(framework)));
}

const std::vector<std::string> kAllIds = {
    "framework.cpu-build",       "framework.two-owners",
    "framework.import-fails",    "framework.plugin-version",
    "framework.devices-hidden",  "framework.platform-forced",
    "framework.driver-too-old",  "framework.driver-library-not-found",
    "framework.nvml-missing",    "framework.driver-library-differs",
    "framework.cudnn-too-old",   "framework.libraries-missing",
    "framework.no-code-for-gpu", "framework.only-ptx-for-gpu",
    "framework.log-hidden",      "libraries.wheel-overridden",
    "libraries.cudnn-mixed",     "libraries.other-cuda"};

TEST(FrameworkRules, AreSilentOnSoundFrameworks) {
  for (const auto& id : kAllIds)
    for (const auto& framework : {sound_tensorflow(), sound_torch(), sound_jax()}) {
      const auto verdict = judge(id, framework);
      EXPECT_TRUE(is_fine(verdict) || does_not_apply(verdict)) << id << " on " << framework.name;
    }
}

TEST(FrameworkRules, DoNotApplyWithoutAFramework) {
  for (const auto& id : kAllIds) EXPECT_TRUE(does_not_apply(judge(id, healthy_machine()))) << id;
}

TEST(FrameworkRules, FindingsNameTheFramework) {
  const auto finding = finding_of(
      judge("framework.libraries-missing", without(sound_tensorflow(), "libcudnn.so.9")));
  EXPECT_EQ(finding.subject, "tensorflow 2.20.0");
}

TEST(CpuBuild, IsUndecidedWhenTheBuildIsUnknown) {
  auto framework = sound_tensorflow();
  framework.build = Fact<std::string>::unknown("build_info.py", "permission denied");
  EXPECT_TRUE(is_undecided(judge("framework.cpu-build", framework)));
}

TEST(CpuBuild, RemovesTheDistributionThatIsInTheWay) {
  auto framework = sound_tensorflow();
  framework.build = text("cpu");
  framework.distribution = "tensorflow-cpu";
  const auto finding = finding_of(judge("framework.cpu-build", framework));
  EXPECT_NE(finding.fix.at(0).command.find("uninstall -y tensorflow-cpu"), std::string::npos);
}

TEST(CpuBuild, TellsAnRocmBuildByItsName) {
  auto framework = sound_torch();
  framework.build = text("rocm");
  EXPECT_NE(finding_of(judge("framework.cpu-build", framework)).statement.find("rocm"),
            std::string::npos);
}

TEST(TwoOwners, WarnOnly) {
  auto framework = sound_tensorflow();
  framework.owners = {"tensorflow", "tensorflow-cpu"};
  EXPECT_EQ(finding_of(judge("framework.two-owners", framework)).severity, Severity::kWarning);
}

TEST(ImportFails, SpeaksInTheLoadersWords) {
  auto framework = sound_torch();
  framework.import_problems = {
      {"/env/torch/lib/libtorch_cuda.so", "libcufft.so.11: cannot open shared object file"}};
  const auto finding = finding_of(judge("framework.import-fails", framework));
  EXPECT_NE(finding.statement.find("libcufft.so.11: cannot open"), std::string::npos);
}

TEST(PluginVersion, IsUndecidedWithoutTheVersionOfJaxlib) {
  auto framework = sound_jax();
  framework.core_version = Fact<Version>::unknown("jaxlib", "permission denied");
  EXPECT_TRUE(is_undecided(judge("framework.plugin-version", framework)));
  framework.core_version = known(Version::of("0.6.1"));
  EXPECT_EQ(findings_of(judge("framework.plugin-version", framework)).size(), 1U);
}

TEST(DevicesHidden, SpeaksOnceForAllFrameworks) {
  auto machine = machine_with(sound_torch());
  machine.frameworks.push_back(sound_tensorflow());
  machine.cuda.variables["CUDA_VISIBLE_DEVICES"] = "-1";
  const auto findings = findings_of(judge("framework.devices-hidden", machine));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].subject, "");
}

TEST(DevicesHidden, DoesNotAriseWithCpuBuildsAlone) {
  auto cpu = sound_tensorflow();
  cpu.build = text("cpu");
  auto machine = machine_with(cpu);
  machine.cuda.variables["CUDA_VISIBLE_DEVICES"] = "-1";
  EXPECT_TRUE(findings_of(judge("framework.devices-hidden", machine)).empty());
}

TEST(DevicesHidden, IsUndecidedForNamesThatFilesDoNotTell) {
  auto machine = machine_with(sound_torch());
  machine.cuda.variables["CUDA_VISIBLE_DEVICES"] = "MIG-3f2c";
  EXPECT_TRUE(is_undecided(judge("framework.devices-hidden", machine)));
  machine.cuda.variables["CUDA_VISIBLE_DEVICES"] = "0";
  EXPECT_TRUE(is_fine(judge("framework.devices-hidden", machine)));
}

TEST(PlatformForced, LooksAtBothVariablesOfJaxAlone) {
  auto machine = machine_with(sound_jax());
  machine.cuda.variables["JAX_PLATFORMS"] = "cpu";
  EXPECT_EQ(findings_of(judge("framework.platform-forced", machine)).size(), 1U);
  machine.cuda.variables["JAX_PLATFORMS"] = "cuda, cpu";
  EXPECT_TRUE(is_fine(judge("framework.platform-forced", machine)));
  machine.cuda.variables["JAX_PLATFORMS"] = "";
  machine.cuda.variables["JAX_PLATFORM_NAME"] = "cpu";
  EXPECT_EQ(findings_of(judge("framework.platform-forced", machine)).size(), 1U);
  machine.frameworks = {sound_torch()};
  EXPECT_TRUE(does_not_apply(judge("framework.platform-forced", machine)));
}

TEST(DriverLibraryNotFound, PointsToTheDirectoryThatHasIt) {
  auto framework = without(sound_torch(), "libcuda.so.1");
  const auto finding = finding_of(judge("framework.driver-library-not-found", framework));
  EXPECT_NE(finding.fix.at(0).command.find("/usr/lib/x86_64-linux-gnu"), std::string::npos);
  library(framework, "libcuda.so.1").state = "unknown";
  EXPECT_TRUE(is_undecided(judge("framework.driver-library-not-found", framework)));
}

TEST(DriverLibraryDiffers, SpeaksForAnotherVersionAndForAStub) {
  auto framework = sound_torch();
  auto& driver = library(framework, "libcuda.so.1");
  driver.version = known(Version::of("550.54.15"));
  EXPECT_EQ(findings_of(judge("framework.driver-library-differs", framework)).size(), 1U);
  driver.version = Fact<Version>::unknown("libcuda.so.1", "its name carries no version");
  EXPECT_TRUE(is_undecided(judge("framework.driver-library-differs", framework)));
  driver.real_path = "/usr/local/cuda/lib64/stubs/libcuda.so.1";
  EXPECT_NE(finding_of(judge("framework.driver-library-differs", framework)).statement.find("stub"),
            std::string::npos);
}

TEST(DriverLibraryDiffers, LeavesCompatAndWslAlone) {
  auto framework = sound_torch();
  auto& driver = library(framework, "libcuda.so.1");
  driver.version = known(Version::of("580.65.06"));
  driver.real_path = "/usr/local/cuda-13.0/compat/libcuda.so.580.65.06";
  EXPECT_TRUE(does_not_apply(judge("framework.driver-library-differs", framework)));
  auto machine = machine_with(sound_torch());
  library(machine.frameworks[0], "libcuda.so.1").version = known(Version::of("550.54.15"));
  machine.host.wsl = known<std::uint64_t>(2);
  EXPECT_TRUE(does_not_apply(judge("framework.driver-library-differs", machine)));
}

TEST(DriverTooOld, ComparesWithTheCudaOfTheBuild) {
  auto framework = sound_torch();
  framework.build_cuda = known(Version::of("13.0"));
  const auto finding = finding_of(judge("framework.driver-too-old", framework));
  EXPECT_NE(finding.statement.find("535.261.03"), std::string::npos);
  framework.build_cuda = Fact<Version>::absent("version.py");
  EXPECT_TRUE(is_undecided(judge("framework.driver-too-old", framework)));
}

TEST(DriverTooOld, TakesTheCatalogueForATensorFlowWithoutARecord) {
  auto framework = sound_tensorflow();
  framework.build_cuda = Fact<Version>::absent("build_info.py");
  EXPECT_TRUE(is_fine(judge("framework.driver-too-old", framework)));
}

TEST(NvmlMissing, SpeaksOnlyWhereNvmlIsNeeded) {
  auto framework = sound_tensorflow();
  framework.libraries.push_back(found("libnvidia-ml.so.1", "optional", "/usr/lib"));
  EXPECT_TRUE(
      does_not_apply(judge("framework.nvml-missing", without(framework, "libnvidia-ml.so.1"))));
  library(framework, "libnvidia-ml.so.1").role = "nvml";
  EXPECT_TRUE(is_fine(judge("framework.nvml-missing", framework)));
  EXPECT_EQ(
      findings_of(judge("framework.nvml-missing", without(framework, "libnvidia-ml.so.1"))).size(),
      1U);
  library(framework, "libnvidia-ml.so.1").state = "unknown";
  EXPECT_TRUE(is_undecided(judge("framework.nvml-missing", framework)));
}

TEST(LibrariesMissing, NamesAllAndAddsTheDirectoriesThatHaveThem) {
  auto framework = without(without(sound_tensorflow(), "libcufft.so.11"), "libcusolver.so.11");
  library(framework, "libcufft.so.11").elsewhere = {wheel_directory("cufft") + "/libcufft.so.11"};
  library(framework, "libcusolver.so.11").elsewhere = {wheel_directory("cusolver") +
                                                       "/libcusolver.so.11"};
  const auto finding = finding_of(judge("framework.libraries-missing", framework));
  EXPECT_NE(finding.statement.find("libcufft.so.11, libcusolver.so.11"), std::string::npos);
  EXPECT_NE(
      finding.fix.at(0).command.find(wheel_directory("cufft") + ":" + wheel_directory("cusolver")),
      std::string::npos);
}

TEST(LibrariesMissing, InstallsThemWhereNoWheelIsThere) {
  const auto finding = finding_of(
      judge("framework.libraries-missing", without(sound_tensorflow(), "libcudnn.so.9")));
  EXPECT_NE(finding.fix.at(0).command.find("tensorflow[and-cuda]==2.20.0"), std::string::npos);
}

TEST(LibrariesMissing, IsUndecidedOnlyWhereNoneIsCertainlyMissing) {
  auto framework = sound_tensorflow();
  library(framework, "libcufft.so.11").state = "unknown";
  EXPECT_TRUE(is_undecided(judge("framework.libraries-missing", framework)));
  EXPECT_EQ(
      findings_of(judge("framework.libraries-missing", without(framework, "libcudnn.so.9"))).size(),
      1U);
}

TEST(CodeForGpu, IsAnErrorOnlyWhenNoGpuFits) {
  auto framework = sound_torch();
  framework.targets = known(std::vector<std::string>{"sm_90"});
  EXPECT_EQ(finding_of(judge("framework.no-code-for-gpu", framework)).severity, Severity::kError);
  auto machine = machine_with_gpus(2);
  machine.hardware.gpus.edit()[1].device_id = "2335";  // H200
  machine.frameworks = {framework};
  EXPECT_EQ(finding_of(judge("framework.no-code-for-gpu", machine)).severity, Severity::kWarning);
}

TEST(CodeForGpu, IsUndecidedForAGpuThatTheCatalogueDoesNotKnow) {
  auto machine = machine_with(sound_torch());
  machine.hardware.gpus.edit()[0].device_id = "ffff";
  EXPECT_TRUE(is_undecided(judge("framework.no-code-for-gpu", machine)));
  machine = machine_with(sound_torch());
  machine.frameworks[0].targets =
      Fact<std::vector<std::string>>::unknown("libtorch_cuda.so", "stripped");
  EXPECT_TRUE(is_undecided(judge("framework.no-code-for-gpu", machine)));
}

// tensorflow/tensorflow#99592: an RTX 5080 with a wheel that has PTX of 9.0.
TEST(NoCode, HoldsForTensorFlowsPtxOnBlackwell) {
  auto framework = sound_tensorflow();
  framework.build_cuda = known(Version::of("12.5.1"));
  framework.targets = known(std::vector<std::string>{"sm_80", "sm_89", "compute_90"});
  auto machine = machine_with(framework);
  machine.hardware.gpus.edit()[0].device_id = "2b85";  // RTX 5090, 12.0
  EXPECT_EQ(finding_of(judge("framework.no-code-for-gpu", machine)).severity, Severity::kError);
  EXPECT_TRUE(is_fine(judge("framework.only-ptx-for-gpu", machine)));
  machine.frameworks[0].build_cuda = known(Version::of("12.9"));
  EXPECT_TRUE(is_fine(judge("framework.no-code-for-gpu", machine)));
  machine.frameworks[0].name = "torch";
  machine.frameworks[0].build_cuda = known(Version::of("12.4"));
  EXPECT_TRUE(is_fine(judge("framework.no-code-for-gpu", machine)));
}

TEST(OnlyPtx, WarnsAboutTheFirstStart) {
  auto framework = sound_torch();
  framework.targets = known(std::vector<std::string>{"sm_75", "compute_75"});
  EXPECT_EQ(finding_of(judge("framework.only-ptx-for-gpu", framework)).severity,
            Severity::kWarning);
  EXPECT_TRUE(is_fine(judge("framework.no-code-for-gpu", framework)));
}

TEST(CudnnTooOld, ComparesMajorAndMinor) {
  auto framework = sound_tensorflow();
  auto& cudnn = library(framework, "libcudnn.so.9");
  cudnn.version = known(Version::of("9.1.0.70"));
  EXPECT_EQ(findings_of(judge("framework.cudnn-too-old", framework)).size(), 1U);
  cudnn.version = known(Version::of("9.10.2.21"));
  EXPECT_TRUE(is_fine(judge("framework.cudnn-too-old", framework)));
  cudnn.version = Fact<Version>::unknown("libcudnn.so.9", "no installed package owns it");
  EXPECT_TRUE(is_undecided(judge("framework.cudnn-too-old", framework)));
}

TEST(LogHidden, InformsAboutTwoAndMore) {
  auto machine = machine_with(sound_tensorflow());
  machine.frameworks[0].version = known(Version::of("2.21.0"));
  machine.cuda.variables["TF_CPP_MIN_LOG_LEVEL"] = "1";
  EXPECT_TRUE(is_fine(judge("framework.log-hidden", machine)));
  machine.cuda.variables["TF_CPP_MIN_LOG_LEVEL"] = "3";
  EXPECT_EQ(finding_of(judge("framework.log-hidden", machine)).severity, Severity::kInfo);
}

TEST(LogHidden, LeavesReleasesAloneThatPrintAllTheSame) {
  for (const auto* version : {"2.18.1", "2.20.0"}) {
    auto machine = machine_with(sound_tensorflow());
    machine.frameworks[0].version = known(Version::of(version));
    machine.cuda.variables["TF_CPP_MIN_LOG_LEVEL"] = "2";
    EXPECT_TRUE(does_not_apply(judge("framework.log-hidden", machine))) << version;
  }
}

TEST(WheelOverridden, SpeaksWhenAWheelLosesToAnotherFile) {
  auto framework = sound_tensorflow();
  auto& cudnn = library(framework, "libcudnn.so.9");
  cudnn.shadows = {cudnn.real_path};
  cudnn.real_path = "/usr/local/cuda/lib64/libcudnn.so.9";
  cudnn.rule = "LD_LIBRARY_PATH";
  const auto finding = finding_of(judge("libraries.wheel-overridden", framework));
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_TRUE(has_command(finding, "unset LD_LIBRARY_PATH"));
}

TEST(WheelOverridden, IsSilentWhenAWheelShadowsTheSystem) {
  auto framework = sound_tensorflow();
  library(framework, "libcudnn.so.9").shadows = {"/usr/lib/x86_64-linux-gnu/libcudnn.so.9"};
  EXPECT_TRUE(is_fine(judge("libraries.wheel-overridden", framework)));
}

TEST(CudnnMixed, IsAWarningForOneVersionAndAnErrorForTwo) {
  auto framework = sound_tensorflow();
  framework.libraries.push_back(found("libcudnn_graph.so.9", "sub-library", "/opt/cudnn"));
  framework.libraries.back().version = library(framework, "libcudnn.so.9").version;
  EXPECT_EQ(finding_of(judge("libraries.cudnn-mixed", framework)).severity, Severity::kWarning);
  framework.libraries.back().version = known(Version::of("9.1.0"));
  EXPECT_EQ(finding_of(judge("libraries.cudnn-mixed", framework)).severity, Severity::kError);
}

TEST(OtherCuda, SpeaksForAToolkitOfAnotherMajor) {
  auto machine = machine_with(sound_tensorflow());
  Toolkit toolkit;
  toolkit.root = "/usr/local/cuda-13.0";
  toolkit.version = known(Version::of("13.0.1"));
  machine.cuda.toolkits = known(std::vector<Toolkit>{toolkit});
  library(machine.frameworks[0], "libcusparse.so.12").real_path =
      "/usr/local/cuda-13.0/lib64/libcusparse.so.12";
  EXPECT_EQ(findings_of(judge("libraries.other-cuda", machine)).size(), 1U);
  machine.cuda.toolkits.edit()[0].version = known(Version::of("12.8.0"));
  EXPECT_TRUE(is_fine(judge("libraries.other-cuda", machine)));
}

}  // namespace
}  // namespace gpuwright
