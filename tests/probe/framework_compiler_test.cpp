#include "probe/framework_compiler.h"

#include <gtest/gtest.h>

#include "support/memory_system.h"

namespace gpuwright {
namespace {

constexpr const char* kSite = "/venv/lib/python3.12/site-packages";

Framework found(const MemorySystem& system) {
  Framework framework;
  find_compiler(system, kSite, framework);
  return framework;
}

TEST(Compiler, IsAbsentWhereNoRootHasIt) {
  MemorySystem system;
  system.environment_block["PATH"] = "/usr/bin";
  EXPECT_TRUE(found(system).libdevice.is_absent());
  EXPECT_TRUE(found(system).ptxas.is_absent());
}

TEST(Compiler, ComesFromTheWheel) {
  MemorySystem system;
  const std::string wheel = std::string(kSite) + "/nvidia/cuda_nvcc";
  system.add_file(wheel + "/nvvm/libdevice/libdevice.10.bc", "BC");
  system.add_file(wheel + "/bin/ptxas", "");
  EXPECT_EQ(*found(system).libdevice, wheel + "/nvvm/libdevice/libdevice.10.bc");
  EXPECT_EQ(*found(system).ptxas, wheel + "/bin/ptxas");
}

TEST(Compiler, ComesFromTheDirectoryOfTheFlagFirst) {
  MemorySystem system;
  system.environment_block["XLA_FLAGS"] = "--xla_dump_to=/x --xla_gpu_cuda_data_dir=/opt/mine";
  system.add_file("/opt/mine/nvvm/libdevice/libdevice.10.bc", "BC");
  system.add_file("/usr/local/cuda/nvvm/libdevice/libdevice.10.bc", "BC");
  EXPECT_EQ(*found(system).libdevice, "/opt/mine/nvvm/libdevice/libdevice.10.bc");
}

TEST(Compiler, ComesFromACondaEnvironmentAndFromPath) {
  MemorySystem system;
  system.environment_block["PATH"] = "relative:/opt/bin";
  system.add_file("/venv/nvvm/libdevice/libdevice.10.bc", "BC");
  system.add_file("/opt/bin/ptxas", "");
  EXPECT_EQ(*found(system).libdevice, "/venv/nvvm/libdevice/libdevice.10.bc");
  EXPECT_EQ(*found(system).ptxas, "/opt/bin/ptxas");
}

}  // namespace
}  // namespace gpuwright
