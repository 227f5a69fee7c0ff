#include "probe/python_distributions.h"

#include <gtest/gtest.h>

#include "support/memory_system.h"

namespace gpuwright {
namespace {

std::string parsed(std::string_view entry) {
  const auto found = parse_distribution_name(entry);
  return found ? found->name + " " + found->version : "none";
}

std::string conda(std::string_view entry) {
  const auto found = parse_conda_record_name(entry);
  return found ? found->name + " " + found->version : "none";
}

std::vector<std::string> texts(const std::vector<Distribution>& distributions) {
  std::vector<std::string> found;
  for (const auto& d : distributions) found.push_back(d.name + " " + d.version + " " + d.location);
  return found;
}

using Texts = std::vector<std::string>;

TEST(DistributionName, IsThatOfTheMetadataDirectory) {
  EXPECT_EQ(parsed("nvidia_cudnn_cu12-9.3.0.75.dist-info"), "nvidia-cudnn-cu12 9.3.0.75");
  EXPECT_EQ(parsed("torch-2.11.0+cu130.dist-info"), "torch 2.11.0+cu130");
  EXPECT_EQ(parsed("tensorflow-2.16.0rc0.dist-info"), "tensorflow 2.16.0rc0");
  EXPECT_EQ(parsed("Some.Old-Tool-1.0.dist-info"), "some-old-tool 1.0");
  EXPECT_EQ(parsed("six-1.16.0.egg-info"), "six 1.16.0");
  EXPECT_EQ(parsed("PyYAML-6.0-py3.11-linux-x86_64.egg-info"), "pyyaml 6.0");
  EXPECT_EQ(parsed("numpy-1.16.0-py3.6-linux-x86_64.egg"), "numpy 1.16.0");
  EXPECT_EQ(parsed("mine.egg-info"), "mine ");
}

TEST(DistributionName, IsNoneOfAnythingElse) {
  EXPECT_EQ(parsed("torch"), "none");
  EXPECT_EQ(parsed(".dist-info"), "none");
  EXPECT_EQ(parsed("~ensorflow-2.10.0.dist-info"), "none");
  EXPECT_EQ(parsed("-ensorflow-2.10.0.dist-info"), "none");
  EXPECT_EQ(parsed("evil\x1b[31m-1.0.dist-info"), "none");
}

TEST(NormalisedName, FollowsPep503) {
  EXPECT_EQ(normalised_name("Foo.-_Bar"), "foo-bar");
  EXPECT_EQ(normalised_name("jaxlib"), "jaxlib");
}

TEST(CondaRecordName, HasItsVersionBetweenTheLastTwoDashes) {
  EXPECT_EQ(conda("cuda-cudart-12.6.77-h5888daf_0.json"), "cuda-cudart 12.6.77");
  EXPECT_EQ(conda("tensorflow-base-2.19.1-cuda128py312h9ab3b26_1.json"), "tensorflow-base 2.19.1");
  EXPECT_EQ(conda("history"), "none");
  EXPECT_EQ(conda("one-two.json"), "none");
  EXPECT_EQ(conda("-.json"), "none");
}

TEST(MetadataVersion, StandsInTheHeadOnly) {
  EXPECT_EQ(parse_metadata_version("Metadata-Version: 2.1\nName: x\nVersion: 1.2 \n\nVersion: 9\n"),
            "1.2");
  EXPECT_EQ(parse_metadata_version("Name: x\n\nVersion: 9\n"), "");
}

TEST(Distributions, KeepDuplicatesInTheOrderOfImport) {
  MemorySystem system;
  system.add_file("/user/numpy-2.1.0.dist-info/METADATA", "Version: 9.9\n");
  system.add_file("/base/numpy-1.26.4.dist-info/METADATA", "");
  system.add_file("/base/argcomplete-2.0.0.egg-info", "");
  system.add_directory("/base/numpy");
  EXPECT_EQ(texts(find_distributions(
                system, {{"/user", "user site", true}, {"/gone", "", false}, {"/base", "", true}})),
            (Texts{"numpy 2.1.0 /user", "argcomplete 2.0.0 /base", "numpy 1.26.4 /base"}));
}

TEST(Distributions, AreReadOnceFromADirectoryWithTwoNames) {
  MemorySystem system;
  system.add_directory("/v/lib/torch-2.5.0.dist-info");
  system.add_link("/v/lib64", "lib");
  EXPECT_EQ(texts(find_distributions(system, {{"/v/lib64", "", true}, {"/v/lib", "", true}})),
            Texts{"torch 2.5.0 /v/lib64"});
}

TEST(Distributions, OpenTheMetadataOnlyWhereTheNameHasNoVersion) {
  MemorySystem system;
  system.add_file("/src/mine.egg-info/PKG-INFO", "Metadata-Version: 2.1\nVersion: 0.3\n");
  system.add_file("/src/old.egg-info", "Metadata-Version: 1.0\nVersion: 0.1\n");
  system.add_file("/eggs/pkg-1.5-py3.8.egg/EGG-INFO/PKG-INFO", "Version: 7\n");
  EXPECT_EQ(texts(find_distributions(system,
                                     {{"/src", "", true}, {"/eggs/pkg-1.5-py3.8.egg", "", true}})),
            (Texts{"mine 0.3 /src", "old 0.1 /src", "pkg 1.5 /eggs/pkg-1.5-py3.8.egg"}));
}

TEST(CondaPackages, AreThoseThatPythonDoesNotKnow) {
  MemorySystem system;
  system.add_file("/c/conda-meta/history", "");
  system.add_file("/c/conda-meta/numpy-1.26.4-py312heda63a1_0.json", "{}");
  system.add_file("/c/conda-meta/libcublas-12.6.4.1-h5888daf_1.json", "{}");
  EXPECT_EQ(texts(find_conda_packages(system, "/c", {{"numpy", "1.26.4", "/c/site-packages"}})),
            Texts{"libcublas 12.6.4.1 /c/conda-meta"});
  EXPECT_TRUE(find_conda_packages(system, "/usr", {}).empty());
}

}  // namespace
}  // namespace gpuwright
