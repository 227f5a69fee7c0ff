#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "comparison.h"
#include "environments.h"
#include "fixtures.h"

// What the tests of the three frameworks share.

namespace gpuwright::real {

/// A test with an environment of real wheels; skipped with the reason where that is not to be had.
class RealEnvironment : public testing::Test {
 protected:
  void use(const std::string& environment, const std::string& framework) {
    try {
      environment_ = python_environment(environment);
    } catch (const Unavailable& unavailable) {
      GTEST_SKIP() << unavailable.reason;
    }
    framework_ = framework;
    std::printf("%s\n", describe(environment_).c_str());
  }

  /// Predicts, observes and compares one scene in `place`, an environment.
  struct Seen {
    Prediction prediction;
    Reality reality;
  };
  Seen see(const std::string& title, const std::string& place, const Environment& variables) {
    const Scene scene{place, framework_, variables};
    Seen seen{predict(scene), observe(scene)};
    compare(title, seen.prediction, seen.reality, reach(seen.prediction, variables), tally_);
    return seen;
  }

  /// What the frameworks have in common: without driver or NVML they stop there.
  virtual Reach reach(const Prediction& prediction, const Environment& variables) const {
    const auto& libraries = prediction.framework.libraries;
    const bool starts = std::all_of(libraries.begin(), libraries.end(), [](const auto& library) {
      return (library.role != "driver" && library.role != "nvml") || library.state == "found";
    });
    return starts && !variables.contains("FAKE_CUDA_INIT") ? Reach::kDevice : Reach::kQuery;
  }

  void TearDown() override {
    if (tally_.scenes > 0) print(framework_.c_str(), tally_);
  }

  std::string environment_, framework_;
  Tally tally_;
};

/// Where a wheel of CUDA 12 puts a library.
struct WheelFile {
  const char* folder;
  const char* name;
  std::string below_site_packages() const {
    return std::string("nvidia/") + folder + "/lib/" + name;
  }
};

/// The libraries of a CUDA 12 set that the small environments have no wheel of.
inline const std::vector<WheelFile> kMissingWheels = {
    {"cublas", "libcublas.so.12"},     {"cublas", "libcublasLt.so.12"},
    {"cufft", "libcufft.so.11"},       {"cusolver", "libcusolver.so.11"},
    {"cusparse", "libcusparse.so.12"}, {"cudnn", "libcudnn.so.9"},
};

/// Stand-ins for them in the places of their wheels.
inline void complete(const EnvironmentCopy& copy) {
  for (const auto& file : kMissingWheels)
    make_stand_in(copy.site_packages() + "/" + file.below_site_packages());
}

}  // namespace gpuwright::real
