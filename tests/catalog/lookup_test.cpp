#include <gtest/gtest.h>

#include <algorithm>

#include "catalog/catalog.h"

// What the built-in catalogue answers to the questions that rules ask.

namespace gpuwright {
namespace {

const Catalog& catalog() { return Catalog::built_in(); }

std::string cuda_of_driver(std::string_view driver) {
  const auto cuda = catalog().cuda_of_driver(Version::of(driver));
  return cuda ? cuda->text() : "nothing";
}

std::string driver_floor(std::string_view cuda) {
  const auto floor = catalog().driver_floor(Version::of(cuda));
  return floor ? floor->text() : "nothing";
}

TEST(GpuLookup, KnowsAnH200ByItsDeviceId) {
  const auto gpu = catalog().gpu("2335");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->name, "H200 SXM 141GB");
  EXPECT_EQ(gpu->chip, "GH100");
  EXPECT_EQ(gpu->architecture, "Hopper");
  EXPECT_EQ(gpu->compute_capability.text(), "9.0");
}

TEST(GpuLookup, KnowsAChipWithoutAProductName) {
  const auto gpu = catalog().gpu("3200");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->name, "");
  EXPECT_EQ(gpu->architecture, "Blackwell");
  EXPECT_EQ(gpu->compute_capability.text(), "10.3");
}

TEST(GpuLookup, GivesNothingForIdsThatItDoesNotKnow) {
  EXPECT_FALSE(catalog().gpu("ffff"));
  EXPECT_FALSE(catalog().gpu(""));
  EXPECT_FALSE(catalog().gpu("2335 "));
  EXPECT_FALSE(catalog().gpu("H200"));
}

TEST(DriverLookup, NamesTheCudaOfABranch) {
  EXPECT_EQ(cuda_of_driver("535.183.01"), "12.2");
  EXPECT_EQ(cuda_of_driver("550.54.15"), "12.4");
  EXPECT_EQ(cuda_of_driver("580.159.04"), "13.0");
  EXPECT_EQ(cuda_of_driver("470.256.02"), "11.4");
}

TEST(DriverLookup, TakesTheBranchBelowForADriverBetweenTwoRows) {
  EXPECT_EQ(catalog().driver_branch(Version::of("516.94"))->branch, 515u);
  EXPECT_EQ(cuda_of_driver("516.94"), "11.7");
}

TEST(DriverLookup, GivesNothingBelowTheOldestBranchAndWhereTheCudaIsNotConfirmed) {
  EXPECT_FALSE(catalog().driver_branch(Version::of("375.66")));
  EXPECT_EQ(cuda_of_driver("375.66"), "nothing");
  EXPECT_TRUE(catalog().driver_branch(Version::of("430.50")));
  EXPECT_EQ(cuda_of_driver("430.50"), "nothing");
}

TEST(DriverFloor, IsThatOfTheMajorFromCuda11On) {
  EXPECT_EQ(driver_floor("11.2"), "450.80.02");
  EXPECT_EQ(driver_floor("12.0"), "525.60.13");
  EXPECT_EQ(driver_floor("12.5.1"), "525.60.13");
  EXPECT_EQ(driver_floor("13.0"), "580.65.06");
}

TEST(DriverFloor, IsThatOfTheSeriesWhereMinorVersionCompatibilityDoesNotHold) {
  EXPECT_EQ(driver_floor("10.1"), "418.39");
  EXPECT_EQ(driver_floor("11.0"), "450.36.06");
}

TEST(DriverFloor, FallsBackToTheMajorForASeriesWithoutARow) {
  EXPECT_EQ(driver_floor("12.7"), "525.60.13");
  EXPECT_EQ(driver_floor("13.99"), "580.65.06");
  EXPECT_EQ(driver_floor("14.0"), "nothing");
  EXPECT_EQ(driver_floor("9.2"), "nothing");
}

TEST(ArchitectureLookup, NamesTheLastBranchOfOldGpus) {
  EXPECT_EQ(catalog().architecture("Kepler")->last_branch, 470u);
  for (const auto* old : {"Maxwell", "Pascal", "Volta"}) {
    const auto support = catalog().architecture(old);
    ASSERT_TRUE(support) << old;
    EXPECT_EQ(support->last_branch, 580u) << old;
    EXPECT_EQ(support->kernel_module, ModuleFlavour::kProprietary) << old;
  }
  EXPECT_FALSE(catalog().architecture("Turing")->last_branch);
}

TEST(ArchitectureLookup, SaysThatBlackwellNeedsTheOpenModule) {
  const auto support = catalog().architecture("Blackwell");
  ASSERT_TRUE(support);
  EXPECT_EQ(support->first_branch, 570u);
  EXPECT_EQ(support->kernel_module, ModuleFlavour::kOpen);
  EXPECT_EQ(name_of(support->kernel_module), "open");
}

TEST(ArchitectureLookup, GivesNothingForAnUnknownName) {
  EXPECT_FALSE(catalog().architecture("Voodoo"));
}

TEST(CudaLookup, KnowsTheSonamesOfASeries) {
  const auto series = catalog().cuda_series(Version::of("13.0.2"));
  ASSERT_TRUE(series);
  EXPECT_EQ(series->version.text(), "13.0");
  // cuSPARSE 13 kept the SONAME of CUDA 12: the trap behind mixed libraries.
  EXPECT_NE(std::ranges::find(series->sonames, "libcusparse.so.12"), series->sonames.end());
  EXPECT_NE(std::ranges::find(series->sonames, "libcudart.so.13"), series->sonames.end());
  EXPECT_FALSE(catalog().cuda_series(Version::of("12.7")));
}

TEST(CudnnLookup, FindsTheRangeThatHoldsARelease) {
  const auto last_for_volta = catalog().cudnn(Version::of("9.10.2.21"));
  ASSERT_TRUE(last_for_volta);
  EXPECT_EQ(last_for_volta->last.text(), "9.10");
  EXPECT_EQ(last_for_volta->cc_min->text(), "5.0");
  EXPECT_EQ(catalog().cudnn(Version::of("9.11"))->cc_min->text(), "7.5");
  EXPECT_EQ(catalog().cudnn(Version::of("8.9.7.29"))->soname, "libcudnn.so.8");
}

TEST(CudnnLookup, GivesNothingOutsideTheRanges) {
  EXPECT_FALSE(catalog().cudnn(Version::of("7.3")));
  EXPECT_FALSE(catalog().cudnn(Version::of("10.0")));
}

TEST(TensorFlowLookup, FindsTheMinorSeriesOfARelease) {
  const auto release = catalog().tensorflow(Version::of("2.4.1"));
  ASSERT_TRUE(release);
  EXPECT_EQ(release->version.text(), "2.4");
  EXPECT_EQ(release->cuda->text(), "11.0");
  EXPECT_EQ(release->driver_min->text(), "450.36.06");
  EXPECT_EQ(release->missing_library_log, MissingLibraryLog::kWarning);
}

TEST(TensorFlowLookup, ListsTheLibrariesInTheOrderOfOpening) {
  const auto release = catalog().tensorflow(Version::of("2.21.0"));
  ASSERT_TRUE(release);
  const std::vector<std::string> expected = {
      "libcudart.so.12",   "libcublas.so.12",   "libcublasLt.so.12", "libcufft.so.11",
      "libcusolver.so.11", "libcusparse.so.12", "libcudnn.so.9"};
  EXPECT_EQ(release->sonames, expected);
  EXPECT_EQ(release->opener, "libtensorflow_framework.so.2");
}

// https://github.com/tensorflow/tensorflow/issues/63362, repaired in 2.16.2; 2.21.0 lost cuSOLVER.
TEST(TensorFlowLookup, KnowsWhichReleasesFindTheirWheels) {
  const auto finds = [](std::string_view version) {
    return catalog().tensorflow(Version::of(version))->finds_wheels;
  };
  EXPECT_FALSE(finds("2.13.1"));
  EXPECT_TRUE(finds("2.14.0"));
  EXPECT_FALSE(finds("2.16.1"));
  EXPECT_TRUE(finds("2.16.2"));
  EXPECT_TRUE(finds("2.20.0"));
  EXPECT_FALSE(finds("2.21.0"));
}

TEST(TensorFlowLookup, KnowsWhichReleasesNeedNvml) {
  EXPECT_FALSE(catalog().tensorflow(Version::of("2.20.0"))->needs_nvml);
  EXPECT_TRUE(catalog().tensorflow(Version::of("2.21.0"))->needs_nvml);
}

TEST(TensorFlowLookup, GivesNothingForAReleaseNewerThanTheNewestRow) {
  EXPECT_EQ(catalog().newest_tensorflow().text(), "2.21");
  EXPECT_FALSE(catalog().tensorflow(Version::of("2.23.0.dev20261026")));
  EXPECT_FALSE(catalog().tensorflow(Version::of("3.0")));
}

TEST(TorchLookup, TellsVariantsAndProcessorsApart) {
  const auto build = catalog().torch(Version::of("2.11.0+cu130"), "cu130");
  ASSERT_TRUE(build);
  EXPECT_EQ(build->cuda->text(), "13.0");
  EXPECT_EQ(build->cudnn->text(), "9.19.0.56");
  EXPECT_EQ(build->driver_min->text(), "580.65.06");
  EXPECT_EQ(build->architecture, "x86_64");
  EXPECT_TRUE(catalog().torch(Version::of("2.15.0"), "cu132")->sm_ptx.empty());
  EXPECT_EQ(catalog().torch(Version::of("2.13"), "cu126")->sm_sass.front(), "5.0");
  EXPECT_EQ(catalog().torch(Version::of("2.13"), "cu126", "aarch64")->sm_sass.front(), "8.0");
  EXPECT_FALSE(catalog().torch(Version::of("2.11"), "cpu"));
  EXPECT_FALSE(catalog().torch(Version::of("2.11"), "cu121"));
}

TEST(JaxLookup, FindsExactlyOneRelease) {
  const auto build = catalog().jax(Version::of("0.11.2"), 13);
  ASSERT_TRUE(build);
  EXPECT_EQ(build->cudnn_min->text(), "9.12");
  EXPECT_EQ(build->driver_min->text(), "580.65.06");
  EXPECT_TRUE(build->needs_nvml);
  EXPECT_FALSE(catalog().jax(Version::of("0.8.0"), 12)->needs_nvml);
  EXPECT_FALSE(catalog().jax(Version::of("0.11.2"), 11));
  EXPECT_FALSE(catalog().jax(Version::of("0.11.1"), 13));
}

TEST(NumpyLookup, KnowsTheFirstReleaseForNumpy2) {
  EXPECT_EQ(catalog().first_numpy2("tensorflow"), Version::of("2.18"));
  EXPECT_EQ(catalog().first_numpy2("torch"), Version::of("2.3"));
  EXPECT_EQ(catalog().first_numpy2("jax"), Version::of("0.4.26"));
  EXPECT_FALSE(catalog().first_numpy2("mxnet"));
}

TEST(CompanionLookup, GoesByMinorSeriesOrByPatch) {
  const auto addons = catalog().companion("tensorflow-addons", Version::of("0.23.0"));
  ASSERT_TRUE(addons);
  EXPECT_EQ(addons->tensorflow, Version::of("2.15"));
  EXPECT_FALSE(addons->or_newer);
  const auto probability = catalog().companion("tensorflow-probability", Version::of("0.24.0"));
  ASSERT_TRUE(probability);
  EXPECT_EQ(probability->tensorflow, Version::of("2.16.1"));
  EXPECT_TRUE(probability->or_newer);
  EXPECT_EQ(catalog().companion("tensorflow-io", Version::of("0.37.1"))->tensorflow,
            Version::of("2.16"));
  EXPECT_FALSE(catalog().companion("tensorflow-io", Version::of("0.37.2")));
  EXPECT_FALSE(catalog().companion("requests", Version::of("0.23")));
}

TEST(TensorFlowLookup, KnowsThePythonsWithWheels) {
  const auto release = catalog().tensorflow(Version::of("2.21.0"));
  ASSERT_TRUE(release && release->python_min && release->python_max);
  EXPECT_EQ(*release->python_min, Version::of("3.10"));
  EXPECT_EQ(*release->python_max, Version::of("3.13"));
}

TEST(XidLookup, TellsWhatACodeMeans) {
  const auto lost = catalog().xid(79);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->title, "GPU has fallen off the bus");
  EXPECT_EQ(lost->severity, XidSeverity::kFatal);
  EXPECT_EQ(lost->action, "reboot");
  EXPECT_FALSE(lost->gpu_usable);
  EXPECT_EQ(catalog().xid(31)->fault, "application");
  EXPECT_TRUE(catalog().xid(31)->gpu_usable);
  EXPECT_FALSE(catalog().xid(9999));
}

TEST(CatalogText, GivesTheRawTables) {
  EXPECT_NE(catalog().text("xid").find("[[xid]]"), std::string_view::npos);
  EXPECT_NE(catalog().text("platforms").find("[[distro]]"), std::string_view::npos);
  EXPECT_EQ(catalog().text("no such table"), "");
}

}  // namespace
}  // namespace gpuwright
