#include "probe/driver_libraries.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "small_elf.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

// A machine on which /bin/sh can be started, with nothing of NVIDIA's.
class DriverLibraries : public testing::Test {
 protected:
  DriverLibraries() {
    const std::string interpreter = "/lib64/ld-linux-x86-64.so.2";
    system.add_file(interpreter, small_library("ld-linux-x86-64.so.2", 4096));
    system.add_file("/bin/sh", small_library("", 4096, interpreter), 0755);
    system.add_file("/etc/os-release", "ID=ubuntu\n");
    system.add_directory("/usr/lib/x86_64-linux-gnu");
    system.add_link("/lib", "usr/lib");
  }

  // libcuda.so.1 -> libcuda.so.<version>
  void add_driver(const std::string& directory, const std::string& version,
                  const std::string& stem = "libcuda") {
    const auto real = stem + ".so." + version;
    system.add_file(directory + "/" + real, small_library(stem + ".so.1"));
    system.add_link(directory + "/" + stem + ".so.1", real);
  }

  Driver fill() {
    Driver driver;
    fill_driver_libraries(system, driver);
    return driver;
  }

  // The copy at this path; an empty one when there is none.
  static DriverLibrary at(const Driver& driver, const std::string& path) {
    for (const auto& library : *driver.libraries)
      if (library.path == path) return library;
    return {};
  }

  MemorySystem system;
};

class UnreadableFile : public MemorySystem {
 public:
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) const override {
    return fail("Permission denied", path, EACCES);
  }
};

TEST(DriverLibrary, IsNoBrokenFileWhenItMayNotBeRead) {
  UnreadableFile system;
  system.add_file("/usr/lib64/libcuda.so.1", small_library("libcuda.so.1"));
  EXPECT_EQ(examine_driver_library(system, "/usr/lib64/libcuda.so.1")->kind, "unreadable");
}

TEST(LibraryName, CarriesADriverVersionOrNone) {
  EXPECT_EQ(version_of_library_name("libcuda.so.580.159.04")->text(), "580.159.04");
  EXPECT_EQ(version_of_library_name("libnvidia-ml.so.470.256")->text(), "470.256");
  EXPECT_FALSE(version_of_library_name("libcuda.so.1").has_value());
  EXPECT_FALSE(version_of_library_name("libcuda.so.1.1").has_value()) << "Jetson, WSL";
  EXPECT_FALSE(version_of_library_name("libcuda.so").has_value());
}

TEST_F(DriverLibraries, AreNoneOnAMachineWithoutDriver) {
  const auto driver = fill();
  ASSERT_TRUE(driver.libraries.is_known());
  EXPECT_TRUE(driver.libraries->empty());
  EXPECT_TRUE(driver.user_space_version.is_absent()) << driver.user_space_version.reason();
}

TEST_F(DriverLibraries, AreFoundInADefaultDirectory) {
  add_driver("/usr/lib/x86_64-linux-gnu", "550.54.14");
  add_driver("/usr/lib/x86_64-linux-gnu", "550.54.14", "libnvidia-ml");
  const auto driver = fill();
  ASSERT_EQ(driver.libraries->size(), 2u) << "/lib and /usr/lib are one directory";
  for (const auto& library : *driver.libraries) {
    EXPECT_EQ(library.kind, "driver") << library.path;
    EXPECT_EQ(library.found_by, "default directory");
    EXPECT_TRUE(library.chosen);
  }
  EXPECT_TRUE(driver.user_space_version.is(Version::of("550.54.14")));
}

// The recorded H200 machine: the driver under /usr/local/nvidia, links to it in /usr/lib, and a
// compat copy that is older than the driver and in no search path.
TEST_F(DriverLibraries, TellTheChosenCopyFromTheDecoys) {
  system.environment_block["LD_LIBRARY_PATH"] = "/usr/local/nvidia/lib64:/usr/local/nvidia/lib";
  add_driver("/usr/local/nvidia/lib64", "580.159.04");
  system.add_link("/usr/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1");
  system.add_link("/usr/local/cuda", "cuda-13.0");
  add_driver("/usr/local/cuda-13.0/compat", "580.95.05");
  system.add_file("/usr/local/cuda-13.0/lib64/stubs/libcuda.so",
                  small_library("libcuda.so.1", 70368));
  const auto driver = fill();
  const auto chosen = at(driver, "/usr/local/nvidia/lib64/libcuda.so.1");
  EXPECT_TRUE(chosen.chosen);
  EXPECT_EQ(chosen.found_by, "LD_LIBRARY_PATH");
  EXPECT_EQ(chosen.real_path, "/usr/local/nvidia/lib64/libcuda.so.580.159.04");
  EXPECT_TRUE(driver.user_space_version.is(Version::of("580.159.04")));

  ASSERT_EQ(driver.libraries->size(), 4u);
  const auto compat = at(driver, "/usr/local/cuda/compat/libcuda.so.1");
  EXPECT_EQ(compat.kind, "compat");
  EXPECT_FALSE(compat.chosen);
  EXPECT_TRUE(compat.version.is(Version::of("580.95.05")));
  const auto stub = at(driver, "/usr/local/cuda/lib64/stubs/libcuda.so");
  EXPECT_EQ(stub.kind, "stub");
  EXPECT_TRUE(stub.version.is_unknown());
}

TEST_F(DriverLibraries, KnowTheCompatDirectoryOfConda) {
  system.environment_block["LD_LIBRARY_PATH"] = "/opt/conda/cuda-compat";
  add_driver("/opt/conda/cuda-compat", "580.95.05");
  EXPECT_EQ(at(fill(), "/opt/conda/cuda-compat/libcuda.so.1").kind, "compat");
}

TEST_F(DriverLibraries, KnowAStubThatWasCopiedElsewhere) {
  system.environment_block["LD_LIBRARY_PATH"] = "/opt/app/lib";
  system.add_file("/opt/app/lib/libcuda.so.1", small_library("libcuda.so.1", 70368));
  const auto driver = fill();
  EXPECT_EQ(at(driver, "/opt/app/lib/libcuda.so.1").kind, "stub");
  EXPECT_TRUE(at(driver, "/opt/app/lib/libcuda.so.1").chosen);
  EXPECT_TRUE(driver.user_space_version.is_unknown());
}

TEST_F(DriverLibraries, MarkAnEmptyFileThatEndsTheSearch) {
  system.environment_block["LD_LIBRARY_PATH"] = "/opt/image/lib";
  system.add_file("/opt/image/lib/libcuda.so.1", "");
  add_driver("/usr/lib/x86_64-linux-gnu", "550.54.14");
  const auto driver = fill();
  EXPECT_EQ(at(driver, "/opt/image/lib/libcuda.so.1").kind, "empty");
  EXPECT_TRUE(at(driver, "/opt/image/lib/libcuda.so.1").chosen);
  EXPECT_FALSE(at(driver, "/usr/lib/x86_64-linux-gnu/libcuda.so.1").chosen);
}

TEST_F(DriverLibraries, KnowTextAndForeignObjects) {
  system.add_file("/usr/lib64/libcuda.so.1", "version https://git-lfs.github.com/spec/v1\n");
  system.add_file("/usr/lib64/nvidia/libcuda.so.1", small_32_bit_library());
  const auto driver = fill();
  EXPECT_EQ(at(driver, "/usr/lib64/libcuda.so.1").kind, "not-elf");
  EXPECT_EQ(at(driver, "/usr/lib64/nvidia/libcuda.so.1").kind, "wrong-class");
}

TEST_F(DriverLibraries, KnowTheSmallLibraryOfWsl) {
  for (const std::string name : {"libcuda.so", "libcuda.so.1", "libcuda.so.1.1"})
    system.add_file("/usr/lib/wsl/lib/" + name, small_library("libcuda.so.1", 160 << 10));
  const auto library = at(fill(), "/usr/lib/wsl/lib/libcuda.so.1");
  EXPECT_EQ(library.kind, "wsl");
  EXPECT_EQ(library.found_by, "well-known directory");
  EXPECT_TRUE(library.version.is_unknown());
}

TEST_F(DriverLibraries, AreListedWhereNoProgramCanBeModelled) {
  system.remove("/bin/sh");
  add_driver("/usr/lib64", "550.54.14");
  const auto driver = fill();
  EXPECT_EQ(at(driver, "/usr/lib64/libcuda.so.1").kind, "driver");
  EXPECT_TRUE(driver.user_space_version.is_unknown());
}

}  // namespace
}  // namespace gpuwright
