#include "probe/host_limits.h"

#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "probe/probe.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

TEST(OpenFilesLimit, IsTheSoftOne) {
  EXPECT_EQ(parse_open_files_limit(
                "Limit                     Soft Limit           Hard Limit           Units     \n"
                "Max open files            1024                 1048576              files     \n"),
            1024U);
  EXPECT_EQ(parse_open_files_limit("Max open files            unlimited            unlimited\n"),
            ~std::uint64_t{0});
  EXPECT_EQ(parse_open_files_limit("Max open files"), std::nullopt);
  EXPECT_EQ(parse_open_files_limit(""), std::nullopt);
}

TEST(MemoryTotal, IsInBytes) {
  EXPECT_EQ(parse_memory_total("MemTotal:       24646656 kB\nMemFree: 1 kB\n"), 24646656ULL * 1024);
  EXPECT_EQ(parse_memory_total("MemTotal: 18446744073709551615 kB"), std::nullopt);
  EXPECT_EQ(parse_memory_total("MemTotal: 1"), std::nullopt);
}

TEST(MemoryGroup, IsOfTheControllerThatHasMemory) {
  const auto unified = parse_memory_group("0::/user.slice/user-1000.slice\n");
  ASSERT_TRUE(unified.has_value());
  EXPECT_TRUE(unified->unified);
  EXPECT_EQ(unified->path, "/user.slice/user-1000.slice");
  const auto hybrid = parse_memory_group("9:cpu,memory:/docker/ab\n0::/init.scope\n");
  ASSERT_TRUE(hybrid.has_value());
  EXPECT_FALSE(hybrid->unified);
  EXPECT_EQ(hybrid->path, "/docker/ab");
  EXPECT_EQ(parse_memory_group("nonsense\n7:x\n"), std::nullopt);
}

TEST(MemoryLimit, IsNothingForMaxAndForTheLargestNumber) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1073741824U);
  EXPECT_EQ(parse_memory_limit("max\n"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("9223372036854771712\n"), std::nullopt);
}

Machine limits_of(const MemorySystem& system) {
  const Machine before;
  Machine machine;
  probe_limits({system, before, Catalog::built_in(), {}})(machine);
  return machine;
}

TEST(Limits, TakeTheSmallestOnTheWayUp) {
  MemorySystem system;
  system.add_file("/proc/self/cgroup", "0::/a/b\n");
  system.add_file("/sys/fs/cgroup/a/memory.max", "2000000\n");
  system.add_file("/sys/fs/cgroup/a/b/memory.max", "max\n");
  const auto machine = limits_of(system);
  ASSERT_TRUE(machine.host.memory_limit_bytes.is_known());
  EXPECT_EQ(*machine.host.memory_limit_bytes, 2000000U);
  EXPECT_EQ(machine.host.memory_limit_bytes.source(), "/sys/fs/cgroup/a/memory.max");
}

TEST(Limits, AskForTheRoomWhereTemporaryFilesGo) {
  MemorySystem system;
  system.environment_block = {{"TMPDIR", "/scratch"}, {"HOME", "/home/u"}};
  system.add_directory("/scratch");
  system.add_directory("/home/u");
  const auto machine = limits_of(system);
  ASSERT_TRUE(machine.host.spaces.is_known());
  ASSERT_EQ(machine.host.spaces->size(), 2U);
  EXPECT_EQ(machine.host.spaces->at(0).path, "/scratch");
  EXPECT_EQ(machine.host.spaces->at(0).purpose, "temporary files");
  EXPECT_EQ(machine.host.spaces->at(1).purpose, "home");
}

TEST(Limits, AreUnknownInATreeWithoutProc) {
  const auto machine = limits_of(MemorySystem());
  EXPECT_TRUE(machine.host.open_files.is_unknown());
  EXPECT_TRUE(machine.host.memory_limit_bytes.is_unknown());
}

}  // namespace
}  // namespace gpuwright
