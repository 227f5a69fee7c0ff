#include <gtest/gtest.h>

#include <cstring>
#include <iterator>

#include "gpu/cuda_driver.h"
#include "gpu/library.h"
#include "gpu/nvml.h"

namespace gpuwright {
namespace {

std::string fake(const char* name) { return std::string(GPUWRIGHT_FAKE_LIBRARIES) + "/" + name; }

TEST(LoadedLibrary, TellsTheLoadersReason) {
  const auto missing = LoadedLibrary::open("/nowhere/libcuda.so.1");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().text().find("cannot open shared object file"), std::string::npos);
  const auto text = LoadedLibrary::open(std::string(GPUWRIGHT_SOURCE_DIR) + "/CMakeLists.txt");
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.error().text().find("invalid ELF header"), std::string::npos);
}

TEST(LoadedLibrary, DoesNotSearchForANameWithoutASlash) {
  EXPECT_FALSE(LoadedLibrary::open("libc.so.6").has_value());
}

TEST(LoadedLibrary, TakesTheNewestNameThatIsThere) {
  const auto library = LoadedLibrary::open(fake("nvml_new.so"));
  ASSERT_TRUE(library.has_value()) << library.error().text();
  void* newest = library->find({"nvmlDeviceGetPciInfo_v3"});
  EXPECT_NE(newest, nullptr);
  EXPECT_EQ(library->find({"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo"}), newest);
  EXPECT_EQ(library->find({"nvmlNothing", "nvmlDeviceGetPciInfo_v3"}), newest);
  EXPECT_EQ(library->find({"nvmlNothing"}), nullptr);
}

TEST(Nvml, FindsEveryFunctionOfAFullLibrary) {
  const auto functions = nvml::open(fake("nvml_new.so"));
  ASSERT_TRUE(functions.has_value()) << functions.error().text();
  // The fake leaves out the older form of the fabric's question alone.
  EXPECT_EQ(functions->fabric1, nullptr);
  nvml::Functions all = *functions;
  all.fabric1 = [](nvml::Device, nvml::FabricInfo1*) { return 0; };
  void* pointers[sizeof all / sizeof(void*)];
  static_assert(sizeof pointers == sizeof all);
  std::memcpy(pointers, static_cast<void*>(&all), sizeof all);
  for (std::size_t i = 0; i < std::size(pointers); ++i) EXPECT_NE(pointers[i], nullptr) << i;
}

TEST(Nvml, AMissingSymbolIsANullPointer) {
  const auto functions = nvml::open(fake("nvml_old.so"));
  ASSERT_TRUE(functions.has_value()) << functions.error().text();
  EXPECT_NE(functions->init, nullptr) << "nvmlInit in the place of nvmlInit_v2";
  EXPECT_NE(functions->memory, nullptr);
  EXPECT_EQ(functions->memory2, nullptr);
  EXPECT_EQ(functions->mig, nullptr);
}

TEST(Nvml, StructsCarryTheVersionsOfTheDocumentation) {
  EXPECT_EQ(nvml::struct_version<nvml::Memory2>(2), 0x02000028u);
  EXPECT_EQ(nvml::struct_version<nvml::Temperature>(1), 0x0100000Cu);
  EXPECT_EQ(nvml::struct_version<nvml::FabricInfo2>(2), 0x02000024u);
}

TEST(Nvml, CodesHaveNames) {
  EXPECT_EQ(nvml::code_name(0), "NVML_SUCCESS");
  EXPECT_EQ(nvml::code_name(15), "NVML_ERROR_GPU_IS_LOST");
  EXPECT_EQ(nvml::code_name(18), "NVML_ERROR_LIB_RM_VERSION_MISMATCH");
  EXPECT_EQ(nvml::code_name(4711), "NVML error 4711");
}

TEST(CudaDriver, AMissingSymbolIsANullPointer) {
  const auto newer = cuda_driver::open(fake("cuda_new.so"));
  const auto older = cuda_driver::open(fake("cuda_old.so"));
  ASSERT_TRUE(newer.has_value() && older.has_value());
  EXPECT_NE(newer->pci_address, nullptr);
  EXPECT_EQ(older->pci_address, nullptr);
  EXPECT_NE(older->init, nullptr);
}

TEST(CudaDriver, CodesHaveNamesAndNumbers) {
  EXPECT_EQ(cuda_driver::code_name(0), "CUDA_SUCCESS");
  EXPECT_EQ(cuda_driver::code_name(100), "CUDA_ERROR_NO_DEVICE (100)");
  EXPECT_EQ(cuda_driver::code_name(803), "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
  EXPECT_EQ(cuda_driver::code_name(-3), "CUDA error -3");
}

}  // namespace
}  // namespace gpuwright
