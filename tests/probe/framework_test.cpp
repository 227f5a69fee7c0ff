#include "probe/framework.h"

#include <gtest/gtest.h>

#include "probe/torch_preload.h"
#include "torch_init.h"

namespace gpuwright {
namespace {

using Texts = std::vector<std::string>;

Texts patterns(const std::vector<TorchPreload>& list) {
  Texts texts;
  for (const auto& preload : list)
    texts.push_back(preload.folder + " " + preload.pattern.substr(0, preload.pattern.find('.')) +
                    (preload.required ? "" : " optional"));
  return texts;
}

TEST(TorchPreload, UpTo2_5OnlyAFailureLoadsAnything) {
  const auto plan = parse_torch_preload(torch_init_2_4());
  EXPECT_TRUE(plan.after_success.empty());
  EXPECT_EQ(plan.after_failure.size(), 11U);
  EXPECT_EQ(plan.after_failure.front(), (TorchPreload{"cublas", "libcublas.so.*[0-9]", true}));
  EXPECT_EQ(plan.places, (Texts{"nvidia/%F/lib"}));
}

TEST(TorchPreload, From2_6TwoLibrariesFollowSuccessOfTheWheelsRuntime) {
  const auto plan = parse_torch_preload(torch_init_2_6());
  EXPECT_EQ(plan.success_needs, "nvidia/cuda_runtime/lib/libcudart.so");
  EXPECT_EQ(patterns(plan.after_success), (Texts{"cuda_nvrtc libnvrtc", "nvjitlink libnvJitLink"}));
  EXPECT_EQ(plan.after_failure.size(), 11U);
  EXPECT_EQ(plan.places, (Texts{"nvidia/%F/lib", "%F/lib"}));
}

TEST(TorchPreload, From2_9AnyRuntimeWillDoAndCuda13sDirectoryIsSearched) {
  const auto plan = parse_torch_preload(torch_init_2_9());
  EXPECT_EQ(plan.success_needs, "libcudart.so");
  EXPECT_EQ(
      patterns(plan.after_success),
      (Texts{"cuda_nvrtc libnvrtc", "cuda_nvrtc libnvrtc-builtins", "nvjitlink libnvJitLink"}));
  EXPECT_EQ(patterns(plan.after_failure),
            (Texts{"cublas libcublas", "cufile libcufile", "nvtx libnvToolsExt optional"}));
  EXPECT_EQ(plan.places, (Texts{"nvidia/%F/lib", "nvidia/cu%M/lib", "%F/lib"}));
}

TEST(TorchPreload, From2_10TheWholeListFollowsSuccessAndAGapEndsIt) {
  const auto plan = parse_torch_preload(torch_init_2_10(libraries_of_2_10(), ""));
  EXPECT_EQ(plan.after_success, plan.after_failure);
  EXPECT_EQ(plan.after_success.size(), 16U);
  EXPECT_TRUE(plan.after_success.front().required);
  EXPECT_EQ(patterns(plan.after_success).back(), "nvtx libnvToolsExt optional");
}

TEST(TorchPreload, From2_14AGapEndsNothingAfterSuccess) {
  const auto plan = parse_torch_preload(torch_init_2_15());
  EXPECT_EQ(patterns(plan.after_success).front(), "cublas libcublasLt optional");
  EXPECT_EQ(patterns(plan.after_failure).front(), "cublas libcublasLt");
}

TEST(TorchPreload, UnknownTextGivesNothing) {
  for (const auto* text :
       {"", "def _load_global_deps():\n  pass\n", "def _preload_cuda_deps(): 1\n"})
    EXPECT_TRUE(parse_torch_preload(text).after_failure.empty()) << text;
}

Python with(std::vector<Distribution> distributions) {
  Python python;
  python.distributions = std::move(distributions);
  return python;
}

TEST(LibraryVersion, ComesFromTheFileNameWhereItIsFullThere) {
  EXPECT_EQ(library_version({}, "/usr/lib/libcudnn.so.9.19.0")->text(), "9.19.0");
  EXPECT_EQ(library_version({}, "/usr/lib/libcuda.so.580.95.05")->text(), "580.95.05");
}

TEST(LibraryVersion, ComesFromTheWheelThatOwnsTheFile) {
  const auto python = with({{"nvidia-cudnn-cu12", "9.3.0.75", "/env/site-packages"},
                            {"nvidia-cublas", "13.1.0.3", "/env/site-packages"}});
  const auto version = [&](const char* below) {
    return library_version(python, std::string("/env/site-packages/nvidia/") + below);
  };
  EXPECT_EQ(version("cudnn/lib/libcudnn.so.9")->text(), "9.3.0.75");
  EXPECT_EQ(version("cudnn/lib/libcudnn_graph.so.9")->text(), "9.3.0.75");
  EXPECT_EQ(version("cu13/lib/libcublasLt.so.13")->text(), "13.1.0.3");
  EXPECT_TRUE(version("cufft/lib/libcufft.so.11").is_unknown());
}

TEST(LibraryVersion, IsUnknownOutsideTheEnvironmentThatHasTheWheel) {
  const auto python = with({{"nvidia-cudnn-cu12", "9.3.0.75", "/env/site-packages"}});
  EXPECT_TRUE(library_version(python, "/opt/cuda/lib/libcudnn.so.9").is_unknown());
}

TEST(LibraryVersion, IsUnknownWhenTwoWheelsWriteTheSameFile) {
  const auto python = with({{"nvidia-cudnn-cu11", "8.9.6.50", "/env/site-packages"},
                            {"nvidia-cudnn-cu12", "9.3.0.75", "/env/site-packages"}});
  const auto version = library_version(python, "/env/site-packages/nvidia/cudnn/lib/libcudnn.so.9");
  ASSERT_TRUE(version.is_unknown());
  EXPECT_NE(version.reason().find("both write"), std::string::npos);
}

TEST(LibraryVersion, ComesFromTheCondaPackageOfThePrefix) {
  const auto python = with({{"cudnn", "9.10.1.4", "/opt/conda/conda-meta"}});
  EXPECT_EQ(library_version(python, "/opt/conda/lib/libcudnn.so.9")->text(), "9.10.1.4");
  EXPECT_TRUE(library_version(python, "/opt/conda2/lib/libcudnn.so.9").is_unknown());
}

TEST(GpuLibrary, IsToldByTheStemOfTheFileName) {
  for (const auto* name : {"libcudart.so.12", "libcudart-faf08d9a.so.13", "libcudnn_graph.so.9",
                           "libcuda.so.580.95.05", "libnvrtc-builtins.so.13.0", "libstdc++.so.6"})
    EXPECT_TRUE(is_gpu_library(name)) << name;
  for (const auto* name :
       {"libc.so.6", "libcudart_static.a", "libnvrtc.alt.txt", "libcudadebug.so"})
    EXPECT_FALSE(is_gpu_library(name)) << name;
}

}  // namespace
}  // namespace gpuwright
