#include "probe/driver_holders.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "support/memory_system.h"

namespace gpuwright {
namespace {

using Lines = std::vector<std::string>;

Driver loaded(const char* module, const char* library) {
  Driver driver;
  driver.module_version = Fact<Version>::known(Version::of(module), "test");
  driver.user_space_version = Fact<Version>::known(Version::of(library), "test");
  driver.kernel_log = Fact<Lines>::known({}, "kernel log");
  return driver;
}

constexpr const char* kMaps =
    "55d0c0a00000-55d0c0a01000 r--p 00000000 08:01 131 /usr/bin/python3.12\n"
    "7f1200000000-7f1200800000 r-xp 00000000 08:01 777 "
    "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14 (deleted)\n"
    "7f1300000000-7f1300800000 rw-s 00000000 00:05 12 /dev/nvidia0\n";

TEST(HeldLibrary, IsNamedAsTheKernelNamesIt) {
  EXPECT_EQ(held_library(kMaps), "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14 (deleted)");
  EXPECT_EQ(held_library("7f-80 r-xp 0 08:01 7 /usr/lib/libnvidia-cfg.so.1\n"),
            "/usr/lib/libnvidia-cfg.so.1");
  EXPECT_EQ(held_library("7f-80 r-xp 0 08:01 7 /usr/lib/libc.so.6\n"), "");
  EXPECT_EQ(held_library(""), "");
}

TEST(TaskState, StandsBehindTheLastParenthesis) {
  const auto state = parse_task_state("812 (a) S (b) D 1 812 812 0 -1");
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->name, "a) S (b");
  EXPECT_EQ(state->state, 'D');
  EXPECT_FALSE(parse_task_state("812 python3").has_value());
  EXPECT_FALSE(parse_task_state("812 )x(").has_value());
  EXPECT_FALSE(parse_task_state("812 (x)").has_value());
}

TEST(PlaceInTheKernel, BelongsToTheDriverByItsName) {
  for (const auto* name : {"nvidia_ioctl", "uvm_gpu_retain_by_uuid", "os_acquire_rwlock_read",
                           "nvkms_ioctl", "rm_ioctl", "_nv000731rm", "nv_drm_open"})
    EXPECT_TRUE(is_inside_driver(name)) << name;
  for (const auto* name : {"io_schedule", "nvme_wait", "rwsem_down_read_slowpath", "", "0"})
    EXPECT_FALSE(is_inside_driver(name)) << name;
}

TEST(Holders, AreAskedForOnlyWhenVersionsDiffer) {
  MemorySystem system;
  system.add_file("/proc/4711/maps", kMaps);
  system.add_file("/proc/4711/comm", "python3\n");
  auto driver = loaded("550.54.14", "550.54.14");
  fill_driver_holders(system, driver);
  EXPECT_TRUE(driver.holders.is_unknown());
  driver = loaded("550.54.14", "550.54.15");
  fill_driver_holders(system, driver);
  ASSERT_TRUE(driver.holders.is_known());
  ASSERT_EQ(driver.holders->size(), 1u);
  EXPECT_EQ(driver.holders->front().pid, 4711u);
  EXPECT_EQ(driver.holders->front().name, "python3");
}

TEST(Holders, KnowANodeFromItsDescriptorAndCountTheHidden) {
  MemorySystem system;
  system.add_file("/proc/902/maps", "");
  system.add_file("/proc/902/comm", "nvidia-persiste\n");
  system.add_link("/proc/902/fd/3", "/dev/nvidia0");
  system.add_file("/proc/1/comm", "systemd\n");
  system.set_error("/proc/1/maps", EACCES);
  auto driver = loaded("550.54.14", "550.54.15");
  fill_driver_holders(system, driver);
  ASSERT_EQ(driver.holders->size(), 1u);
  EXPECT_EQ(driver.holders->front().holds, "/dev/nvidia0");
  EXPECT_EQ(driver.holders.source(), "/proc, without 1 processes of other users");
}

MemorySystem with_stuck_task(const char* wchan) {
  MemorySystem system;
  system.add_file("/proc/version", "Linux version 6.8.0\n");
  system.add_file("/proc/4711/stat", "4711 (python3) D 1 4711 4711 0 -1 4194304\n");
  system.add_file("/proc/4711/wchan", wchan);
  system.add_file("/proc/4712/stat", "4712 (bash) S 1 4712 4712 0 -1 4194304\n");
  return system;
}

TEST(BlockedTasks, AreLookedForWhenTheLogSpeaksOfAHang) {
  const auto system = with_stuck_task("uvm_gpu_retain_by_uuid");
  auto driver = loaded("550.54.14", "550.54.14");
  fill_driver_holders(system, driver);
  ASSERT_TRUE(driver.blocked.is_known());
  EXPECT_TRUE(driver.blocked->empty()) << "nothing in the log";
  driver.kernel_log = Fact<Lines>::known(
      {"[ 1.0] INFO: task python3:4711 blocked for more than 122 seconds."}, "kernel log");
  fill_driver_holders(system, driver);
  ASSERT_EQ(driver.blocked->size(), 1u);
  EXPECT_EQ(driver.blocked->front().where, "uvm_gpu_retain_by_uuid");
}

TEST(BlockedTasks, AreOfTheDriverOnly) {
  const auto system = with_stuck_task("io_schedule");
  auto driver = loaded("550.54.14", "550.54.14");
  driver.kernel_log = Fact<Lines>::known(
      {"[ 1.0] INFO: task python3:4711 blocked for more than 122 seconds."}, "kernel log");
  fill_driver_holders(system, driver);
  EXPECT_TRUE(driver.blocked->empty());
}

TEST(BlockedTasks, CannotBeWhereTheLoadIsNearNothing) {
  auto system = with_stuck_task("nvidia_ioctl");
  auto driver = loaded("550.54.14", "550.54.14");
  driver.kernel_log = Fact<Lines>::unknown("kernel log", "restricted");
  system.add_file("/proc/loadavg", "0.14 0.03 0.01 1/203 442\n");
  fill_driver_holders(system, driver);
  EXPECT_TRUE(driver.blocked->empty());
  EXPECT_EQ(driver.blocked.source(), "/proc/loadavg");
  system.add_file("/proc/loadavg", "1.02 1.00 0.91 1/203 442\n");
  fill_driver_holders(system, driver);
  EXPECT_EQ(driver.blocked->size(), 1u);
}

}  // namespace
}  // namespace gpuwright
