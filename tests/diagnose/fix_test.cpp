#include "diagnose/fix.h"

#include <gtest/gtest.h>

#include "diagnose/machines.h"

namespace gpuwright {
namespace {

TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("/usr/lib64:/opt/x-1.2_3+cu"), "/usr/lib64:/opt/x-1.2_3+cu");
  EXPECT_EQ(shell_word("6.8.0; rm -rf ~"), "'6.8.0; rm -rf ~'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$(id)"), "'$(id)'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(PackageManager, IsUnknownForDistributionsThatAreNotListed) {
  Machine machine = healthy_machine();
  EXPECT_EQ(package_manager(machine), PackageManager::kApt);
  machine.host.distribution = text("nixos");
  EXPECT_EQ(package_manager(machine), PackageManager::kUnknown);
  EXPECT_EQ(pick(machine, {.apt = "a", .dnf = "d", .zypper = "z", .pacman = "p"}), "");
}

std::string install_on(const char* distribution, const char* version, const char* device_id) {
  Machine machine = healthy_machine();
  machine.host.distribution = text(distribution);
  machine.host.distribution_version = text(version);
  return install_driver(machine, Catalog::built_in(), {healthy_gpu("0000:01:00.0", device_id)})
      .at(0)
      .command;
}

TEST(InstallDriver, SpeaksTheDistributionsLanguage) {
  constexpr const char* kAmpere = "2204";
  EXPECT_EQ(install_on("ubuntu", "24.04", kAmpere), "sudo ubuntu-drivers install");
  EXPECT_EQ(install_on("debian", "12", kAmpere),
            "sudo apt install linux-headers-amd64 nvidia-driver firmware-misc-nonfree");
  EXPECT_EQ(install_on("rocky", "9.4", kAmpere),
            "sudo dnf module enable nvidia-driver:open-dkms && sudo dnf install nvidia-open");
  EXPECT_EQ(install_on("rhel", "10.0", kAmpere), "sudo dnf install nvidia-open");
  EXPECT_EQ(install_on("opensuse-leap", "15.6", kAmpere), "sudo zypper install nvidia-open");
  EXPECT_EQ(install_on("arch", "", kAmpere), "sudo pacman -S nvidia-open nvidia-utils");
  EXPECT_EQ(install_on("nixos", "24.11", kAmpere), "") << "in words";
}

TEST(InstallDriver, TakesTheLastBranchForOldGpusAndTheOpenModuleForNewOnes) {
  constexpr const char* kPascal = "1c82";
  constexpr const char* kKepler = "102d";
  constexpr const char* kBlackwell = "2b85";
  EXPECT_EQ(install_on("ubuntu", "24.04", kPascal), "sudo apt install nvidia-driver-580");
  EXPECT_EQ(install_on("ubuntu", "24.04", kBlackwell), "sudo apt install nvidia-driver-570-open");
  EXPECT_EQ(install_on("debian", "12", kKepler),
            "sudo apt install linux-headers-amd64 nvidia-tesla-470-driver");
  EXPECT_EQ(install_on("debian", "12", kBlackwell), "sudo apt install nvidia-open");
  EXPECT_EQ(install_on("almalinux", "9.4", kPascal),
            "sudo dnf module enable nvidia-driver:580-dkms && sudo dnf install cuda-drivers");
  EXPECT_EQ(install_on("arch", "", kPascal), "yay -S nvidia-580xx-dkms nvidia-580xx-utils");
}

TEST(InstallDriver, SaysWhenNoDriverServesAll) {
  const auto steps =
      install_driver(healthy_machine(), Catalog::built_in(),
                     {healthy_gpu("0000:01:00.0", "1c82"), healthy_gpu("0000:02:00.0", "2b85")});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_TRUE(steps[0].command.empty());
}

TEST(BuildModule, QuotesAHostileKernelName) {
  for (const auto& step : build_module(healthy_machine(), "6.1; reboot"))
    EXPECT_EQ(step.command.find("6.1; reboot"), step.command.find("'6.1; reboot'") + 1);
}

}  // namespace
}  // namespace gpuwright
