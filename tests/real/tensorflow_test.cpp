#include <filesystem>

#include "scenes.h"

namespace gpuwright::real {
namespace {

constexpr const char* kGate = "Cannot dlopen some GPU libraries";

class RealTensorFlow : public RealEnvironment {
 protected:
  void SetUp() override { use("tensorflow", "tensorflow"); }
};

TEST_F(RealTensorFlow, ImportAndMissingLibraries) {
  const auto plain = see("no driver", environment_, {});
  EXPECT_EQ(plain.reality.gpus, 0u);

  const FakeDriver driver;
  const auto missing =
      see("driver, incomplete wheels", environment_, {{"LD_LIBRARY_PATH", driver.path()}});
  EXPECT_TRUE(missing.prediction.finds("framework.libraries-missing"));
  EXPECT_NE(missing.reality.log.find(kGate), std::string::npos);

  const auto quiet = see("TF_CPP_MIN_LOG_LEVEL=2", environment_,
                         {{"LD_LIBRARY_PATH", driver.path()}, {"TF_CPP_MIN_LOG_LEVEL", "2"}});
  EXPECT_EQ(quiet.prediction.finds("framework.log-hidden"),
            quiet.reality.log.find(kGate) == std::string::npos);

  see("cuInit gives 100", environment_,
      {{"LD_LIBRARY_PATH", driver.path()}, {"FAKE_CUDA_INIT", "100"}});
}

TEST_F(RealTensorFlow, CompleteSet) {
  const EnvironmentCopy copy(environment_, {"tensorflow", "nvidia"});
  complete(copy);
  const FakeDriver driver;
  const std::string cusolver = copy.site_packages() + "/nvidia/cusolver/lib";

  see("all wheels", copy.path(), {{"LD_LIBRARY_PATH", driver.path()}});
  // 2.21.0 leaves the directory of cuSOLVER out of its search.
  const std::string path = driver.path() + ":" + cusolver;
  const auto sees =
      see("all wheels and cuSOLVER's directory", copy.path(), {{"LD_LIBRARY_PATH", path}});
  EXPECT_EQ(sees.reality.gpus, 1u);

  const auto silent = see("no libnvidia-ml.so.1", copy.path(),
                          {{"LD_LIBRARY_PATH", driver.cuda() + ":" + cusolver}});
  EXPECT_EQ(silent.prediction.finds("framework.nvml-missing"), silent.reality.gpus == 0);
  EXPECT_EQ(silent.reality.log.find(kGate), std::string::npos);

  const auto stub =
      see("stub of libcuda.so.1", copy.path(),
          {{"LD_LIBRARY_PATH", driver.stubs() + ":" + path}, {"FAKE_CUDA_INIT", "34"}});
  EXPECT_TRUE(stub.prediction.finds("framework.driver-library-differs"));
  EXPECT_EQ(stub.reality.gpus, 0u);

  copy.hide("nvidia/cufft/lib/libcufft.so.11");
  const auto hidden = see("libcufft hidden", copy.path(), {{"LD_LIBRARY_PATH", path}});
  EXPECT_EQ(hidden.reality.gpus == 0, hidden.prediction.finds("framework.libraries-missing"));
}

TEST_F(RealTensorFlow, LibraryPathBeatsTheWheels) {
  const EnvironmentCopy copy(environment_, {"tensorflow", "nvidia"});
  complete(copy);
  const FakeDriver driver;
  const ScratchDirectory scratch;
  const std::string others = scratch.path() + "/others";
  copy_into(copy.site_packages() + "/nvidia/cuda_runtime/lib/libcudart.so.12", others);
  copy_into(copy.site_packages() + "/nvidia/cudnn/lib/libcudnn.so.9", others);
  const auto seen = see("copies in LD_LIBRARY_PATH", copy.path(),
                        {{"LD_LIBRARY_PATH", others + ":" + driver.path()}});
  EXPECT_TRUE(seen.reality.after_import.contains(others + "/libcudart.so.12"));
  EXPECT_TRUE(seen.reality.after_query.contains(others + "/libcudnn.so.9"));
  EXPECT_TRUE(seen.prediction.finds("libraries.wheel-overridden"));

  write_text(others + "/libcufft.so.11", "");
  const auto empty = see("a file without contents first", copy.path(),
                         {{"LD_LIBRARY_PATH", others + ":" + driver.path() + ":" +
                                                  copy.site_packages() + "/nvidia/cusolver/lib"}});
  EXPECT_EQ(empty.reality.gpus, 0u);
  EXPECT_TRUE(empty.prediction.finds("libraries.file-damaged"));
}

TEST_F(RealTensorFlow, LinkedPackageDirectoryLosesTheWheels) {
  namespace fs = std::filesystem;
  const EnvironmentCopy copy(environment_, {"tensorflow", "nvidia"});
  complete(copy);
  const FakeDriver driver;
  const auto store = fs::path(copy.path()) / "store";
  fs::create_directories(store);
  fs::rename(fs::path(copy.site_packages()) / "tensorflow", store / "tensorflow");
  fs::create_directory_symlink(store / "tensorflow", fs::path(copy.site_packages()) / "tensorflow");
  see("tensorflow/ is a link", copy.path(), {{"LD_LIBRARY_PATH", driver.path()}});
}

class RealTensorFlowCpu : public RealEnvironment {
 protected:
  void SetUp() override { use("tensorflow-cpu", "tensorflow"); }
};

TEST_F(RealTensorFlowCpu, MapsNoGpuLibrary) {
  const FakeDriver driver;
  const auto seen = see("CPU build", environment_, {{"LD_LIBRARY_PATH", driver.path()}});
  EXPECT_TRUE(seen.prediction.finds("framework.cpu-build"));
  EXPECT_EQ(seen.reality.gpus, 0u);
}

class RealTensorFlowAndCuda : public RealEnvironment {
 protected:
  void SetUp() override { use("tensorflow-and-cuda", "tensorflow"); }
};

TEST_F(RealTensorFlowAndCuda, WholeSetOfWheels) {
  const FakeDriver driver;
  const std::string nvidia = site_packages_of(environment_) + "/nvidia";
  see("no driver", environment_, {});
  see("driver", environment_, {{"LD_LIBRARY_PATH", driver.path()}});
  const std::string path = driver.path() + ":" + nvidia + "/cusolver/lib";
  const auto sees =
      see("driver and cuSOLVER's directory", environment_, {{"LD_LIBRARY_PATH", path}});
  EXPECT_EQ(sees.reality.gpus, 1u);
  see("no libnvidia-ml.so.1", environment_,
      {{"LD_LIBRARY_PATH", driver.cuda() + ":" + nvidia + "/cusolver/lib"}});

  const ScratchDirectory scratch;
  copy_into(nvidia + "/cudnn/lib/libcudnn.so.9", scratch.path());
  copy_into(nvidia + "/cublas/lib/libcublasLt.so.12", scratch.path());
  const auto other = see("cuDNN and cuBLASLt of another directory", environment_,
                         {{"LD_LIBRARY_PATH", scratch.path() + ":" + path}});
  EXPECT_TRUE(other.reality.after_query.contains(scratch.path() + "/libcudnn.so.9"));
}

TEST_F(RealTensorFlowAndCuda, EachLibraryHiddenInTurn) {
  const FakeDriver driver;
  for (const auto& file : kMissingWheels) {
    const EnvironmentCopy copy(environment_, {"tensorflow", "nvidia"});
    copy.hide(file.below_site_packages());
    see(std::string(file.name) + " hidden", copy.path(),
        {{"LD_LIBRARY_PATH", driver.path() + ":" + copy.site_packages() + "/nvidia/cusolver/lib"}});
  }
}

}  // namespace
}  // namespace gpuwright::real
