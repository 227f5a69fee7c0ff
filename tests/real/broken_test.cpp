#include <elf.h>

#include <cstring>
#include <filesystem>

#include "scenes.h"

// Environments of real packages that are broken as people break them. What is found must be what
// the real import then says.

namespace gpuwright::real {
namespace {

namespace fs = std::filesystem;

class RealOldTensorFlow : public RealEnvironment {
 protected:
  void SetUp() override { use("tensorflow-old", "tensorflow"); }
};

TEST_F(RealOldTensorFlow, WithNumPy2DoesNotImport) {
  const auto seen = see("NumPy 2", environment_, {});
  EXPECT_TRUE(seen.prediction.finds("framework.numpy-abi"));
  EXPECT_NE(seen.reality.import_error, "");
  EXPECT_NE((seen.reality.log + seen.reality.import_error).find("numpy"), std::string::npos)
      << seen.reality.log;
}

class RealTensorFlowForTheCpu : public RealEnvironment {
 protected:
  void SetUp() override { use("tensorflow-cpu", "tensorflow"); }

  /// What a bare Python says to `import tensorflow`.
  static bool imports(const std::string& python) {
    const auto result =
        run_child({python, "-c", "import tensorflow"}, {{"PATH", "/usr/bin:/bin"}, {"HOME", "/"}});
    if (result.exit_status != 0) {
      EXPECT_NE(result.err.find("No module named 'tensorflow'"), std::string::npos) << result.err;
    }
    return result.exit_status == 0;
  }

  static void write_kernel(const EnvironmentCopy& copy, const std::string& python) {
    write_text(copy.path() + "/share/jupyter/kernels/python3/kernel.json",
               R"({"argv": [")" + python +
                   R"(", "-m", "ipykernel_launcher", "-f", "{connection_file}"],)"
                   R"( "display_name": "Python 3", "language": "python"})");
  }
};

TEST_F(RealTensorFlowForTheCpu, IsSoundWithItsOwnNumPy) {
  const auto seen = see("CPU build", environment_, {});
  EXPECT_FALSE(seen.prediction.finds("framework.numpy-abi"));
  EXPECT_EQ(seen.reality.import_error, "");
}

TEST_F(RealTensorFlowForTheCpu, StaysSoBesideCudaWheels) {
  const EnvironmentCopy copy(environment_, {"tensorflow"});
  complete(copy);
  for (const auto* wheel : {"nvidia_cudnn_cu12-9.3.0.75", "nvidia_cublas_cu12-12.5.3.2"})
    write_text(copy.site_packages() + "/" + wheel + ".dist-info/METADATA",
               "Metadata-Version: 2.1\n");
  const FakeDriver driver;
  const auto seen =
      see("CPU build, CUDA wheels", copy.path(), {{"LD_LIBRARY_PATH", driver.path()}});
  EXPECT_TRUE(seen.prediction.finds("framework.cpu-build"));
  EXPECT_EQ(seen.reality.import_error, "");
  EXPECT_EQ(seen.reality.gpus, 0u);
}

TEST_F(RealTensorFlowForTheCpu, IsNotWhatAKernelOfAnotherPythonRuns) {
  const EnvironmentCopy copy(environment_, {});
  const std::string other = fs::canonical(copy.path() + "/bin/python").string();
  const std::string own = copy.path() + "/bin/python";
  for (const auto& python : {other, own}) {
    write_kernel(copy, python);
    const Prediction prediction = predict({copy.path(), "tensorflow", {}});
    EXPECT_EQ(prediction.finds_anywhere("python.kernel-elsewhere"), !imports(python)) << python;
  }
}

class RealTensorFlowBroken : public RealEnvironment {
 protected:
  void SetUp() override { use("tensorflow", "tensorflow"); }
};

/// The ELF header says that the file is for another processor.
void make_foreign(const std::string& file) {
  std::string bytes = read_text(file);
  const Elf64_Half aarch64 = EM_AARCH64;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_machine), &aarch64, sizeof aarch64);
  fs::remove(file);
  write_text(file, bytes);
}

TEST_F(RealTensorFlowBroken, ByALibraryForAnotherProcessor) {
  const EnvironmentCopy copy(environment_, {"tensorflow", "nvidia"});
  complete(copy);
  const FakeDriver driver;
  const std::string path = driver.path() + ":" + copy.site_packages() + "/nvidia/cusolver/lib";
  const auto sound = see("complete", copy.path(), {{"LD_LIBRARY_PATH", path}});
  EXPECT_EQ(sound.reality.gpus, 1u);
  make_foreign(copy.site_packages() + "/nvidia/cufft/lib/libcufft.so.11");
  const auto seen = see("libcufft for aarch64", copy.path(), {{"LD_LIBRARY_PATH", path}});
  EXPECT_TRUE(seen.prediction.finds("libraries.other-architecture"));
  EXPECT_EQ(seen.reality.gpus, 0u);
}

// The second of two cuDNN wheels has replaced the parts of the first that bear the same name, and
// its main library bears another: what is left of each is not enough.
TEST_F(RealTensorFlowBroken, ByTwoCudnnWheelsInOneDirectory) {
  const EnvironmentCopy copy(environment_, {"tensorflow", "nvidia"});
  complete(copy);
  const std::string folder = copy.site_packages() + "/nvidia/cudnn/lib/";
  fs::remove(folder + "libcudnn.so.9");
  make_stand_in(folder + "libcudnn.so.8");
  for (const auto* wheel : {"nvidia_cudnn_cu12-9.3.0.75", "nvidia_cudnn_cu11-8.9.6.50"})
    write_text(copy.site_packages() + "/" + wheel + ".dist-info/METADATA",
               "Metadata-Version: 2.1\n");
  const FakeDriver driver;
  const std::string path = driver.path() + ":" + copy.site_packages() + "/nvidia/cusolver/lib";
  const auto seen = see("cuDNN 8 over 9", copy.path(), {{"LD_LIBRARY_PATH", path}});
  // The system may have a cuDNN 9 of its own, which then helps out.
  EXPECT_EQ(seen.prediction.finds("framework.libraries-missing"), seen.reality.gpus == 0);
  EXPECT_FALSE(seen.reality.after_query.contains(folder + "libcudnn.so.8"));
}

}  // namespace
}  // namespace gpuwright::real
