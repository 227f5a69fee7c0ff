#include "probe/driver_modules.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "small_elf.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

Driver fill(const System& system, const std::string& running) {
  Driver driver;
  fill_module_files(system, Fact<std::string>::known(running, "uname -r"), driver);
  return driver;
}

std::string modinfo(const std::string& version, const std::string& license) {
  return "firmware=nvidia/" + version + "/gsp_ga10x.bin" + '\0' + "version=" + version + '\0' +
         "license=" + license + '\0' + "vermagic=6.8.0-49-generic SMP" + '\0';
}

TEST(MainModule, IsNotOneOfItsHelpers) {
  for (const auto* stem :
       {"nvidia", "nvidia-open", "nvidia-current", "nvidia-tesla-470", "nvidia-legacy-390xx"})
    EXPECT_TRUE(is_main_module(stem)) << stem;
  for (const auto* stem : {"nvidia-uvm", "nvidia-drm", "nvidia-current-uvm", "nvidia-fs",
                           "nvidia-wmi-ec-backlight", "nvidiafb", "nouveau"})
    EXPECT_FALSE(is_main_module(stem)) << stem;
}

TEST(ModulePaths, AreReadOfModulesDep) {
  constexpr const char* kDep =
      "kernel/drivers/video/fbdev/nvidia/nvidiafb.ko.zst: kernel/drivers/video/vgastate.ko.zst\n"
      "kernel/drivers/platform/x86/nvidia-wmi-ec-backlight.ko.zst:\n"
      "updates/dkms/nvidia-uvm.ko.zst: updates/dkms/nvidia.ko.zst\n"
      "updates/dkms/nvidia.ko.zst:\n"
      "updates/dkms/nvidia-drm.ko.zst: updates/dkms/nvidia-modeset.ko.zst "
      "updates/dkms/nvidia.ko.zst\n";
  EXPECT_EQ(parse_module_paths(kDep), std::vector<std::string>{"updates/dkms/nvidia.ko.zst"});
}

TEST(ModulePaths, KnowTheNamesOfAllDistributions) {
  for (const std::string path :
       {"kernel/nvidia-550srv-open/nvidia.ko", "extra/drivers/video/nvidia/nvidia.ko.xz",
        "weak-updates/nvidia/nvidia.ko", "updates/dkms/nvidia-current.ko",
        "kernel/drivers/video/nvidia.ko"})
    EXPECT_EQ(parse_module_paths(path + ": kernel/drivers/acpi/video.ko\n"),
              std::vector<std::string>{path});
  EXPECT_TRUE(parse_module_paths("").empty());
  EXPECT_TRUE(parse_module_paths("/nvidia").empty());
}

TEST(ElfSection, IsReadByName) {
  MemorySystem system;
  system.add_file("/nvidia.ko", small_module(modinfo("550.90.07", "NVIDIA")));
  const auto section = read_elf_section(**system.open("/nvidia.ko"), ".modinfo", 4096);
  ASSERT_TRUE(section.has_value()) << section.error().text();
  const auto info = parse_modinfo(*section);
  EXPECT_EQ(info.kernel, "6.8.0-49-generic");
  ASSERT_TRUE(info.version.has_value());
  EXPECT_EQ(info.version->text(), "550.90.07");
  EXPECT_EQ(info.license, "NVIDIA");
}

TEST(ElfSection, FailsWithAReasonOnBrokenFiles) {
  MemorySystem system;
  const auto whole = small_module(modinfo("550.90.07", "NVIDIA"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    system.add_file("/cut.ko", whole.substr(0, size));
    EXPECT_FALSE(read_elf_section(**system.open("/cut.ko"), ".modinfo", 4096).has_value()) << size;
  }
  system.add_file("/whole.ko", whole);
  EXPECT_FALSE(read_elf_section(**system.open("/whole.ko"), ".modinfo", 8).has_value());
  EXPECT_FALSE(read_elf_section(**system.open("/whole.ko"), ".data", 4096).has_value());
}

TEST(NewestKernel, IsTheHighestThatCanBeBooted) {
  MemorySystem system;
  system.add_file("/lib/modules/6.8.0-49-generic/modules.dep", "");
  system.add_file("/boot/vmlinuz-6.8.0-101-generic", "");
  system.add_directory("/lib/modules/6.8.0-101-generic");
  system.add_directory("/lib/modules/6.11.0-8-generic/updates/dkms");  // its kernel was removed
  EXPECT_TRUE(fill(system, "6.8.0-49-generic").newest_kernel.is("6.8.0-101-generic"));
}

TEST(NewestKernel, IsAbsentInAContainer) {
  MemorySystem system;
  const auto driver = fill(system, "6.8.0-49-generic");
  EXPECT_TRUE(driver.newest_kernel.is_absent());
  EXPECT_TRUE(driver.module_files.is_absent());
  EXPECT_TRUE(driver.dkms.is_absent());
}

// Debian keeps modules uncompressed, under names of its own.
TEST(ModuleFiles, TellVersionAndFlavourOfAnUncompressedFile) {
  MemorySystem system;
  system.add_file("/lib/modules/6.1.0-27-amd64/modules.dep", "updates/dkms/nvidia-current.ko:\n");
  system.add_file("/lib/modules/6.1.0-27-amd64/updates/dkms/nvidia-current.ko",
                  small_module(modinfo("535.183.01", "NVIDIA")));
  const auto files = fill(system, "6.1.0-27-amd64").module_files;
  ASSERT_TRUE(files.is_known());
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().kernel, "6.1.0-27-amd64");
  EXPECT_TRUE(files->front().version.is(Version::of("535.183.01")));
  EXPECT_TRUE(files->front().flavour.is("proprietary"));
}

// RHEL: kmod packages through weak-updates links.
TEST(ModuleFiles, FollowWeakUpdates) {
  MemorySystem system;
  const std::string first = "/lib/modules/5.14.0-427.13.1.el9_4.x86_64";
  const std::string second = "/lib/modules/5.14.0-427.42.1.el9_4.x86_64";
  system.add_file(first + "/modules.dep", "extra/nvidia/nvidia.ko:\n");
  system.add_file(first + "/extra/nvidia/nvidia.ko",
                  small_module(modinfo("560.35.03", "Dual MIT/GPL")));
  system.add_file(second + "/modules.dep", "weak-updates/nvidia/nvidia.ko:\n");
  system.add_link(second + "/weak-updates/nvidia/nvidia.ko", first + "/extra/nvidia/nvidia.ko");
  const auto files = fill(system, "5.14.0-427.13.1.el9_4.x86_64").module_files;
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[1].kernel, "5.14.0-427.42.1.el9_4.x86_64");
  EXPECT_TRUE((*files)[1].version.is(Version::of("560.35.03")));
  EXPECT_TRUE((*files)[1].flavour.is("open"));
}

// Ubuntu 24.04 compresses modules; DKMS names the version. The kernel of the next boot has none.
TEST(ModuleFiles, TakeACompressedFilesVersionFromDkms) {
  MemorySystem system;
  system.add_file("/lib/modules/6.8.0-49-generic/modules.dep", "updates/dkms/nvidia.ko.zst:\n");
  system.add_file("/lib/modules/6.8.0-49-generic/updates/dkms/nvidia.ko.zst", "\x28\xb5\x2f\xfd");
  system.add_file("/lib/modules/6.8.0-50-generic/modules.dep", "kernel/fs/ext4/ext4.ko.zst:\n");
  const std::string tree = "/var/lib/dkms/nvidia/550.54.14";
  system.add_file(tree + "/6.8.0-49-generic/x86_64/module/nvidia.ko.zst", "");
  system.add_file(tree + "/build/make.log", "error: implicit declaration\n");
  system.add_link(tree + "/source", "/usr/src/nvidia-550.54.14");
  system.add_link("/var/lib/dkms/nvidia/kernel-6.8.0-49-generic-x86_64",
                  "550.54.14/6.8.0-49-generic/x86_64");
  const auto driver = fill(system, "6.8.0-49-generic");
  ASSERT_TRUE(driver.dkms.is_known());
  EXPECT_EQ(*driver.dkms,
            (std::vector<DkmsBuild>{{"nvidia", Version::of("550.54.14"), {"6.8.0-49-generic"}}}));
  ASSERT_EQ(driver.module_files->size(), 1u);
  EXPECT_TRUE(driver.module_files->front().version.is(Version::of("550.54.14")));
  EXPECT_TRUE(driver.module_files->front().flavour.is_unknown());
}

TEST(ModuleFiles, LeaveACompressedFileUnknownWithoutDkms) {
  MemorySystem system;
  system.add_file("/lib/modules/6.8.0-49-generic/modules.dep",
                  "kernel/nvidia-550/nvidia.ko.zst:\n");
  const auto files = fill(system, "6.8.0-49-generic").module_files;
  ASSERT_EQ(files->size(), 1u);
  EXPECT_TRUE(files->front().version.is_unknown());
  EXPECT_EQ(files->front().version.reason(), "the file is compressed");
}

TEST(ModuleFiles, AreSearchedWhereDepmodLeftNoList) {
  MemorySystem system;
  system.add_file("/boot/vmlinuz-6.6.1", "");
  system.add_file("/lib/modules/6.6.1/kernel/drivers/video/nvidia.ko",
                  small_module(modinfo("550.90.07", "NVIDIA")));
  const auto files = fill(system, "6.6.1").module_files;
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(files->front().path, "/lib/modules/6.6.1/kernel/drivers/video/nvidia.ko");
}

TEST(ModuleFiles, AreUnknownWhenTheListMayNotBeRead) {
  MemorySystem system;
  system.add_file("/boot/vmlinuz-6.6.1", "");
  system.set_error("/lib/modules/6.6.1/modules.dep", EACCES);
  EXPECT_TRUE(fill(system, "6.6.1").module_files.is_unknown());
}

}  // namespace
}  // namespace gpuwright
