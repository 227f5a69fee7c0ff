#include "diagnose/kernel_log.h"

#include <gtest/gtest.h>

#include "diagnose/machines.h"

namespace gpuwright {
namespace {

constexpr const char* kLoad =
    "[    4.114209] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.261.03  Tue Jun 10 2025";

Machine machine_with_log(std::vector<std::string> lines) {
  Machine machine = healthy_machine();
  machine.driver.kernel_log = known(std::move(lines), "kernel log");
  return machine;
}

DriverGpu& driver_gpu(Machine& machine) { return machine.hardware.driver_gpus.edit()[0]; }

// -------------------------------------------------------------------------- parsing

TEST(XidOfALine, IsReadInTheFormOfEveryDriver) {
  const auto modern = parse_xid(
      "[ 1.0] NVRM: Xid (PCI:0000:3B:00): 31, pid=40117, name=python3, Ch 0000000b, intr 0. MMU");
  ASSERT_TRUE(modern.has_value());
  EXPECT_EQ(modern->code, 31u);
  EXPECT_EQ(modern->slot, "0000:3b:00");
  EXPECT_EQ(modern->program, "python3 (pid 40117)");
  EXPECT_EQ(
      parse_xid("NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU")->program,
      "");
  EXPECT_EQ(parse_xid("NVRM: Xid (PCI:0000:86:00): 74, pid=1534, NVLink: fatal")->program,
            "pid 1534");
  EXPECT_EQ(parse_xid("NVRM: Xid (PCI:0000:0f:00 GPU-I:05 GPU-CI:00): 13, pid=7, name=a, x")->slot,
            "0000:0f:00");
  EXPECT_EQ(parse_xid("NVRM: Xid (0000:03:00): 14, 0001")->code, 14u);
}

TEST(XidOfALine, IsAlsoTheOneWithoutANumber) {
  const auto lost = parse_xid("NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.");
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->code, 79u);
  EXPECT_EQ(lost->slot, "0000:18:00");
}

TEST(XidOfALine, IsNothingElse) {
  for (const auto* line :
       {"", "NVRM: Xid (", "NVRM: Xid (PCI:0000:3b:00)", "NVRM: Xid (PCI:0000:3b:00): x, y",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.261.03"})
    EXPECT_FALSE(parse_xid(line).has_value()) << line;
}

TEST(Slot, IsTheFunctionsAddressWhateverTheDigitsOfTheDomain) {
  EXPECT_TRUE(is_slot_of("0000:3b:00", "0000:3b:00.0"));
  EXPECT_TRUE(is_slot_of("00000000:3b:00", "0000:3b:00.0"));
  EXPECT_FALSE(is_slot_of("0001:3b:00", "0000:3b:00.0"));
  EXPECT_FALSE(is_slot_of("", "0000:3b:00.0"));
}

// ------------------------------------------------------------------------- the rules

constexpr const char* kLost = "NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=x, GPU has fallen";
constexpr const char* kTimeout = "NVRM: Xid (PCI:0000:01:00): 119, pid=1, name=x, Timeout";

TEST(FatalXid, IsAnErrorWhenTheOnlyGpuIsLost) {
  const auto finding = finding_of(judge("hardware.xid", machine_with_log({kLoad, kLost})));
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_EQ(finding.subject, "0000:01:00.0");
}

TEST(FatalXid, WarnsWhenTheGpuMayHaveBeenResetSince) {
  const auto finding = finding_of(judge("hardware.xid", machine_with_log({kLoad, kTimeout})));
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.certainty, Certainty::kLikely);
}

TEST(FatalXid, OfAnotherSlotIsNotThisGpus) {
  const auto machine =
      machine_with_log({kLoad, "NVRM: Xid (PCI:0000:02:00): 79, pid=1, name=x, GPU has fallen"});
  EXPECT_TRUE(is_fine(judge("hardware.xid", machine)));
}

TEST(FatalXid, FromBeforeTheLastLoadIsOver) {
  EXPECT_TRUE(is_fine(judge("hardware.xid", machine_with_log({kLost, kLoad}))));
}

TEST(FatalXid, IsNotLookedForWithoutALog) {
  Machine machine = healthy_machine();
  machine.driver.kernel_log = Fact<std::vector<std::string>>::unknown("kernel log", "restricted");
  EXPECT_TRUE(does_not_apply(judge("hardware.xid", machine)));
}

// A container may be shown the kernel's log of a host with many GPUs.
TEST(FatalXid, InAContainerCountsOnlyForGpusThatItWasGiven) {
  Machine machine = machine_with_log({kLoad, kLost});
  machine.host.container = text("docker");
  EXPECT_EQ(findings_of(judge("hardware.xid", machine)).size(), 1u);
  driver_gpu(machine).address = "0000:02:00.0";
  EXPECT_TRUE(is_fine(judge("hardware.xid", machine)));
}

TEST(FatalXid, NamesTheFirstOfAChain) {
  const auto machine =
      machine_with_log({kLoad, "NVRM: Xid (PCI:0000:01:00): 62, pid=1, name=x, 0000",
                        "NVRM: Xid (PCI:0000:01:00): 45, pid=1, name=x, Ch 1", kTimeout});
  EXPECT_NE(finding_of(judge("hardware.xid", machine)).statement.find("Xid 62"), std::string::npos);
}

TEST(ProgramFault, IsNotToldBesideAFatalOne) {
  const char* fault = "NVRM: Xid (PCI:0000:01:00): 31, pid=7, name=train, MMU Fault";
  EXPECT_EQ(finding_of(judge("hardware.xid-of-program", machine_with_log({kLoad, fault}))).severity,
            Severity::kInfo);
  EXPECT_TRUE(
      does_not_apply(judge("hardware.xid-of-program", machine_with_log({kLoad, fault, kLost}))));
}

TEST(NotStarted, NeedsAGpuThatHasNeverComeUp) {
  Machine machine =
      machine_with_log({kLoad, "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24:0x72:1568)"});
  driver_gpu(machine).uuid = known("GPU-" + std::string(8, '?'));
  const auto finding = finding_of(judge("hardware.gpu-not-started", machine));
  EXPECT_NE(finding.cause.find("memory has an error"), std::string::npos);
  driver_gpu(machine).uuid = text("GPU-22222222-3333-4444-5555-666666666666");
  EXPECT_TRUE(does_not_apply(judge("hardware.gpu-not-started", machine)));
  driver_gpu(machine).uuid = Fact<std::string>();
  EXPECT_TRUE(does_not_apply(judge("hardware.gpu-not-started", machine))) << "unknown is not no";
}

TEST(NotStarted, LeavesAGpuOfTheWrongDriverToItsRule) {
  Machine machine =
      machine_with_log({kLoad, "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:894)"});
  driver_gpu(machine).uuid = known("GPU-" + std::string(8, '?'));
  machine.hardware.gpus.edit()[0].device_id = "2b85";  // Blackwell, and a proprietary 535
  EXPECT_TRUE(does_not_apply(judge("hardware.gpu-not-started", machine)));
}

TEST(Firmware, OfNouveauIsNotThatOfTheModule) {
  Machine machine = machine_with_log(
      {kLoad,
       "nouveau 0000:01:00.0: Direct firmware load for nvidia/ga102/gsp/gsp-535.113.01.bin "
       "failed with error -2"});
  EXPECT_TRUE(missing_firmware(machine).empty());
  machine = machine_with_log(
      {kLoad,
       "nvidia 0000:01:00.0: Direct firmware load for nvidia/535.261.03/gsp_ga10x.bin "
       "failed with error -2"});
  EXPECT_EQ(missing_firmware(machine).size(), 1u);
}

TEST(BarSpace, ReadsTheKernelsOldAndNewForm) {
  for (const auto* line :
       {"pci 0000:01:00.0: BAR 1: failed to assign [mem size 0x10000000 64bit pref]",
        "pci 0000:01:00.0: BAR 1 [mem size 0x10000000 64bit pref]: failed to assign",
        "pci 0000:01:00.0: BAR 1 [mem size 0x10000000 64bit pref]: can't assign; no space"}) {
    Machine machine = machine_with_log({line});
    machine.hardware.driver_gpus = known(std::vector<DriverGpu>{});
    EXPECT_EQ(findings_of(judge("hardware.bar-space", machine)).size(), 1u) << line;
    EXPECT_TRUE(is_fine(judge("hardware.gpu-fewer-in-driver", machine))) << "told once";
  }
}

TEST(BarSpace, DoesNotMindRegionsThatNobodyNeeds) {
  for (const auto* line :
       {"pci 0000:01:00.0: BAR 5: failed to assign [io  size 0x0080]",
        "pci 0000:01:00.0: BAR 6: failed to assign [mem size 0x00080000 pref]",
        "pci 0000:01:00.0: VF BAR 2 [mem size 0x10000000 64bit pref]: failed to assign",
        "pci 0000:01:00.0: ROM [mem size 0x00080000 pref]: failed to assign",
        "pci 0000:02:00.0: BAR 1: failed to assign [mem size 0x10000000 64bit pref]"}) {
    Machine machine = machine_with_log({line});
    machine.hardware.driver_gpus = known(std::vector<DriverGpu>{});
    EXPECT_TRUE(does_not_apply(judge("hardware.bar-space", machine))) << line;
  }
}

TEST(Excluded, IsNamedAsTheReason) {
  Machine machine = healthy_machine();
  driver_gpu(machine).excluded = known(true);
  machine.driver.module_options["nvidia.NVreg_ExcludedGpus"] = "0000:01:00.0";
  EXPECT_NE(finding_of(judge("hardware.gpu-fewer-in-driver", machine))
                .cause.find("NVreg_ExcludedGpus=0000:01:00.0"),
            std::string::npos);
}

// --------------------------------------------------------------------------- hangs

BlockedTask stuck() { return {4711, "python3", "uvm_ioctl"}; }

TEST(Hang, NeedsTheKernelsWordBesideATaskInStateD) {
  Machine machine = machine_with_log({kLoad});
  machine.driver.blocked = known(std::vector<BlockedTask>{stuck()});
  EXPECT_TRUE(does_not_apply(judge("driver.hangs", machine))) << "state D for a moment is ordinary";
  machine = machine_with_log({kLoad, kTimeout});
  EXPECT_TRUE(does_not_apply(judge("driver.hangs", machine))) << "nobody is stuck";
  machine.driver.blocked = known(std::vector<BlockedTask>{stuck()});
  EXPECT_EQ(finding_of(judge("driver.hangs", machine)).severity, Severity::kError);
}

}  // namespace
}  // namespace gpuwright
