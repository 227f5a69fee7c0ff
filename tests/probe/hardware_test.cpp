#include "probe/hardware.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/probe.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

Hardware probe(const System& system) {
  Machine machine;
  probe_hardware({system, Machine{}, Catalog::built_in(), ProbeOptions{}})(machine);
  return machine.hardware;
}

void add_function(MemorySystem& system, const std::string& address, const std::string& vendor,
                  const std::string& class_code) {
  const std::string directory = "/sys/bus/pci/devices/" + address;
  system.add_file(directory + "/vendor", vendor + "\n");
  system.add_file(directory + "/class", class_code + "\n");
}

// An H200 as Ubuntu 24.04 with Linux 6.18 shows it.
std::string add_h200(MemorySystem& system, const std::string& address = "0000:00:06.0") {
  add_function(system, address, "0x10de", "0x030200");
  const std::string directory = "/sys/bus/pci/devices/" + address;
  system.add_file(directory + "/device", "0x2335\n");
  system.add_file(directory + "/subsystem_vendor", "0x10de\n");
  system.add_file(directory + "/subsystem_device", "0x18bf\n");
  system.add_file(directory + "/current_link_speed", "32.0 GT/s PCIe\n");
  system.add_file(directory + "/current_link_width", "16\n");
  system.add_file(directory + "/max_link_speed", "32.0 GT/s PCIe\n");
  system.add_file(directory + "/max_link_width", "16\n");
  system.add_file(directory + "/numa_node", "-1\n");
  system.add_file(directory + "/enable", "1\n");
  system.add_link(directory + "/driver", "../../../bus/pci/drivers/nvidia");
  return directory;
}

constexpr const char* kInformation =
    "Model: \t\t NVIDIA H200\n"
    "IRQ:   \t\t 41\n"
    "GPU UUID: \t GPU-11111111-2222-3333-4444-555555555555\n"
    "Video BIOS: \t 96.00.a5.00.1a\n"
    "Bus Type: \t PCIe\n"
    "DMA Size: \t 52 bits\n"
    "DMA Mask: \t 0xfffffffffffff\n"
    "Bus Location: \t 0000:00:06.0\n"
    "Device Minor: \t 0\n"
    "GPU Firmware: \t 580.159.04\n"
    "GPU Excluded:\t No\n";

TEST(LinkSpeed, ReadsTheFormsOfAllKernels) {
  EXPECT_EQ(parse_link_speed("32.0 GT/s PCIe\n"), 32.0);
  EXPECT_EQ(parse_link_speed("2.5 GT/s PCIe\n"), 2.5);
  EXPECT_EQ(parse_link_speed("8 GT/s\n"), 8.0);
  EXPECT_EQ(parse_link_speed("Unknown\n"), std::nullopt);
  EXPECT_EQ(parse_link_speed("Unknown speed\n"), std::nullopt);
  EXPECT_EQ(parse_link_speed("1.2.3 GT/s\n"), std::nullopt);
}

TEST(LinkWidth, TakesOnlyWidthsThatPcieHas) {
  EXPECT_EQ(parse_link_width("16\n"), 16u);
  for (const auto* text : {"0\n", "63\n", "255\n", "x\n", ""})
    EXPECT_EQ(parse_link_width(text), std::nullopt) << text;
}

TEST(PciId, IsFourLowerCaseDigits) {
  EXPECT_EQ(parse_pci_id("0x10DE\n"), "10de");
  EXPECT_EQ(parse_pci_id("10de\n"), std::nullopt);
  EXPECT_EQ(parse_pci_id("0x10zz\n"), std::nullopt);
}

TEST(Hardware, ReadsAGpuOnTheBus) {
  MemorySystem system;
  add_function(system, "0000:00:00.0", "0x8086", "0x060000");
  add_h200(system);
  const auto hardware = probe(system);
  ASSERT_TRUE(hardware.gpus.is_known());
  ASSERT_EQ(hardware.gpus->size(), 1u);
  const auto& gpu = hardware.gpus->front();
  EXPECT_EQ(gpu.address, "0000:00:06.0");
  EXPECT_EQ(gpu.device_id, "2335");
  EXPECT_EQ(gpu.subsystem_id, "10de:18bf");
  EXPECT_EQ(gpu.class_code, "0x030200");
  EXPECT_TRUE(gpu.link_speed_gts.is(32.0));
  EXPECT_TRUE(gpu.link_width_max.is(16));
  EXPECT_TRUE(gpu.numa_node.is_absent());
  EXPECT_TRUE(gpu.driver.is("nvidia"));
  EXPECT_TRUE(gpu.enabled.is(true));
  EXPECT_TRUE(hardware.nvswitch.is(false));
}

TEST(Hardware, KeepsTheLinkOfALostGpuUnknown) {
  MemorySystem system;
  const auto directory = add_h200(system);
  system.add_file(directory + "/current_link_speed", "Unknown\n");
  system.add_file(directory + "/current_link_width", "63\n");
  system.remove(directory + "/driver");
  const auto gpu = probe(system).gpus->front();
  EXPECT_TRUE(gpu.link_speed_gts.is_unknown());
  EXPECT_EQ(gpu.link_speed_gts.reason(), "reads 'Unknown'");
  EXPECT_TRUE(gpu.link_width.is_unknown());
  EXPECT_TRUE(gpu.driver.is_absent());
}

TEST(Hardware, CountsDisplayAnd3dFunctionsOfNvidiaOnly) {
  MemorySystem system;
  add_function(system, "0000:01:00.0", "0x10de", "0x030000");  // GeForce
  add_function(system, "0000:01:00.1", "0x10de", "0x040300");  // its sound
  add_function(system, "0000:02:00.0", "0x1002", "0x030000");  // AMD
  add_function(system, "0000:03:00.0", "0x10de", "0x068000");  // NVSwitch
  const auto hardware = probe(system);
  ASSERT_EQ(hardware.gpus->size(), 1u);
  EXPECT_EQ(hardware.gpus->front().address, "0000:01:00.0");
  EXPECT_TRUE(hardware.nvswitch.is(true));
}

TEST(Hardware, LeavesOutSlicesLentToGuests) {
  MemorySystem system;
  const auto slice = add_h200(system, "0000:3b:00.4");
  system.add_link(slice + "/physfn", "../0000:3b:00.0");
  EXPECT_TRUE(probe(system).gpus->empty());
}

TEST(Hardware, KnowsAnEmptyBusFromAHiddenOne) {
  MemorySystem system;
  EXPECT_TRUE(probe(system).gpus.is_unknown());
  system.add_directory("/sys/bus/pci/devices");
  const auto hardware = probe(system);
  ASSERT_TRUE(hardware.gpus.is_known());
  EXPECT_TRUE(hardware.gpus->empty());
}

TEST(DriverGpus, AreReadFromTheirInformation) {
  MemorySystem system;
  system.add_file("/proc/driver/nvidia/gpus/0000:00:06.0/information", kInformation);
  const auto gpus = probe(system).driver_gpus;
  ASSERT_TRUE(gpus.is_known());
  ASSERT_EQ(gpus->size(), 1u);
  EXPECT_EQ(gpus->front().address, "0000:00:06.0");
  EXPECT_TRUE(gpus->front().model.is("NVIDIA H200"));
  EXPECT_TRUE(gpus->front().uuid.is("GPU-11111111-2222-3333-4444-555555555555"));
  EXPECT_TRUE(gpus->front().minor.is(0));
  EXPECT_TRUE(gpus->front().excluded.is(false));
}

TEST(DriverGpus, UnderstandTheOldWordForExcluded) {
  const auto gpu = parse_gpu_information("0000:01:00.0", "Model: Tesla P4\nBlacklisted: \t Yes\n");
  EXPECT_TRUE(gpu.excluded.is(true));
  EXPECT_TRUE(gpu.minor.is_absent());
}

TEST(DriverGpus, AreAbsentWithoutModuleAndUnknownUnderGvisor) {
  MemorySystem system;
  EXPECT_TRUE(probe(system).driver_gpus.is_unknown()) << "no /proc at all";
  system.add_file("/proc/version", "Linux version 6.8.0-49-generic\n");
  EXPECT_TRUE(probe(system).driver_gpus.is_absent());
  system.add_file("/proc/driver/nvidia/params", "");
  EXPECT_TRUE(probe(system).driver_gpus.is_unknown());
}

TEST(Hardware, SeesTheDeviceOfWsl) {
  MemorySystem system;
  EXPECT_TRUE(probe(system).dxg.is(false));
  system.add_device("/dev/dxg", 10, 125);
  EXPECT_TRUE(probe(system).dxg.is(true));
}

}  // namespace
}  // namespace gpuwright
