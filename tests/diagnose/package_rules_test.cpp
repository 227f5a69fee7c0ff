#include <gtest/gtest.h>

#include "diagnose/framework_import.h"
#include "frameworks.h"

// Branches of the rules about packages that the cases do not have.

namespace gpuwright {
namespace {

Machine with_package(Framework framework, const std::string& name, const std::string& version,
                     std::vector<std::string> owner_asks = {}) {
  Distribution owner{framework.name == "jax" ? "jaxlib" : framework.name, "1", kSite};
  owner.requirements = std::move(owner_asks);
  auto machine = machine_with(std::move(framework));
  machine.host.architecture = text("x86_64");
  machine.python.distributions = {owner, {name, version, kSite}};
  return machine;
}

Framework tensorflow(const char* version) {
  auto framework = sound_tensorflow();
  framework.version = known(Version::of(version));
  return framework;
}

TEST(NumpyAbi, OfJaxIsThatOfJaxlib) {
  auto jax = sound_jax();
  jax.core_version = known(Version::of("0.4.25"));
  EXPECT_EQ(finding_of(judge("framework.numpy-abi", with_package(jax, "numpy", "2.0.2"))).severity,
            Severity::kError);
  EXPECT_TRUE(is_fine(judge("framework.numpy-abi", with_package(sound_jax(), "numpy", "2.0.2"))));
}

// conda-forge rebuilds old releases for NumPy 2, and its solver keeps to that.
TEST(NumpyAbi, OfCondaBuildsIsNotJudged) {
  auto framework = tensorflow("2.17.0");
  framework.conda_build = text("cuda120py311h1");
  EXPECT_TRUE(is_fine(judge("framework.numpy-abi", with_package(framework, "numpy", "2.0.2"))));
  framework.conda_build = Fact<std::string>::absent("test");
  EXPECT_EQ(
      findings_of(judge("framework.numpy-abi", with_package(framework, "numpy", "2.0.2"))).size(),
      1U);
}

TEST(NumpyAbi, ThatHasNoVersionIsNotJudged) {
  EXPECT_TRUE(does_not_apply(
      judge("framework.numpy-abi", with_package(tensorflow("2.17.0"), "numpy", "unknown"))));
}

TEST(DependencyVersion, KnowsProtobuf4UnderOldTensorFlow) {
  const auto machine = with_package(tensorflow("2.10.1"), "protobuf", "4.25.8");
  const auto finding = finding_of(judge("framework.dependency-version", machine));
  EXPECT_NE(finding.statement.find("Descriptors cannot be created"), std::string::npos);
  EXPECT_TRUE(has_command(finding, "/usr/bin/python3 -m pip install 'protobuf<4'"));
  auto relieved = machine;
  relieved.cuda.variables["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python";
  EXPECT_TRUE(is_fine(judge("framework.dependency-version", relieved)));
  EXPECT_TRUE(is_fine(judge("framework.dependency-version",
                            with_package(tensorflow("2.10.1"), "protobuf", "3.20.3"))));
  EXPECT_TRUE(is_fine(judge("framework.dependency-version",
                            with_package(tensorflow("2.12.0"), "protobuf", "4.25.8"))));
}

TEST(DependencyVersion, HasNoProofWithoutTheMetadata) {
  EXPECT_TRUE(is_fine(judge("framework.dependency-version",
                            with_package(tensorflow("2.20.0"), "protobuf", "4.25.8"))));
}

TEST(DependencyVersion, KnowsNumpyWithoutDtypes) {
  EXPECT_EQ(
      findings_of(judge("framework.dependency-version",
                        with_package(tensorflow("2.20.0"), "numpy", "1.24.4", {"numpy>=1.26.0"})))
          .size(),
      1U);
  EXPECT_TRUE(
      is_fine(judge("framework.dependency-version",
                    with_package(tensorflow("2.20.0"), "numpy", "1.25.2", {"numpy>=1.26.0"}))));
}

TEST(WrongPython, PassesOverWheelsForSeveral) {
  auto machine = with_package(sound_torch(), "numpy", "1.26.4");
  machine.python.interpreter.edit().version = known(Version::of("3.12.3"));
  for (const auto* tag : {"", "cp39-abi3-manylinux_2_17_x86_64", "py3-none-any",
                          "cp312-cp312-linux_x86_64", "nonsense", "cp-cp-x", "cpx1-cp1-x"}) {
    machine.python.distributions[0].tag = tag;
    EXPECT_TRUE(findings_of(judge("framework.wrong-python", machine)).empty()) << tag;
  }
  machine.python.distributions[0].tag = "cp39-cp39-linux_x86_64";
  EXPECT_NE(finding_of(judge("framework.wrong-python", machine)).statement.find("Python 3.9"),
            std::string::npos);
  machine.python.interpreter.edit().version = Fact<Version>::unknown("test", "test");
  EXPECT_TRUE(does_not_apply(judge("framework.wrong-python", machine)));
}

TEST(CpuTooOld, IsNotJudgedWhereTheProcessorIsNotKnown) {
  auto machine = machine_with(sound_tensorflow());
  machine.host.architecture = text("x86_64");
  EXPECT_TRUE(does_not_apply(judge("framework.cpu-too-old", machine)));
  machine.host.cpu_features = known(std::vector<std::string>{"sse4_2"});
  EXPECT_EQ(findings_of(judge("framework.cpu-too-old", machine)).size(), 1U);
  machine.host.cpu_features = known(std::vector<std::string>{"sse4_2", "avx"});
  EXPECT_TRUE(is_fine(judge("framework.cpu-too-old", machine)));
  machine.host.architecture = text("aarch64");
  EXPECT_TRUE(does_not_apply(judge("framework.cpu-too-old", machine)));
}

TEST(MissingVersion, IsReadFromTheLoadersText) {
  const auto missing = parse_missing_version(
      "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /env/x.so)");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->file, "/lib/x86_64-linux-gnu/libc.so.6");
  EXPECT_EQ(missing->prefix + missing->version, "GLIBC_2.34");
  EXPECT_EQ(parse_missing_version("x: version `CXXABI_1.3.15' not found")->version, "1.3.15");
  for (const auto* text : {"", ": version `", "x: version `GLIBC", "x: version `nothing' found",
                           "libcublas.so.12: cannot open shared object file"})
    EXPECT_FALSE(parse_missing_version(text)) << text;
}

TEST(CpuBuild, NamesTheWayItCame) {
  auto framework = sound_torch();
  framework.build = text("cpu");
  framework.version = known(Version::of("2.7.1+cpu"));
  const auto command = [](const Machine& machine) {
    return finding_of(judge("framework.cpu-build", machine)).fix.at(0).command;
  };
  EXPECT_EQ(command(machine_with(framework)),
            "/usr/bin/python3 -m pip install --force-reinstall torch==2.7.1");
  framework.conda_build = text("cpu_mkl_py312h1");
  EXPECT_EQ(command(machine_with(framework)), "conda install -c conda-forge 'pytorch=*=cuda*'");
  auto login_node = machine_with(framework);
  login_node.driver.nodes = known(std::vector<DeviceNode>{});
  EXPECT_EQ(command(login_node),
            "CONDA_OVERRIDE_CUDA=12.8 conda install -c conda-forge 'pytorch=*=cuda*'");
}

TEST(CpuBuild, OfTensorFlowDependsOnItsPackage) {
  auto framework = sound_tensorflow();
  framework.build = text("cpu");
  const auto fix = [&](const char* distribution, const char* version) {
    framework.distribution = distribution;
    framework.version = known(Version::of(version));
    std::string commands;
    for (const auto& step : finding_of(judge("framework.cpu-build", machine_with(framework))).fix)
      commands += step.command + "\n";
    return commands;
  };
  const std::string pip = "/usr/bin/python3 -m pip ";
  EXPECT_EQ(fix("intel-tensorflow", "2.14.0"), pip + "uninstall -y intel-tensorflow\n" + pip +
                                                   "install 'tensorflow[and-cuda]==2.14.0'\n");
  EXPECT_EQ(fix("tensorflow-cpu", "2.12.1"),
            pip + "uninstall -y tensorflow-cpu\n" + pip + "install 'tensorflow==2.12.1'\n");
  EXPECT_EQ(fix("tf-nightly-cpu", "2.22.0.dev20261101"),
            pip + "uninstall -y tf-nightly-cpu\n" + pip + "install 'tf-nightly[and-cuda]'\n");
  EXPECT_EQ(fix("tensorflow", "1.15.5"),
            pip + "uninstall -y tensorflow\n" + pip + "install tensorflow-gpu==1.15.5\n");
}

}  // namespace
}  // namespace gpuwright
