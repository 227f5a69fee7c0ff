#include <gtest/gtest.h>

#include "diagnose/machines.h"
#include "diagnose/package_story.h"

namespace gpuwright {
namespace {

constexpr const char* kMismatch = "driver.version-mismatch";

// The libraries went on to 535.274.02, and so did the module's file.
Machine upgraded() {
  Machine machine = healthy_machine();
  for (auto& library : machine.driver.libraries.edit())
    library = healthy_library(library.name.c_str(), "535.274.02");
  machine.driver.module_files.edit()[0].version = known(Version::of("535.274.02"));
  return machine;
}

PackageEvent event(const char* action, const char* package, const char* from, const char* to) {
  return {"2026-11-20 06:12:33", action, package, from, to, "/var/log/dpkg.log"};
}

TEST(MismatchStory, NamesTheLibrarysOwnPackageAndWhoReplacedIt) {
  Machine machine = upgraded();
  machine.driver.package_history = known(std::vector<PackageEvent>{
      event("upgrade", "libcuda1", "535.216.01-1", "535.261.03-1"),
      event("unattended upgrade", "libcuda1", "535.261.03-1", "535.274.02-1"),
      event("unattended upgrade", "nvidia-driver", "535.261.03-1", "535.274.02-1")});
  const auto finding = finding_of(judge(kMismatch, machine));
  EXPECT_NE(finding.cause.find("an unattended upgrade replaced libcuda1 535.261.03-1 by "
                               "535.274.02-1"),
            std::string::npos)
      << finding.cause;
}

TEST(MismatchStory, IsNotToldOfAnotherVersion) {
  Machine machine = upgraded();
  machine.driver.package_history = known(
      std::vector<PackageEvent>{event("upgrade", "libcuda1", "535.216.01-1", "535.261.03-1")});
  EXPECT_EQ(finding_of(judge(kMismatch, machine)).cause.find("2026-11-20"), std::string::npos);
}

TEST(MismatchFix, IsAReloadWhereRootSeesThatNobodyHoldsTheDriver) {
  Machine machine = upgraded();
  machine.host.uid = known<std::uint64_t>(0);
  machine.driver.holders = known(std::vector<DriverHolder>{});
  const auto finding = finding_of(judge(kMismatch, machine));
  EXPECT_EQ(finding.fix.at(0).command, "sudo rmmod nvidia_uvm nvidia && sudo modprobe nvidia");
}

TEST(MismatchFix, IsARebootWhereOthersProcessesAreHidden) {
  Machine machine = upgraded();
  machine.driver.holders = known(std::vector<DriverHolder>{});
  EXPECT_EQ(finding_of(judge(kMismatch, machine)).fix.at(0).command, "sudo reboot");
}

TEST(MismatchFix, NamesTheProgramsToEnd) {
  Machine machine = upgraded();
  machine.driver.holders = known(
      std::vector<DriverHolder>{{4711, "python3", "/usr/lib/libcuda.so.535.261.03 (deleted)"}});
  const auto finding = finding_of(judge(kMismatch, machine));
  EXPECT_EQ(finding.fix.at(0).command, "sudo reboot");
  EXPECT_NE(finding.fix.at(1).text.find("end python3 (pid 4711)"), std::string::npos);
}

// ------------------------------------------------------------------- how a kernel came

TEST(KernelStory, KnowsAKernelByTheNamesOfAllDistributions) {
  const struct {
    const char *package, *to, *release;
  } rows[] = {{"linux-image-6.8.0-50-generic", "6.8.0-50.51", "6.8.0-50-generic"},
              {"kernel-core", "5.14.0-503.11.1.el9_5", "5.14.0-503.11.1.el9_5.x86_64"},
              {"linux", "6.12.2.arch1-1", "6.12.2-arch1-1"},
              {"kernel-default", "6.4.0-150600.23.25.1", "6.4.0-150600.23.25-default"}};
  for (const auto& row : rows) {
    Machine machine = healthy_machine();
    machine.driver.package_history =
        known(std::vector<PackageEvent>{event("install", row.package, "", row.to)});
    const bool found = arrival_of_kernel(machine, row.release) != nullptr;
    // openSUSE's release ends before the package's last number, which is not guessed at.
    EXPECT_EQ(found, std::string(row.package) != "kernel-default") << row.package;
    EXPECT_EQ(arrival_of_kernel(machine, "6.1.0-27-amd64"), nullptr) << row.package;
  }
}

TEST(KernelStory, IsToldOfAKernelWithoutModule) {
  Machine machine = machine_without_module();
  machine.driver.module_files = known(std::vector<ModuleFile>{});
  machine.driver.package_history = known(std::vector<PackageEvent>{
      event("unattended upgrade", "linux-image-6.1.0-27-amd64", "", "6.1.115-1")});
  const auto finding = finding_of(judge("driver.module-missing-for-kernel", machine));
  EXPECT_EQ(finding.evidence.back().text,
            "on 2026-11-20 06:12:33 an unattended upgrade brought linux-image-6.1.0-27-amd64 "
            "6.1.115-1");
}

// -------------------------------------------------------------------- two installations

TEST(TwoInstalls, DoesNotCountToolsBesideTheDriver) {
  Machine machine = healthy_machine();
  machine.driver.runfile = known(Version::of("535.261.03"));
  machine.driver.packages =
      known(std::vector<std::string>{"nvidia-container-toolkit 1.17.8-1", "nvidia-modprobe 535-1"});
  EXPECT_TRUE(is_fine(judge("driver.two-installs", machine)));
  machine.driver.packages = known(std::vector<std::string>{"libcuda1 535.261.03-1"});
  EXPECT_EQ(findings_of(judge("driver.two-installs", machine)).size(), 1u);
  machine.driver.packages = Fact<std::vector<std::string>>::unknown("/var/lib/rpm", "not read");
  EXPECT_TRUE(does_not_apply(judge("driver.two-installs", machine)));
}

TEST(TwoInstalls, IsNotAskedOfAnOlderSnapshot) {
  EXPECT_TRUE(does_not_apply(judge("driver.two-installs", healthy_machine())));
}

}  // namespace
}  // namespace gpuwright
