#include "fixtures.h"

#include <filesystem>
#include <stdexcept>

namespace gpuwright::real {
namespace {

namespace fs = std::filesystem;

void compile(const std::string& source, const std::string& file, const std::string& soname,
             const std::string& options = "") {
  fs::create_directories(fs::path(file).parent_path());
  const auto result = run_child(
      {"/bin/sh", "-c",
       "cc -shared -fPIC -O1 " + options + " -Wl,-soname," + soname + " -o '" + file + "' '" +
           std::string(GPUWRIGHT_SOURCE_DIR) + "/tests/real/" + source + "' -ldl"},
      own_environment());
  if (result.exit_status != 0) throw std::runtime_error("cc " + source + ": " + result.err);
}

}  // namespace

FakeDriver::FakeDriver() {
  const std::string version = "580.159.04";
  compile("fake_driver.c", cuda() + "/libcuda.so." + version, "libcuda.so.1");
  fs::create_symlink("libcuda.so." + version, cuda() + "/libcuda.so.1");
  compile("fake_driver.c", management() + "/libnvidia-ml.so." + version, "libnvidia-ml.so.1",
          "-DMANAGEMENT");
  fs::create_symlink("libnvidia-ml.so." + version, management() + "/libnvidia-ml.so.1");
  copy_into(cuda() + "/libcuda.so.1", stubs());
}

void make_stand_in(const std::string& file) {
  compile("stand_in.c", file, fs::path(file).filename().string());
}

void copy_into(const std::string& file, const std::string& directory) {
  fs::create_directories(directory);
  fs::copy_file(file, fs::path(directory) / fs::path(file).filename());
}

}  // namespace gpuwright::real
