#include "probe/host_cpu.h"

#include <gtest/gtest.h>

#include "support/memory_system.h"

namespace gpuwright {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kServer =
    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8468\n"
    "flags\t\t: fpu vme sse sse2 ht pni ssse3 fma sse4_1 sse4_2 avx f16c hypervisor bmi2 avx2 "
    "avx512f\nbugs\t\t: spectre_v1\n\nprocessor\t: 1\nmodel name\t: another\n";

TEST(CpuInfo, IsThatOfTheFirstProcessor) {
  const auto info = parse_cpu_info(kServer);
  EXPECT_EQ(info.model, "Intel(R) Xeon(R) Platinum 8468");
  EXPECT_EQ(info.features, (Texts{"pni", "ssse3", "fma", "sse4_1", "sse4_2", "avx", "f16c", "bmi2",
                                  "avx2", "avx512f"}));
}

// QEMU's default processor, and a Jetson.
TEST(CpuInfo, OfOtherMachines) {
  const auto qemu = parse_cpu_info(
      "model name\t: QEMU Virtual CPU version 2.5+\nflags\t\t: fpu de sse sse2 pni cx16 "
      "hypervisor\n");
  EXPECT_EQ(qemu.features, Texts{"pni"});
  EXPECT_TRUE(qemu.has_features);
  const auto arm = parse_cpu_info("processor\t: 0\nFeatures\t: fp asimd evtstrm aes\n");
  EXPECT_EQ(arm.features, Texts{"asimd"});
  EXPECT_EQ(arm.model, "");
  EXPECT_FALSE(parse_cpu_info("nonsense").has_features);
}

TEST(FillCpu, TellsNotThereFromNotReadable) {
  MemorySystem system;
  Host host;
  fill_cpu(system, host);
  EXPECT_TRUE(host.cpu_features.is_unknown());
  system.add_file("/proc/cpuinfo", kServer);
  fill_cpu(system, host);
  EXPECT_TRUE(host.cpu_model.is("Intel(R) Xeon(R) Platinum 8468"));
  system.add_file("/proc/cpuinfo", "processor\t: 0\n");
  fill_cpu(system, host);
  EXPECT_TRUE(host.cpu_features.is_unknown());
}

}  // namespace
}  // namespace gpuwright
