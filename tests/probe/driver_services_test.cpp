#include "probe/driver_services.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "support/memory_system.h"

namespace gpuwright {
namespace {

Driver fill(const System& system, const Machine& before = {}) {
  Driver driver;
  driver.module_version = Fact<Version>::known(Version::of("580.95.05"), "test");
  fill_driver_services(system, before, driver);
  return driver;
}

// ---------------------------------------------------------------------- .run file

TEST(InstallerList, BeginsWithTheVersion) {
  EXPECT_EQ(parse_installer_list("580.159.04\nNVIDIA Accelerated Graphics Driver\n"
                                 "1: /usr/bin/nvidia-modprobe\n")
                ->text(),
            "580.159.04");
  EXPECT_EQ(parse_installer_list("1.0-105917 (105.9.17)\nNVIDIA\n")->text(), "105.9.17");
  EXPECT_FALSE(parse_installer_list("").has_value());
  EXPECT_FALSE(parse_installer_list("NVIDIA driver\n").has_value());
}

TEST(RunFile, IsKnownFromTheListOrTheLog) {
  MemorySystem system;
  EXPECT_TRUE(fill(system).runfile.is_absent());
  system.set_error("/var/lib/nvidia/log", EACCES);
  EXPECT_TRUE(fill(system).runfile.is_unknown());
  system.add_file("/usr/bin/nvidia-uninstall", "", 0755);
  EXPECT_TRUE(fill(system).runfile.is_unknown());
  system.add_file("/var/log/nvidia-installer.log",
                  "nvidia-installer log file '/var/log/nvidia-installer.log'\n"
                  "creation time: Tue Nov  3 10:00:00 2026\ninstaller version: 550.54.14\n");
  EXPECT_TRUE(fill(system).runfile.is(Version::of("550.54.14")));
  MemorySystem other;
  other.add_file("/var/lib/nvidia/log", "550.54.15\nNVIDIA\n");
  EXPECT_TRUE(fill(other).runfile.is(Version::of("550.54.15")));
}

// ------------------------------------------------------------------------ options

TEST(ModuleOptions, AreReadInAllTheirSpellings) {
  std::map<std::string, std::string> options;
  add_module_options(
      "# comment\noptions nvidia NVreg_EnableGpuFirmware=0 NVreg_RegistryDwords=\"A=1\"\n"
      "options nvidia-current \\\n  NVreg_DeviceFileMode=0660\n"
      "options nvidia-drm modeset=1\noptions snd_hda power_save=1\noptions nvidia\n"
      "blacklist nouveau\noptions nvidia =3 novalue\n",
      options);
  const std::map<std::string, std::string> expected = {{"nvidia.NVreg_DeviceFileMode", "0660"},
                                                       {"nvidia.NVreg_EnableGpuFirmware", "0"},
                                                       {"nvidia.NVreg_RegistryDwords", "A=1"},
                                                       {"nvidia_drm.modeset", "1"}};
  EXPECT_EQ(options, expected);
  add_command_line_options("ro quiet nvidia-drm.modeset=0 nvidia.NVreg_X=a.b root=/dev/nvidia.x",
                           options);
  EXPECT_EQ(options["nvidia_drm.modeset"], "0") << "the command line comes last";
  EXPECT_EQ(options["nvidia.NVreg_X"], "a.b");
  EXPECT_EQ(options.size(), 5u);
}

// ---------------------------------------------------------------------------- MIG

TEST(Mig, CountsInstancesOfEachGpu) {
  MemorySystem system;
  const std::string root = "/proc/driver/nvidia/capabilities";
  EXPECT_TRUE(fill(system).mig.is_unknown()) << "no /proc in this tree";
  system.add_file(root + "/mig/config", "");
  system.add_file("/proc/version", "Linux\n");
  EXPECT_TRUE(fill(system).mig.is_absent());
  system.add_directory(root + "/gpu0/mig");
  system.add_file(root + "/gpu1/mig/gi1/access", "");
  system.add_file(root + "/gpu1/mig/gi1/ci0/access", "");
  system.add_file(root + "/gpu1/mig/gi2/access", "");
  const auto mig = fill(system).mig;
  ASSERT_TRUE(mig.is_known());
  ASSERT_EQ(mig->size(), 2u);
  EXPECT_EQ((*mig)[0], (MigGpu{0, 0, 0}));
  EXPECT_EQ((*mig)[1], (MigGpu{1, 2, 1}));
}

// ---------------------------------------------------------------------------- MPS

TEST(Mps, IsAbsentWhereNobodyAskedForIt) {
  MemorySystem system;
  EXPECT_TRUE(fill(system).mps_directory.is_absent());
  EXPECT_TRUE(fill(system).mps_daemon.is_absent());
}

TEST(Mps, TellsALivingDaemonFromWhatOneLeft) {
  MemorySystem system;
  system.add_file("/tmp/nvidia-mps/nvidia-cuda-mps-control.pid",
                  "491");  // no line end, as recorded
  EXPECT_TRUE(fill(system).mps_directory.is("/tmp/nvidia-mps"));
  EXPECT_TRUE(fill(system).mps_daemon.is(false));
  system.add_file("/proc/491/comm", "nvidia-cuda-mps\n");
  EXPECT_TRUE(fill(system).mps_daemon.is(true));
}

TEST(Mps, LooksWhereTheVariableSays) {
  MemorySystem system;
  system.environment_block = {{"CUDA_MPS_PIPE_DIRECTORY", "/run/mps"}};
  auto driver = fill(system);
  EXPECT_EQ(driver.mps_directory.source(), "CUDA_MPS_PIPE_DIRECTORY");
  EXPECT_TRUE(driver.mps_daemon.is_unknown()) << "no /proc/net/unix in this tree";
  system.add_file("/proc/net/unix", "Num RefCount Protocol Flags Type St Inode Path\n");
  EXPECT_TRUE(fill(system).mps_daemon.is(false));
  system.add_file("/proc/net/unix", "0: 2 0 10000 1 1 22 /run/mps/control\n");
  EXPECT_TRUE(fill(system).mps_daemon.is(true));
}

TEST(Mps, OfTheHostIsUnknownInAContainer) {
  MemorySystem system;
  system.environment_block = {{"CUDA_MPS_PIPE_DIRECTORY", "/mps"}};
  system.add_file("/mps/control", "");
  system.add_file("/mps/nvidia-cuda-mps-control.pid", "491");
  system.add_file("/proc/net/unix", "");
  Machine inside;
  inside.host.container = Fact<std::string>::known("docker", "/.dockerenv");
  EXPECT_TRUE(fill(system, inside).mps_daemon.is_unknown());
}

// ------------------------------------------------------------------------ licence

TEST(VgpuName, EndsInAProfile) {
  for (const auto* name : {"GRID V100D-32C", "NVIDIA A10-24Q", "GRID P40-2B", "NVIDIA A16-4A",
                           "NVIDIA A100X-1-10C", "NVIDIA RTX6000-Ada-48Q"})
    EXPECT_TRUE(is_vgpu_name(name)) << name;
  for (const auto* name : {"NVIDIA A100-SXM4-80GB", "NVIDIA H100 NVL", "Tesla T4", "Tesla K80",
                           "NVIDIA GeForce RTX 3060", "Quadro RTX 6000", "A-C", "-Q", ""})
    EXPECT_FALSE(is_vgpu_name(name)) << name;
}

Machine guest() {
  Machine machine;
  DriverGpu gpu;
  gpu.model = Fact<std::string>::known("NVIDIA A10-24Q", "/proc");
  machine.hardware.driver_gpus = Fact<std::vector<DriverGpu>>::known({gpu}, "/proc");
  return machine;
}

TEST(Licence, IsLookedForOnAShareOfAGpuOnly) {
  MemorySystem system;
  auto driver = fill(system, guest());
  EXPECT_TRUE(driver.vgpu_guest.is(true));
  EXPECT_TRUE(driver.licence_daemon.is_absent());
  EXPECT_TRUE(driver.licence_configured.is(false));
  EXPECT_TRUE(fill(system).licence_configured.is_absent());
}

TEST(Licence, IsConfiguredByTokenOrServer) {
  MemorySystem token;
  token.add_file("/etc/nvidia/ClientConfigToken/client_configuration_token_11-03-2026.tok", "x");
  EXPECT_TRUE(fill(token, guest()).licence_configured.is(true));
  EXPECT_TRUE(names_licence_server("ServerAddress=licence.example\nFeatureType=1\n"));
  EXPECT_FALSE(names_licence_server("#ServerAddress=licence.example\nServerAddress=\n"));
  MemorySystem hidden;
  hidden.set_error("/etc/nvidia/ClientConfigToken", EACCES);
  EXPECT_TRUE(fill(hidden, guest()).licence_configured.is_unknown());
}

// ----------------------------------------------------------------------- firmware

TEST(GspFirmware, IsThatOfTheLoadedModule) {
  MemorySystem system;
  system.add_file("/lib/firmware/nvidia/580.65.06/gsp_ga10x.bin", "");
  EXPECT_TRUE(fill(system).gsp_firmware.is(false));
  system.add_file("/lib/firmware/nvidia/580.95.05/gsp_ga10x.bin.xz", "");
  EXPECT_TRUE(fill(system).gsp_firmware.is(true));
}

TEST(GspFirmware, IsFoundWhereTheKernelWasToldToLook) {
  MemorySystem system;
  system.add_file("/sys/module/firmware_class/parameters/path", "/run/current-system/firmware\n");
  system.add_file("/run/current-system/firmware/nvidia/580.95.05/gsp_tu10x.bin", "");
  EXPECT_TRUE(fill(system).gsp_firmware.is(true));
  Machine inside;
  inside.host.container = Fact<std::string>::known("docker", "/.dockerenv");
  EXPECT_TRUE(fill(MemorySystem(), inside).gsp_firmware.is_unknown());
}

}  // namespace
}  // namespace gpuwright
