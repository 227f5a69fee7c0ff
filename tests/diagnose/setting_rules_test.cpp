#include <gtest/gtest.h>

#include "frameworks.h"

// Values of variables, as the frameworks read them.

namespace gpuwright {
namespace {

Machine with_variables(Framework framework, std::map<std::string, std::string> variables) {
  auto machine = machine_with(std::move(framework));
  machine.cuda.variables = std::move(variables);
  return machine;
}

bool refuses(Framework framework, std::map<std::string, std::string> variables) {
  const auto machine = with_variables(std::move(framework), std::move(variables));
  return !findings_of(judge("framework.setting-refused", machine)).empty();
}

bool ignores(Framework framework, std::map<std::string, std::string> variables) {
  const auto machine = with_variables(std::move(framework), std::move(variables));
  return !findings_of(judge("framework.setting-ignored", machine)).empty();
}

TEST(SettingRefused, ByJaxAsItsClientReadsIt) {
  EXPECT_TRUE(refuses(sound_jax(), {{"XLA_PYTHON_CLIENT_MEM_FRACTION", "80%"}}));
  EXPECT_TRUE(refuses(sound_jax(), {{"XLA_CLIENT_MEM_FRACTION", "half"}}));
  EXPECT_TRUE(refuses(sound_jax(), {{"XLA_CLIENT_MEM_FRACTION", "0.5"},
                                    {"XLA_PYTHON_CLIENT_MEM_FRACTION", "0.5"}}));
  EXPECT_FALSE(refuses(sound_jax(), {{"XLA_PYTHON_CLIENT_MEM_FRACTION", " .5 "}}));
  EXPECT_FALSE(refuses(sound_jax(), {{"XLA_PYTHON_CLIENT_MEM_FRACTION", ""}}));
  EXPECT_FALSE(refuses(sound_jax(), {{"XLA_PYTHON_CLIENT_ALLOCATOR", "Platform"}}));
  EXPECT_FALSE(refuses(sound_torch(), {{"XLA_PYTHON_CLIENT_ALLOCATOR", "misspelt"}}));
}

TEST(SettingRefused, ByPyTorchsAllocator) {
  EXPECT_TRUE(refuses(sound_torch(), {{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments"}}));
  EXPECT_TRUE(refuses(sound_torch(), {{"PYTORCH_ALLOC_CONF", "a:b,max_split_size_mb=1"}}));
  EXPECT_FALSE(refuses(sound_torch(), {{"PYTORCH_CUDA_ALLOC_CONF", ""}}));
  EXPECT_FALSE(refuses(sound_torch(), {{"PYTORCH_CUDA_ALLOC_CONF", "a:[1:2,3:4],b:c"}}));
  auto old = sound_torch();
  old.version = known(Version::of("1.13.1+cu117"));
  EXPECT_TRUE(refuses(old, {{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}}));
  EXPECT_FALSE(refuses(sound_torch(), {{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}}));
}

TEST(SettingRefused, ByTensorFlowOnGpusAndDriversWithoutMemoryPools) {
  const std::map<std::string, std::string> pools = {{"TF_GPU_ALLOCATOR", "cuda_malloc_async"}};
  EXPECT_FALSE(refuses(sound_tensorflow(), pools));
  auto old_driver = with_variables(sound_tensorflow(), pools);
  old_driver.driver.user_space_version = known(Version::of("450.80.02"));
  EXPECT_EQ(findings_of(judge("framework.setting-refused", old_driver)).size(), 1U);
  auto old_gpu = with_variables(sound_tensorflow(), pools);
  old_gpu.hardware.gpus.edit()[0].device_id = "13c2";  // GTX 970, Maxwell
  EXPECT_NE(finding_of(judge("framework.setting-refused", old_gpu)).statement.find("5.2"),
            std::string::npos);
}

TEST(SettingIgnored, LettersCount) {
  for (const auto* value : {"1", "True", "TRUE", "yes"})
    EXPECT_TRUE(ignores(sound_tensorflow(), {{"TF_FORCE_GPU_ALLOW_GROWTH", value}})) << value;
  for (const auto* value : {"true", "false", ""})
    EXPECT_FALSE(ignores(sound_tensorflow(), {{"TF_FORCE_GPU_ALLOW_GROWTH", value}})) << value;
  EXPECT_FALSE(ignores(sound_torch(), {{"TF_FORCE_GPU_ALLOW_GROWTH", "1"}}));
  for (const auto* value : {"no", "FALSE", "off"})
    EXPECT_TRUE(ignores(sound_jax(), {{"XLA_PYTHON_CLIENT_PREALLOCATE", value}})) << value;
  for (const auto* value : {"false", "False", "0", "true", "1"})
    EXPECT_FALSE(ignores(sound_jax(), {{"XLA_PYTHON_CLIENT_PREALLOCATE", value}})) << value;
}

TEST(SettingIgnored, FlagsNeedTwoDashes) {
  for (const auto* value : {"xla_gpu_autotune_level=0", "--xla_a=1 b=2", "--xla_a=1 xla_b"})
    EXPECT_TRUE(ignores(sound_jax(), {{"XLA_FLAGS", value}})) << value;
  for (const auto* value : {"", "--xla_a=1 --xla_b=2", "/etc/my.flags", "--xla_a=\"x=1 y=2\""})
    EXPECT_FALSE(ignores(sound_jax(), {{"XLA_FLAGS", value}})) << value;
  EXPECT_TRUE(ignores(sound_tensorflow(), {{"TF_XLA_FLAGS", "tf_xla_auto_jit=2"}}));
  EXPECT_FALSE(ignores(sound_jax(), {{"TF_XLA_FLAGS", "tf_xla_auto_jit=2"}}));
}

TEST(SlowSetting, IsToldForWhatIsInstalled) {
  const auto count = [](Framework framework, std::map<std::string, std::string> variables) {
    const auto machine = with_variables(std::move(framework), std::move(variables));
    return findings_of(judge("framework.slow-setting", machine)).size();
  };
  EXPECT_EQ(count(sound_jax(), {{"XLA_PYTHON_CLIENT_ALLOCATOR", "platform"}}), 1U);
  EXPECT_EQ(count(sound_torch(), {{"XLA_PYTHON_CLIENT_ALLOCATOR", "platform"}}), 0U);
  EXPECT_EQ(count(sound_torch(), {{"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}}), 1U);
  EXPECT_EQ(count(sound_jax(), {{"XLA_FLAGS", "--xla_dump_to=/tmp/x"}}), 1U);
  EXPECT_EQ(count(sound_torch(), {{"CUDA_LAUNCH_BLOCKING", "false"}}), 0U);
  auto cpu = sound_torch();
  cpu.build = text("cpu");
  EXPECT_EQ(count(cpu, {{"CUDA_LAUNCH_BLOCKING", "1"}}), 0U);
}

}  // namespace
}  // namespace gpuwright
