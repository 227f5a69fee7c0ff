#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"

// Works, but slowly for a reason of the hardware: PCIe links that trained too low, clocks that heat
// or power holds down. An idle GPU lowers its link and its clocks by itself, so only a GPU at work
// is judged, and a link that is narrow, which never changes with load.

namespace gpuwright {
namespace {

double number_of(const Event& event, const char* name) {
  const auto text = value_of(event, name);
  std::string digits;
  for (const char c : text) {
    if ((c < '0' || c > '9') && c != '.') break;
    digits += c;
  }
  if (digits.empty() || digits.size() > 9 || digits == ".") return -1;
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string gpu_of(const Event& event) {
  for (const auto* name : {"index", "address", "gpu", "uuid"})
    if (const auto value = value_of(event, name); !value.empty()) return value;
  return "";
}

bool is_busy(const Event& row) {
  const double load = number_of(row, "utilization.gpu");
  return load >= 0 ? load >= 50 : value_of(row, "pstate") == "P0";
}

std::string gen_and_width(double gen, double width) {
  std::string text;
  if (gen > 0) text += "Gen" + std::to_string(static_cast<int>(gen));
  if (width > 0) text += (text.empty() ? "x" : " x") + std::to_string(static_cast<int>(width));
  return text;
}

std::vector<FixStep> retrain() {
  return {advice("reseat the card and its riser; check retimers, the slot's wiring and its "
                 "bifurcation in the firmware's settings; update the firmware"),
          user_step("nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.gen.max,"
                    "pcie.link.width.current,pcie.link.width.max --format=csv",
                    "check again while the GPU works", "nothing", "none needed")};
}

Finding slow_link(const Event& event, const std::string& gpu, const std::string& now,
                  const std::string& able) {
  return {.severity = Severity::kWarning,
          .subject = gpu,
          .statement = "the PCIe link of GPU " + gpu + " runs at " + now + " although " + able +
                       " is possible",
          .evidence = {cite(event)},
          .cause =
              "the link trained lower than both ends can: a dirty or loose contact, a riser, a "
              "slot with fewer lanes, lanes shared with another device, or errors on the line",
          .fix = retrain(),
          .certainty = Certainty::kLikely};
}

void links_of_rows(const Machine& machine, std::vector<Finding>& findings) {
  for (const auto* row : events_of(machine, "smi.row")) {
    const double gen = number_of(*row, "pcie.link.gen.current"),
                 gen_max = number_of(*row, "pcie.link.gen.max"),
                 width = number_of(*row, "pcie.link.width.current"),
                 width_max = number_of(*row, "pcie.link.width.max");
    const bool narrow = width > 0 && width_max > 0 && width < width_max;
    // Generations fall with the clocks: judged at work, not at rest.
    const bool slow = gen > 0 && gen_max > 0 && gen < gen_max && is_busy(*row);
    if (!narrow && !slow) continue;
    findings.push_back(slow_link(*row, gpu_of(*row), gen_and_width(gen, width),
                                 gen_and_width(gen_max, width_max)));
  }
}

// lspci says itself "(downgraded)"; at rest the speed is low by design, the width never.
void links_of_lspci(const Machine& machine, std::vector<Finding>& findings) {
  for (const auto* link : events_of(machine, "pci.link")) {
    const double width = number_of(*link, "width"), able = number_of(*link, "width_max");
    const bool narrow = able > 0
                            ? width > 0 && width < able
                            : link->text.find("x" + value_of(*link, "width") + " (downgraded)") !=
                                  std::string::npos;
    if (!narrow) continue;
    findings.push_back(slow_link(*link, value_of(*link, "address"), gen_and_width(-1, width),
                                 able > 0 ? gen_and_width(-1, able) : "more"));
  }
}

void links_of_outline(const Machine& machine, std::vector<Finding>& findings) {
  for (const auto* event : events_of(machine, "smi.q")) {
    if (value_of(*event, "key") != "Link Width/Current") continue;
    const double now = number_of(*event, "value");
    for (const auto* other : events_of(machine, "smi.q"))
      if (value_of(*other, "key") == "Link Width/Max" &&
          value_of(*other, "gpu") == value_of(*event, "gpu") && now > 0 &&
          now < number_of(*other, "value")) {
        findings.push_back(slow_link(*event, value_of(*event, "gpu"), value_of(*event, "value"),
                                     value_of(*other, "value")));
        findings.back().evidence.push_back(cite(*other));
      }
  }
}

void links_of_kernel(const Machine& machine, std::vector<Finding>& findings) {
  for (const auto* event : events_of(machine, "kernel.link-limited")) {
    const auto address = value_of(*event, "address");
    const bool is_gpu =
        std::any_of(machine.events.begin(), machine.events.end(), [&](const Event& e) {
          return e.id != "kernel.link-limited" &&
                 e.text.find(address.substr(5)) != std::string::npos;
        });
    if (!is_gpu) continue;
    findings.push_back(slow_link(*event, address, value_of(*event, "have") + " Gb/s",
                                 value_of(*event, "able") + " Gb/s"));
  }
}

// One finding for all GPUs: a board's wiring hits several alike.
Verdict links_are_fast(const Machine& machine, const Catalog&) {
  std::vector<Finding> found;
  links_of_rows(machine, found);
  if (found.empty()) links_of_outline(machine, found);
  if (found.empty()) links_of_lspci(machine, found);
  if (found.empty()) links_of_kernel(machine, found);
  if (found.empty()) return NotApplicable{};
  Finding finding = found.front();
  for (std::size_t i = 1; i < found.size(); ++i) {
    finding.subject += ", " + found[i].subject;
    for (const auto& evidence : found[i].evidence) finding.evidence.push_back(evidence);
  }
  if (found.size() > 1)
    finding.statement += "; so do " + std::to_string(found.size() - 1) + " more";
  return finding;
}

// -------------------------------------------------------------------------------- clocks

struct Brake {
  std::string_view key;  ///< End of the key in nvidia-smi -q.
  const char* what;
  bool heat;
};
// The power cap in software is normal for a GPU at work; the brakes are not.
constexpr Brake kBrakes[] = {
    {"SW Thermal Slowdown", "thermal slowdown (software)", true},
    {"HW Thermal Slowdown", "thermal slowdown (hardware)", true},
    {"HW Power Brake Slowdown", "power brake of the power supply", false},
    {"HW Slowdown", "hardware slowdown", true},
};

std::vector<FixStep> cool(bool heat) {
  std::vector<FixStep> steps;
  if (heat)
    steps.push_back(
        advice("restore the cooling: fans, air flow, inlet temperature, seat of the heat "
               "sink, dust"));
  else
    steps.push_back(
        advice("check the power supplies and the cables of the card: the board asked for "
               "less power"));
  steps.push_back(user_step("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER,CLOCK",
                            "check again while the GPU works", "nothing", "none needed"));
  return steps;
}

// The row of the table with low clocks belongs to the reason that -q names.
const Event* slow_row(const Machine& machine) {
  for (const auto* row : events_of(machine, "smi.row")) {
    const double now = number_of(*row, "clocks.sm"), most = number_of(*row, "clocks.max.sm");
    if (now > 0 && most > 0 && now < 0.75 * most && number_of(*row, "utilization.gpu") >= 50)
      return row;
  }
  return nullptr;
}

// Bits of clocks_event_reasons.active (NVML): 0x8 HW slowdown, 0x20 SW thermal, 0x40 HW thermal,
// 0x80 power brake.
const Event* braked_row(const Machine& machine, std::string& what, bool& heat) {
  for (const auto* row : events_of(machine, "smi.row")) {
    const auto text = value_of(*row, "clocks_throttle_reasons.active");
    if (text.size() < 3 || text.size() > 18 || !text.starts_with("0x")) continue;
    const auto bits = parse_unsigned(std::string_view(text).substr(2), 16).value_or(0);
    if ((bits & 0xe8) == 0) continue;
    heat = (bits & 0x60) != 0;
    what = heat ? "thermal slowdown" : (bits & 0x80) != 0 ? "power brake" : "hardware slowdown";
    return row;
  }
  return nullptr;
}

Verdict clocks_are_free(const Machine& machine, const Catalog&) {
  const Event* proof = nullptr;
  std::string what;
  bool heat = true;
  for (const auto& brake : kBrakes) {
    for (const auto* event : events_of(machine, "smi.q"))
      if (proof == nullptr && value_of(*event, "value") == "Active" &&
          value_of(*event, "key").ends_with("/" + std::string(brake.key))) {
        proof = event;
        what = brake.what;
        heat = brake.heat;
      }
  }
  if (proof == nullptr) proof = braked_row(machine, what, heat);
  if (proof == nullptr) return NotApplicable{};
  const auto* row = proof->id == "smi.row" ? proof : slow_row(machine);
  const auto most = row == nullptr ? "" : value_of(*row, "clocks.max.sm");
  const auto gpu = gpu_of(*proof);
  std::string clocks;
  if (!most.empty())
    clocks = ": " + value_of(*row, "clocks.sm") + " of " + value_of(*row, "clocks.max.sm") +
             (value_of(*row, "temperature.gpu").empty()
                  ? ""
                  : " at " + value_of(*row, "temperature.gpu") + " C");
  return Finding{
      .severity = Severity::kWarning,
      .subject = gpu,
      .statement = (heat ? "heat" : "too little power") + std::string(" holds the clocks of GPU ") +
                   gpu + " down, " + what + clocks,
      .evidence = cite({proof, row == proof ? nullptr : row}),
      .cause = heat ? "the GPU or its memory is too hot, so the driver or the chip throttles it"
                    : "the power supply or the board told the GPU to draw less",
      .fix = cool(heat),
      .certainty = Certainty::kProven};
}

constexpr Rule kRules[] = {
    {"hardware.link-slow", "PCIe links of GPUs are as fast as they can be", links_are_fast,
     Standing::kOwn},
    {"hardware.slowed-down", "neither heat nor power holds clocks down", clocks_are_free,
     Standing::kOwn},
};

}  // namespace

std::span<const Rule> log_link_rules() { return kRules; }

}  // namespace gpuwright
