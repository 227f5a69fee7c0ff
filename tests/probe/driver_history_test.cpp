#include "probe/driver_history.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "support/memory_system.h"

namespace gpuwright {
namespace {

Fact<std::vector<PackageEvent>> history(const System& system) {
  Driver driver;
  fill_package_history(system, driver);
  return driver.package_history;
}

TEST(PackageOfInterest, IsOfTheDriverOrAKernel) {
  for (const auto* name :
       {"libnvidia-compute-550", "nvidia-driver-550", "nvidia-dkms-550-open", "libcuda1",
        "linux-image-6.8.0-49-generic", "kernel-core", "xorg-x11-drv-nvidia-cuda", "nvidia-utils",
        "linux-modules-nvidia-550-generic", "nvidia-compute-G06", "linux"})
    EXPECT_TRUE(is_driver_or_kernel_package(name)) << name;
  for (const auto* name :
       {"nvidia-container-toolkit", "libnvidia-container1", "nvidia-settings",
        "nvidia-cuda-toolkit", "libcudnn9-cuda-12", "linux-firmware", "python3", "kernel-tools"})
    EXPECT_FALSE(is_driver_or_kernel_package(name)) << name;
}

constexpr const char* kDpkg =
    "2026-11-20 06:12:30 startup archives unpack\n"
    "2026-11-20 06:12:33 upgrade libnvidia-compute-550:amd64 550.54.14-0ubuntu1 "
    "550.54.15-0ubuntu1\n"
    "2026-11-20 06:12:33 status half-configured libnvidia-compute-550:amd64 550.54.14-0ubuntu1\n"
    "2026-11-20 06:12:33 upgrade libnvidia-compute-550:i386 550.54.14-0ubuntu1 "
    "550.54.15-0ubuntu1\n"
    "2026-11-21 09:00:01 install nvidia-dkms-550:amd64 <none> 550.54.15-0ubuntu1\n"
    "2026-11-21 09:01:00 upgrade openssl:amd64 3.0.13-0 3.0.14-0\n"
    "2026-11-22 10:00:00 remove nvidia-driver-535:amd64 535.183.01-0ubuntu1 <none>\n";

TEST(DpkgLog, GivesEventsOnceAndWithoutTheNoise) {
  const auto events = parse_dpkg_log(kDpkg);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0],
            (PackageEvent{"2026-11-20 06:12:33", "upgrade", "libnvidia-compute-550",
                          "550.54.14-0ubuntu1", "550.54.15-0ubuntu1", "/var/log/dpkg.log"}));
  EXPECT_EQ(events[1].action, "install");
  EXPECT_EQ(events[1].from, "");
  EXPECT_EQ(events[2].action, "remove");
  EXPECT_EQ(events[2].to, "");
}

TEST(DnfLog, PutsBothHalvesOfAnUpgradeTogether) {
  const auto events = parse_dnf_log(
      "2026-11-20T06:12:33+0100 INFO --- logging initialized ---\n"
      "2026-11-20T06:12:33+0100 SUBDEBUG Upgrade: nvidia-driver-cuda-3:550.54.15-1.el9.x86_64\n"
      "2026-11-20T06:12:35+0100 SUBDEBUG Installed: kernel-core-5.14.0-503.11.1.el9_5.x86_64\n"
      "2026-11-20T06:12:41+0100 SUBDEBUG Upgraded: nvidia-driver-cuda-3:550.54.14-1.el9.x86_64\n"
      "2026-11-20T06:12:42+0100 SUBDEBUG Erase: kmod-nvidia-3:535.183.01-1.el9.x86_64\n"
      "2026-11-20T06:12:43+0100 SUBDEBUG Upgrade: bash-5.1.8-9.el9.x86_64\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].package, "nvidia-driver-cuda");
  EXPECT_EQ(events[0].from, "550.54.14-1.el9");
  EXPECT_EQ(events[0].to, "550.54.15-1.el9");
  EXPECT_EQ(events[1].to, "5.14.0-503.11.1.el9_5");
  EXPECT_EQ(events[2].action, "remove");
  EXPECT_EQ(events[2].from, "535.183.01-1.el9");
}

TEST(ZyppHistory, TellsAnUpgradeAsASecondInstall) {
  const auto events = parse_zypp_history(
      "# 2026-11-02 10:00:00 nvidia-compute-G06 installed ok\n"
      "2026-11-02 "
      "10:00:00|install|nvidia-compute-G06|550.54.14-lp155.1.1|x86_64|root@host|repo|x|\n"
      "2026-11-20 06:12:33|install|nvidia-compute-G06|550.54.15-lp155.1.1|x86_64||repo|x|\n"
      "2026-11-20 06:12:40|remove |nvidia-compute-G05|470.256.02-1|x86_64|root@host|\n"
      "2026-11-20 06:12:41|command|root@host|'zypper' 'up'|\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].action, "install");
  EXPECT_EQ(events[1].action, "upgrade");
  EXPECT_EQ(events[1].from, "550.54.14-lp155.1.1");
  EXPECT_EQ(events[2].action, "remove");
}

TEST(PacmanLog, ReadsTheFourKinds) {
  const auto events = parse_pacman_log(
      "[2026-11-20T06:12:30+0100] [PACMAN] starting full system upgrade\n"
      "[2026-11-20T06:12:33+0100] [ALPM] upgraded nvidia-utils (550.54.14-1 -> 550.54.15-1)\n"
      "[2026-11-20T06:12:34+0100] [ALPM] upgraded linux (6.12.1.arch1-1 -> 6.12.2.arch1-1)\n"
      "[2026-11-20T06:12:35+0100] [ALPM] installed nvidia-open (550.54.15-1)\n"
      "[2026-11-20T06:12:36+0100] [ALPM] removed nvidia (550.54.14-1)\n"
      "[2026-11-20T06:12:37+0100] [ALPM] upgraded bash (5.2-1 -> 5.3-1)\n"
      "[2026-11-20T06:12:38+0100] [ALPM] running 'depmod.hook'...\n");
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].time, "2026-11-20T06:12:33+0100");
  EXPECT_EQ(events[0].from, "550.54.14-1");
  EXPECT_EQ(events[0].to, "550.54.15-1");
  EXPECT_EQ(events[2].to, "550.54.15-1");
  EXPECT_EQ(events[3].from, "550.54.14-1");
}

constexpr const char* kAptHistory =
    "\nStart-Date: 2026-11-20  06:12:30\nCommandline: /usr/bin/unattended-upgrade\n"
    "Upgrade: libnvidia-compute-550:amd64 (550.54.14-0ubuntu1, 550.54.15-0ubuntu1)\n"
    "End-Date: 2026-11-20  06:12:50\n"
    "\nStart-Date: 2026-11-21  09:00:00\nCommandline: apt install nvidia-dkms-550\n"
    "Requested-By: alice (1000)\nEnd-Date: 2026-11-21  09:02:00\n";

TEST(AptHistory, TellsWhatNobodyAskedFor) {
  const auto runs = parse_unattended_runs(kAptHistory);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].begin, "2026-11-20 06:12:30");
  EXPECT_EQ(runs[0].end, "2026-11-20 06:12:50");
  auto events = parse_dpkg_log(kDpkg);
  mark_unattended(runs, events);
  EXPECT_EQ(events[0].action, "unattended upgrade");
  EXPECT_EQ(events[1].action, "install");
}

TEST(PackageHistory, ReadsTheRotatedLogFirst) {
  MemorySystem system;
  system.add_file("/var/log/dpkg.log", "");
  system.add_file("/var/log/dpkg.log.1", kDpkg);
  system.add_file("/var/log/apt/history.log.1", kAptHistory);
  const auto events = history(system);
  ASSERT_TRUE(events.is_known());
  ASSERT_EQ(events->size(), 3u);
  EXPECT_EQ(events->front().log, "/var/log/dpkg.log.1");
  EXPECT_EQ(events->front().action, "unattended upgrade");
}

TEST(PackageHistory, IsAbsentWithoutALogAndUnknownBehindAPermission) {
  MemorySystem system;
  EXPECT_TRUE(history(system).is_absent());
  system.set_error("/var/log/dnf.rpm.log", EACCES);
  EXPECT_TRUE(history(system).is_unknown());
}

TEST(PackageHistory, KeepsTheNewestOfALongLog) {
  MemorySystem system;
  std::string log;
  for (int i = 0; i < 20000; ++i)
    log += "2026-11-20 06:12:33 upgrade nvidia-driver-550:amd64 1." + std::to_string(i) + " 2." +
           std::to_string(i) + "\n";
  system.add_file("/var/log/dpkg.log", log);
  const auto events = history(system);
  ASSERT_EQ(events->size(), 50u);
  EXPECT_EQ(events->back().to, "2.19999");
}

TEST(PackageHistory, SurvivesRubbish) {
  const std::string zeros(4096, '\0');
  for (const std::string& text : {zeros, std::string("||||\n|\n"), std::string("[ [ALPM] x\n"),
                                 std::string("a b Upgrade: -.\na b Upgrade: nvidia-.\n")}) {
    parse_dpkg_log(text);
    parse_zypp_history(text);
    parse_pacman_log(text);
    parse_unattended_runs(text);
    EXPECT_TRUE(parse_dnf_log(text).empty());
  }
}

}  // namespace
}  // namespace gpuwright
