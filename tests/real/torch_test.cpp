#include "diagnose/visible_devices.h"
#include "scenes.h"

namespace gpuwright::real {
namespace {

class RealTorch : public RealEnvironment {
 protected:
  void SetUp() override { use("torch", "torch"); }

  std::string wheel(const std::string& below) const {
    return site_packages_of(environment_) + "/nvidia/" + below;
  }
};

TEST_F(RealTorch, WheelsBeatTheLibraryPath) {
  see("no driver", environment_, {});
  const FakeDriver driver;
  see("driver", environment_, {{"LD_LIBRARY_PATH", driver.path()}});

  const ScratchDirectory scratch;
  for (const auto* file :
       {"cudnn/lib/libcudnn.so.9", "cu13/lib/libcublas.so.13", "cu13/lib/libcublasLt.so.13",
        "cu13/lib/libcufft.so.12", "cu13/lib/libcudart.so.13", "cu13/lib/libnvJitLink.so.13"})
    copy_into(wheel(file), scratch.path());
  const auto seen = see("copies in LD_LIBRARY_PATH", environment_,
                        {{"LD_LIBRARY_PATH", scratch.path() + ":" + driver.path()}});
  for (const auto& path : seen.reality.after_import)
    EXPECT_FALSE(path.starts_with(scratch.path())) << path;
}

// The text of the exception is the loader's, or that of torch when its own search fails. Where the
// machine has another copy, that one is taken; NCCL is left out, because an older one lacks
// functions that torch calls, and symbols are not predicted.
TEST_F(RealTorch, EachLibraryHiddenInTurn) {
  for (const auto* file :
       {"cu13/lib/libcudart.so.13", "cu13/lib/libcublasLt.so.13", "cu13/lib/libcufft.so.12",
        "cu13/lib/libcusparse.so.12", "cu13/lib/libnvJitLink.so.13", "cu13/lib/libcusolver.so.12",
        "cudnn/lib/libcudnn.so.9", "nvshmem/lib/libnvshmem_host.so.3",
        "cusparselt/lib/libcusparseLt.so.0"}) {
    const EnvironmentCopy copy(environment_, {"torch", "nvidia"});
    copy.hide(std::string("nvidia/") + file);
    const auto seen = see(std::string(file) + " hidden", copy.path(), {});
    const auto& problems = seen.prediction.framework.import_problems;
    const std::string predicted = problems.empty() ? "" : problems.front().error;
    EXPECT_EQ(predicted, seen.reality.import_error.substr(0, predicted.size())) << file;
    EXPECT_EQ(predicted.empty(), seen.reality.import_error.empty())
        << file << ": " << seen.reality.import_error;
  }
}

// torch.cuda.device_count() reads CUDA_VISIBLE_DEVICES with a parser of its own, over the devices
// that NVML lists.
TEST_F(RealTorch, VisibleDevicesAsTorchCountsThem) {
  const FakeDriver driver;
  const std::vector<NamedGpu> gpus = {{"GPU-1a2b0000-0000-4000-8000-000000000000"},
                                      {"GPU-1a2b1111-0000-4000-8000-000000000000"},
                                      {"GPU-1a2b2222-0000-4000-8000-000000000000"}};
  for (const auto* value :
       {"", "-1", "0", "0,0", "7", "2,0", "0,-1", "0,7", "1gpu", "\"0\"", "none", "GPU-1a2b1111",
        "GPU-1a2b", "GPU-1a2b2,GPU-1a2b0", "GPU-1a2b2,0"}) {
    const Scene scene{environment_,
                      "torch",
                      {{"LD_LIBRARY_PATH", driver.path()},
                       {"FAKE_DEVICE_COUNT", "3"},
                       {"CUDA_VISIBLE_DEVICES", value}}};
    const auto visible = visible_devices(value, gpus, true);
    EXPECT_EQ(visible.gpus.size(), observe(scene).gpus) << value;
    ++tally_.scenes;
  }
}

}  // namespace
}  // namespace gpuwright::real
