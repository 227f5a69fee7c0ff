#include <algorithm>
#include <functional>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/gpu.h"
#include "diagnose/kernel_log.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// Health of the GPUs, as NVML told under `check --run` and as the kernel's log tells: errors and
// repairs of memory, the PCIe link under load, clocks held down, GPUs that are lost.

namespace gpuwright {
namespace {

/// A GPU on the bus with what NVML said about it, if it was asked.
struct Patient {
  std::string name;     ///< "NVIDIA A100 at 0000:3b:00.0"
  std::string address;  ///< "0000:3b:00.0"
  const NvmlGpu* nvml = nullptr;
  std::vector<XidLine> xids;  ///< Of this GPU, since the module was loaded.
};

// NVML's domain has eight digits: "00000000:3B:00.0".
bool same_address(const std::string& a, const std::string& b) {
  return is_slot_of(lower(a.substr(0, a.rfind('.'))), b);
}

const NvmlGpu* nvml_of(const Machine& machine, const std::string& address) {
  if (!machine.run.nvml.is_known()) return nullptr;
  for (const auto& gpu : machine.run.nvml->gpus)
    if (!gpu.address.empty() && same_address(gpu.address, address)) return &gpu;
  return nullptr;
}

std::vector<Patient> patients(const Machine& machine, const Catalog& catalog) {
  std::vector<Patient> all;
  const auto open = open_xids(machine);
  for (const auto& gpu : judged_gpus(machine)) {
    Patient one{gpu_name(machine, catalog, gpu) + " at " + gpu.address,
                gpu.address,
                nvml_of(machine, gpu.address),
                {}};
    for (const auto& xid : open)
      if (is_slot_of(xid.slot, gpu.address)) one.xids.push_back(xid);
    all.push_back(std::move(one));
  }
  // A container may hide the bus from us and not from NVML.
  if (all.empty() && machine.run.nvml.is_known())
    for (const auto& gpu : machine.run.nvml->gpus)
      if (!gpu.address.empty())
        all.push_back({gpu.name + " at " + gpu.address, gpu.address, &gpu, {}});
  return all;
}

constexpr const char* kNvml = "NVML";

Evidence said(const char* what, std::uint64_t value) {
  return {std::string(what) + ": " + std::to_string(value), kNvml};
}

std::vector<Evidence> lines_of(const Machine& machine, const Patient& patient,
                               std::initializer_list<std::uint64_t> codes) {
  std::vector<Evidence> found;
  for (const auto& xid : patient.xids)
    if (found.size() < 3 && std::find(codes.begin(), codes.end(), xid.code) != codes.end())
      found.push_back({xid.line, machine.driver.kernel_log.source()});
  return found;
}

FixStep reset_step(const Patient& patient) {
  return root_step("sudo nvidia-smi --gpu-reset -i " + shell_word(patient.address),
                   "after every program on it has ended; on a board with NVSwitch all GPUs "
                   "together, without -i; else reboot",
                   "ends what runs on this GPU", "none needed");
}

FixStep look_step() {
  return user_step("nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER", "the counters in full",
                   "nothing", "none needed");
}

/// Asks `judge` about every GPU and collects what it finds.
Verdict each_gpu(const Machine& machine, const Catalog& catalog,
                 const std::function<std::optional<Finding>(const Patient&)>& judge) {
  std::vector<Finding> findings;
  bool looked = machine.driver.kernel_log.is_known();
  for (const auto& patient : patients(machine, catalog)) {
    looked = looked || patient.nvml != nullptr;
    if (auto finding = judge(patient)) {
      finding->subject = patient.address;
      findings.push_back(std::move(*finding));
    }
  }
  if (!findings.empty()) return findings;
  return looked ? Verdict(Fine{}) : NotApplicable{};
}

// ------------------------------------------------------------------------------- lost

bool is_lost(const NvmlGpu& gpu) {
  return gpu.error.find("GPU_IS_LOST") != std::string::npos ||
         gpu.error.find("RESET_REQUIRED") != std::string::npos;
}

bool all_are_lost(const Machine& machine) {
  const auto& gpus = machine.run.nvml->gpus;
  return std::all_of(gpus.begin(), gpus.end(), is_lost);
}

Verdict answers(const Machine& machine, const Catalog& catalog) {
  if (!machine.run.nvml.is_known()) return NotApplicable{};
  return each_gpu(machine, catalog, [&](const Patient& patient) -> std::optional<Finding> {
    if (patient.nvml == nullptr || !is_lost(*patient.nvml)) return std::nullopt;
    const bool reset = patient.nvml->error.find("RESET_REQUIRED") != std::string::npos;
    auto evidence = lines_of(machine, patient, {79, 119, 120, 62, 74, 95, 48, 46, 109});
    evidence.insert(evidence.begin(), {patient.nvml->error, kNvml});
    std::vector<FixStep> fix;
    if (reset) fix.push_back(reset_step(patient));
    fix.push_back(reboot(reset ? "when the reset is refused" : "brings it back if it can"));
    fix.push_back(advice("when it comes again: check power plugs, seat, riser and cooling"));
    return Finding{
        .severity = all_are_lost(machine) ? Severity::kError : Severity::kWarning,
        .statement = patient.name + (reset ? " takes no work until it is reset"
                                           : " does not answer any more: the GPU is lost"),
        .evidence = std::move(evidence),
        .cause = reset ? "an error that the driver cannot clear by itself"
                       : "it stopped answering on the bus: power, heat, slot or riser, or a defect",
        .fix = std::move(fix),
    };
  });
}

// ----------------------------------------------------------------------------- memory

// The volatile counter is of this load of the driver; the aggregate one is the card's life and no
// fault by itself. Xid 48 is an uncorrectable error, 94 one that cost a single program, 95 one that
// may have reached others, 140 one that nothing caught.
Verdict memory_is_right(const Machine& machine, const Catalog& catalog) {
  return each_gpu(machine, catalog, [&](const Patient& patient) -> std::optional<Finding> {
    auto evidence = lines_of(machine, patient, {48, 94, 95, 140});
    const auto* nvml = patient.nvml;
    const bool counted = nvml != nullptr && nvml->ecc_uncorrected_volatile.is_known();
    // A reset has set the counter to 0 again and repaired the memory.
    if (counted && *nvml->ecc_uncorrected_volatile == 0) return std::nullopt;
    if (!counted && evidence.empty()) return std::nullopt;
    if (counted)
      evidence.insert(evidence.begin(), said("uncorrectable ECC errors since the driver was loaded",
                                             *nvml->ecc_uncorrected_volatile));
    return Finding{
        .severity = Severity::kWarning,
        .statement = patient.name + " has had " +
                     (counted ? std::to_string(*nvml->ecc_uncorrected_volatile) + " " : "") +
                     "memory errors that ECC could not correct since the driver was loaded",
        .evidence = std::move(evidence),
        .cause =
            "memory cells of the card fail; the program that met them was ended, and a reset "
            "takes the row or page out of use",
        .fix = {advice("do not trust results between the last good checkpoint and the error"),
                reset_step(patient), look_step(),
                advice("when it comes again after the reset: have the card replaced")},
        .certainty = counted ? Certainty::kProven : Certainty::kLikely,
    };
  });
}

Verdict no_repair_waits(const Machine& machine, const Catalog& catalog) {
  return each_gpu(machine, catalog, [&](const Patient& patient) -> std::optional<Finding> {
    const auto* nvml = patient.nvml;
    const bool asked =
        nvml != nullptr && (nvml->remap_pending.is_known() || nvml->retirement_pending.is_known());
    const bool waits = asked && (nvml->remap_pending.is(true) || nvml->retirement_pending.is(true));
    auto evidence = lines_of(machine, patient, {63});
    if (asked ? !waits : evidence.empty()) return std::nullopt;
    if (asked) evidence.insert(evidence.begin(), {"a repair of memory is pending", kNvml});
    return Finding{
        .severity = Severity::kWarning,
        .statement = patient.name + " waits for a reset to take faulty memory out of use",
        .evidence = std::move(evidence),
        .cause =
            "a memory row or page failed and is marked; the card exchanges it at its next "
            "start only",
        .fix = {reset_step(patient), look_step()},
        .certainty = asked ? Certainty::kProven : Certainty::kLikely,
    };
  });
}

// NVIDIA's limits for a replacement: a row that could not be remapped, 60 retired pages.
constexpr std::uint64_t kRetiredPagesLimit = 60;

std::string why_worn(const Patient& patient) {
  const auto* nvml = patient.nvml;
  if (nvml != nullptr && nvml->remap_failed.is(true))
    return "a faulty row could not be exchanged: no spare row is left for it";
  if (nvml != nullptr && nvml->retired_pages.is_known() &&
      *nvml->retired_pages >= kRetiredPagesLimit)
    return std::to_string(*nvml->retired_pages) + " memory pages are retired, and " +
           std::to_string(kRetiredPagesLimit) + " are the limit";
  return {};
}

Verdict memory_can_be_repaired(const Machine& machine, const Catalog& catalog) {
  return each_gpu(machine, catalog, [&](const Patient& patient) -> std::optional<Finding> {
    auto evidence = lines_of(machine, patient, {64});
    std::string why = why_worn(patient);
    const bool denied = patient.nvml != nullptr && patient.nvml->remap_failed.is(false);
    if (why.empty() && (evidence.empty() || denied)) return std::nullopt;
    const bool proven = !why.empty();
    if (proven) evidence.insert(evidence.begin(), {why, kNvml});
    if (!proven) why = "the driver could not take a faulty row or page out of use";
    return Finding{
        .severity = Severity::kWarning,
        .statement = patient.name + " can no longer repair its memory: " + why,
        .evidence = std::move(evidence),
        .cause = "the card's memory wears out; further errors will end programs or spoil results",
        .fix = {look_step(), advice("take it out of use and have it replaced (RMA)"),
                root_step("sudo nvidia-bug-report.sh", "what the vendor asks for",
                          "writes nvidia-bug-report.log.gz here", "rm nvidia-bug-report.log.gz")},
        .certainty = proven ? Certainty::kProven : Certainty::kLikely,
    };
  });
}

// -------------------------------------------------------------------------------- link

constexpr std::uint64_t kBusyPercent = 50;

bool is_busy(const NvmlGpu& gpu) {
  return gpu.utilisation_percent.is_known() && *gpu.utilisation_percent >= kBusyPercent;
}

// An idle GPU lowers its link on purpose, so only a busy one tells. NVML's maximum is the smaller
// of what card and slot can do, so the cause is between them.
Verdict link_is_fast(const Machine& machine, const Catalog& catalog) {
  if (!machine.run.nvml.is_known()) return NotApplicable{};
  return each_gpu(machine, catalog, [&](const Patient& patient) -> std::optional<Finding> {
    const auto* nvml = patient.nvml;
    if (nvml == nullptr || !is_busy(*nvml)) return std::nullopt;
    const auto &now = nvml->link_generation, &most = nvml->link_generation_max;
    if (!now.is_known() || !most.is_known() || *now == 0 || *now >= *most) return std::nullopt;
    return Finding{
        .severity = Severity::kWarning,
        .statement = patient.name + " is busy and runs its PCIe link at generation " +
                     std::to_string(*now) + "; card and slot can do " + std::to_string(*most),
        .evidence = {said("utilisation in percent", *nvml->utilisation_percent),
                     said("PCIe generation now", *now), said("PCIe generation at most", *most)},
        .cause =
            "the link fell back to a lower speed: a riser or cable that is not made for it, a "
            "dirty contact, a speed fixed in the firmware's settings, or power management of "
            "the link (ASPM)",
        .fix = {user_step("nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.gen.max,"
                          "utilization.gpu --format=csv -l 1",
                          "look again while work runs", "nothing", "none needed"),
                advice("in the firmware's settings: link speed of the slot to Auto, ASPM off; seat "
                       "the card again, try without riser")},
        .certainty = Certainty::kLikely,
    };
  });
}

// ------------------------------------------------------------------------------ clocks

struct Brake {
  std::string_view reason;
  const char* text;
  const char* remedy;
};
constexpr Brake kBrakes[] = {
    {"hw_thermal", "it is too hot",
     "clean fans and heat sinks, close gaps in the case, check that air flows through a passive "
     "card"},
    {"hw_power_brake", "the power supply or the chassis pulls the brake",
     "check the power supplies (one of two failed?) and the power limit of the chassis"},
    {"hw_slowdown", "heat or power forces it",
     "check cooling and power plugs: nvidia-smi -q -d PERFORMANCE names which of the two"},
};

// What holds the clocks of an idle GPU costs nobody anything.
const Brake* brake_of(const NvmlGpu& gpu) {
  if (!gpu.clock_reasons.is_known()) return nullptr;
  for (const auto& reason : *gpu.clock_reasons)
    if (reason == "idle") return nullptr;
  for (const auto& brake : kBrakes)
    for (const auto& reason : *gpu.clock_reasons)
      if (reason == brake.reason) return &brake;
  return nullptr;
}

// A power cap by software is the normal state of a card at full load. The hardware's brakes halve
// the clocks and more, and are not.
Verdict clocks_are_free(const Machine& machine, const Catalog& catalog) {
  if (!machine.run.nvml.is_known()) return NotApplicable{};
  return each_gpu(machine, catalog, [&](const Patient& patient) -> std::optional<Finding> {
    const Brake* brake = patient.nvml == nullptr ? nullptr : brake_of(*patient.nvml);
    if (brake == nullptr) return std::nullopt;
    std::vector<Evidence> evidence = {cite("clocks are held by", patient.nvml->clock_reasons)};
    if (patient.nvml->temperature_c.is_known())
      evidence.push_back(said("temperature in C", *patient.nvml->temperature_c));
    return Finding{
        .severity = Severity::kWarning,
        .statement = patient.name + " holds its clocks down to half or less: " + brake->text,
        .evidence = std::move(evidence),
        .cause = "the card protects itself",
        .fix = {user_step("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",
                          "the reasons and limits", "nothing", "none needed"),
                advice(brake->remedy)},
    };
  });
}

constexpr Rule kRules[] = {
    {"hardware.gpu-lost", "every GPU answers", answers, Standing::kOwn},
    {"hardware.memory-errors", "no GPU has met a memory error that ECC cannot correct",
     memory_is_right, Standing::kAdvice},
    {"hardware.memory-repair-pending", "no repair of GPU memory waits for a reset", no_repair_waits,
     Standing::kAdvice},
    {"hardware.memory-worn", "GPU memory can still be repaired", memory_can_be_repaired,
     Standing::kAdvice},
    {"hardware.link-slow", "a busy GPU's PCIe link runs at full speed", link_is_fast,
     Standing::kAdvice},
    {"hardware.slowed-down", "neither heat nor power holds a GPU's clocks down", clocks_are_free,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> hardware_health_rules() { return kRules; }

}  // namespace gpuwright
