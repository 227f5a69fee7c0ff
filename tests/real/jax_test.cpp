#include "scenes.h"

namespace gpuwright::real {
namespace {

/// JAX asks for the version of each library in turn, and the first that is missing ends it. Its
/// client then works through the CUDA runtime, which refuses the fake driver.
class JaxEnvironment : public RealEnvironment {
 protected:
  Reach reach(const Prediction& prediction, const Environment& variables) const override {
    const auto& libraries = prediction.framework.libraries;
    const bool complete = std::all_of(libraries.begin(), libraries.end(), [](const auto& library) {
      return library.role != "required" || library.state == "found";
    });
    if (!complete || variables.contains("JAX_PLATFORMS")) return Reach::kStops;
    const auto common = RealEnvironment::reach(prediction, variables);
    return common == Reach::kDevice ? Reach::kOpened : common;
  }
};

class RealJax : public JaxEnvironment {
 protected:
  void SetUp() override { use("jax", "jax"); }
};

TEST_F(RealJax, ImportAndMissingLibraries) {
  see("no driver", environment_, {});
  const FakeDriver driver;
  see("driver, incomplete wheels", environment_, {{"LD_LIBRARY_PATH", driver.path()}});
}

TEST_F(RealJax, CompleteSet) {
  const EnvironmentCopy copy(environment_, {"jax_plugins", "jax_cuda12_plugin", "nvidia"});
  complete(copy);
  const FakeDriver driver;
  see("all wheels", copy.path(), {{"LD_LIBRARY_PATH", driver.path()}});

  const ScratchDirectory scratch;
  for (const auto& file : kMissingWheels)
    copy_into(copy.site_packages() + "/" + file.below_site_packages(), scratch.path());
  copy_into(copy.site_packages() + "/nvidia/cuda_runtime/lib/libcudart.so.12", scratch.path());
  const auto seen = see("copies in LD_LIBRARY_PATH", copy.path(),
                        {{"LD_LIBRARY_PATH", scratch.path() + ":" + driver.path()}});
  for (const auto& path : seen.reality.after_query)
    EXPECT_FALSE(path.starts_with(scratch.path())) << path;

  see("no libnvidia-ml.so.1", copy.path(), {{"LD_LIBRARY_PATH", driver.cuda()}});
  see("JAX_PLATFORMS=cpu", copy.path(),
      {{"LD_LIBRARY_PATH", driver.path()}, {"JAX_PLATFORMS", "cpu"}});

  copy.hide("nvidia/cufft/lib/libcufft.so.11");
  see("libcufft hidden", copy.path(), {{"LD_LIBRARY_PATH", driver.path()}});
}

class RealJaxCuda13 : public JaxEnvironment {
 protected:
  void SetUp() override { use("jax-cuda13", "jax"); }
};

TEST_F(RealJaxCuda13, WholeSetOfWheels) {
  see("no driver", environment_, {});

  // CUPTI tells its version only with the tables of a real driver.
  const EnvironmentCopy copy(environment_, {"jax_plugins", "jax_cuda13_plugin", "nvidia"});
  copy.hide("nvidia/cu13/lib/libcupti.so.13");
  make_stand_in(copy.site_packages() + "/nvidia/cu13/lib/libcupti.so.13");
  const FakeDriver driver;
  see("driver", copy.path(), {{"LD_LIBRARY_PATH", driver.path()}});

  const ScratchDirectory scratch;
  for (const auto* file :
       {"cudnn/lib/libcudnn.so.9", "cu13/lib/libcublas.so.13", "cu13/lib/libcublasLt.so.13",
        "cu13/lib/libcudart.so.13", "cu13/lib/libnvJitLink.so.13"})
    copy_into(copy.site_packages() + "/nvidia/" + file, scratch.path());
  see("copies in LD_LIBRARY_PATH", copy.path(),
      {{"LD_LIBRARY_PATH", scratch.path() + ":" + driver.path()}});

  copy.hide("nvidia/cudnn/lib/libcudnn.so.9");
  see("libcudnn hidden", copy.path(), {{"LD_LIBRARY_PATH", driver.path()}});
}

}  // namespace
}  // namespace gpuwright::real
