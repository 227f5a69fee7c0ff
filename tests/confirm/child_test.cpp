#include "confirm/child.h"

#include <gtest/gtest.h>

#include "base/child_process.h"

// The program as a child of these tests, with libraries that stand in for the driver's.

namespace gpuwright {
namespace {

using Environment = std::map<std::string, std::string>;

std::string fake(const char* name) { return std::string(GPUWRIGHT_FAKE_LIBRARIES) + "/" + name; }

ChildEnd run_part(const char* what, const std::string& path, const Environment& environment = {},
                  std::chrono::milliseconds limit = std::chrono::minutes(10)) {
  ChildCommand command;
  command.arguments = {GPUWRIGHT_PROGRAM, kChildCommand, what, path, "M"};
  command.environment = environment;
  command.limit = limit;
  return run_child(command);
}

DriverRun driver(const char* name, const Environment& environment = {}) {
  const ChildEnd end = run_part("driver", fake(name), environment);
  EXPECT_EQ(end.kind, ChildEnd::Kind::kExited) << end.err;
  EXPECT_EQ(end.code, 0) << end.err;
  const auto run = run_from_json(parse_told(end.out, "M").json);
  return run ? run->driver.value_or({}) : DriverRun{};
}

NvmlRun nvml_run(const char* name, const Environment& environment = {}) {
  const ChildEnd end = run_part("nvml", fake(name), environment);
  EXPECT_EQ(end.kind, ChildEnd::Kind::kExited) << end.err;
  const auto run = run_from_json(parse_told(end.out, "M").json);
  return run ? run->nvml.value_or({}) : NvmlRun{};
}

TEST(DriverChild, ListsTheDevices) {
  const DriverRun run = driver("cuda_new.so");
  EXPECT_EQ(run.path, fake("cuda_new.so"));
  EXPECT_EQ(run.result, "CUDA_SUCCESS");
  EXPECT_EQ(run.cuda.value_or(Version::of("0")).text(), "12.4");
  EXPECT_EQ(run.devices, (std::vector<std::string>{"Fake GPU 100 (0000:03:00.0)",
                                                   "Fake GPU 101 (0000:04:00.0)"}));
}

TEST(DriverChild, WhatTheLibraryHasNotIsAbsent) {
  const DriverRun run = driver("cuda_old.so");
  EXPECT_EQ(run.result, "CUDA_SUCCESS");
  EXPECT_TRUE(run.cuda.is_absent());
  EXPECT_EQ(run.devices, (std::vector<std::string>{"GPU 0", "GPU 1"}));
}

TEST(DriverChild, GivesTheCodeByName) {
  EXPECT_EQ(driver("cuda_new.so", {{"FAKE_INIT", "999"}}).result, "CUDA_ERROR_UNKNOWN (999)");
  EXPECT_EQ(driver("cuda_new.so", {{"FAKE_COUNT_CODE", "3"}}).result,
            "CUDA_ERROR_NOT_INITIALIZED (3)");
  EXPECT_EQ(driver("cuda_new.so", {{"FAKE_INIT", "999"}}).cuda.value_or(Version::of("0")).text(),
            "12.4");
}

TEST(DriverChild, ANonsenseCountIsBounded) {
  EXPECT_LE(driver("cuda_new.so", {{"FAKE_COUNT", "2000000000"}}).devices.size(), 256u);
  EXPECT_TRUE(driver("cuda_new.so", {{"FAKE_COUNT", "-7"}}).devices.empty());
}

TEST(DriverChild, AFileThatIsNoLibraryCannotBeLoaded) {
  EXPECT_TRUE(driver("../../../CMakeCache.txt").result.starts_with("cannot be loaded: "));
  EXPECT_TRUE(driver("nothing.so").result.starts_with("cannot be loaded: "));
  EXPECT_EQ(driver("nvml_new.so").result,
            "cannot be loaded: it has no cuInit or no cuDeviceGetCount");
}

TEST(DriverChild, HasSaidWhereItDied) {
  const ChildEnd end = run_part("driver", fake("cuda_new.so"),
                                {{"FAKE_INIT", "crash"},
                                 {"ASAN_OPTIONS", "handle_segv=0"},
                                 {"TSAN_OPTIONS", "handle_segv=0"}});
  EXPECT_EQ(end.kind, ChildEnd::Kind::kSignalled);
  EXPECT_EQ(parse_told(end.out, "M").last_call, "cuInit");
}

TEST(DriverChild, HasSaidWhereItHangs) {
  const ChildEnd end =
      run_part("driver", fake("cuda_new.so"), {{"FAKE_INIT", "hang"}}, std::chrono::seconds(5));
  EXPECT_EQ(end.kind, ChildEnd::Kind::kNoAnswer);
  EXPECT_EQ(parse_told(end.out, "M").last_call, "cuInit");
}

TEST(NvmlChild, TellsEverythingAboutASoundGpu) {
  const NvmlRun run = nvml_run("nvml_new.so");
  EXPECT_EQ(run.result, "NVML_SUCCESS");
  EXPECT_EQ(run.driver_version.value_or(Version::of("0")).text(), "580.159.04");
  ASSERT_EQ(run.gpus.size(), 2u);
  const NvmlGpu& gpu = run.gpus[0];
  EXPECT_EQ(gpu.error, "");
  EXPECT_EQ(gpu.address, "0001:af:02.0");
  EXPECT_EQ(gpu.name, "Fake H200");
  EXPECT_EQ(gpu.uuid, "GPU-1a2b3c4d-0000-4000-8000-000000000000");
  EXPECT_TRUE(gpu.memory_total_bytes.is(1000)) << "the form with a version";
  EXPECT_TRUE(gpu.memory_used_bytes.is(90));
  EXPECT_TRUE(gpu.utilisation_percent.is(97));
  EXPECT_TRUE(gpu.temperature_c.is(55));
  EXPECT_TRUE(gpu.power_w.is(71.5));
  EXPECT_TRUE(gpu.power_limit_w.is(700));
  EXPECT_TRUE(gpu.link_generation.is(5));
  EXPECT_TRUE(gpu.link_width.is(16));
  EXPECT_TRUE(gpu.link_width_max.is_absent());
  EXPECT_TRUE(gpu.clock_reasons.is({"hw_slowdown", "hw_power_brake"}));
  EXPECT_TRUE(gpu.compute_mode.is("exclusive-process"));
  EXPECT_TRUE(gpu.persistence.is(true));
  EXPECT_TRUE(gpu.ecc.is(true));
  EXPECT_TRUE(gpu.mig.is(true));
  EXPECT_TRUE(gpu.mig_devices.is(2)) << "indices have gaps";
  EXPECT_TRUE(gpu.ecc_uncorrected_volatile.is(1));
  EXPECT_TRUE(gpu.ecc_uncorrected_aggregate.is(7));
  EXPECT_TRUE(gpu.remapped_rows_uncorrected.is(2));
  EXPECT_TRUE(gpu.remap_pending.is(true));
  EXPECT_TRUE(gpu.remap_failed.is(false));
  EXPECT_TRUE(gpu.retired_pages.is(3));
  EXPECT_TRUE(gpu.retirement_pending.is(false));
  EXPECT_TRUE(gpu.virtualisation.is("vgpu"));
  EXPECT_TRUE(gpu.licence.is("unlicensed"));
  EXPECT_TRUE(gpu.fabric_state.is("in progress"));
}

TEST(NvmlChild, AGpuThatIsLostHasItsErrorAndNothingElse) {
  const NvmlRun run = nvml_run("nvml_new.so");
  ASSERT_EQ(run.gpus.size(), 2u);
  EXPECT_EQ(run.gpus[1].error, "NVML_ERROR_GPU_IS_LOST");
  EXPECT_EQ(run.gpus[1].index, 1u);
  EXPECT_TRUE(run.gpus[1].temperature_c.is_unknown());
}

TEST(NvmlChild, AnOldLibrarySaysWhatItCan) {
  const NvmlRun run = nvml_run("nvml_old.so", {{"FAKE_COUNT", "1"}});
  EXPECT_EQ(run.result, "NVML_SUCCESS");
  ASSERT_EQ(run.gpus.size(), 1u);
  const NvmlGpu& gpu = run.gpus[0];
  EXPECT_EQ(gpu.address, "0000:3b:00.0");
  EXPECT_TRUE(gpu.memory_total_bytes.is(100));
  EXPECT_TRUE(gpu.temperature_c.is(41));
  for (const auto* fact : {&gpu.power_w, &gpu.power_limit_w}) EXPECT_TRUE(fact->is_absent());
  EXPECT_TRUE(gpu.mig.is_absent());
  EXPECT_TRUE(gpu.remap_failed.is_absent());
  EXPECT_TRUE(gpu.fabric_state.is_absent());
}

TEST(NvmlChild, GivesTheCodeByName) {
  const NvmlRun run = nvml_run("nvml_new.so", {{"FAKE_INIT", "18"}});
  EXPECT_EQ(run.result, "NVML_ERROR_LIB_RM_VERSION_MISMATCH");
  EXPECT_TRUE(run.gpus.empty());
}

TEST(Child, WrongWordsAreWrongUsage) {
  EXPECT_EQ(run_part("other", "/x").code, 2);
  EXPECT_EQ(run_as_child({}), 2);
  EXPECT_EQ(run_as_child({"nvml", "/x"}), 2);
}

}  // namespace
}  // namespace gpuwright
