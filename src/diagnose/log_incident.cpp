#include "diagnose/log_incident.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "diagnose/fix.h"

namespace gpuwright {

// Kubernetes' device plugin names a GPU by its UUID.
static bool is_of_plugin(const Event& event) {
  return event.id == "kubernetes.unhealthy" && event.values.contains("code");
}

std::uint64_t code_of(const Event& event) {
  if (event.id == "kernel.off-bus") return 79;
  if (event.id == "kernel.gsp-timeout") return 119;
  return parse_unsigned(value_of(event, "code")).value_or(0);
}

// "0000:01:00.0", "00000000:01:00" and "0000:01:00" are one slot.
std::string slot_of(const Event& event) {
  if (is_of_plugin(event)) return value_of(event, "device");
  auto address = lower(value_of(event, "address"));
  if (const auto dot = address.find('.'); dot != std::string::npos) address.resize(dot);
  if (address.size() > 10 && address.starts_with("0000")) address.erase(0, address.size() - 10);
  return address;
}

// "... changed from 0x0 (None) to 0x2 (Node Reboot Required)"
static std::string wanted_by(const Event& recovery) {
  const auto detail = value_of(recovery, "detail");
  const auto at = detail.find(" to 0x");
  return at == std::string::npos ? "" : detail.substr(at + 6, 1);
}

std::vector<Incident> incidents(const Machine& machine) {
  std::map<std::string, Incident> by_gpu;
  for (const auto& event : machine.events) {
    if (event.id != "kernel.xid" && event.id != "kernel.off-bus" &&
        event.id != "kernel.gsp-timeout" && !is_of_plugin(event))
      continue;
    auto slot = slot_of(event);
    // The message of the probe has its address in the line before.
    if (slot.empty() && !by_gpu.empty()) slot = by_gpu.rbegin()->first;
    auto& one = by_gpu[slot];
    one.address = slot;
    if (code_of(event) == 154) {
      one.recovery = &event;
      // All that stood before is over.
      if (wanted_by(event) == "0") one.lines.clear();
      continue;
    }
    one.lines.push_back(&event);
  }
  std::vector<Incident> out;
  for (auto& [slot, one] : by_gpu)
    if (!one.lines.empty() || (one.recovery != nullptr && wanted_by(*one.recovery) != "0"))
      out.push_back(std::move(one));
  return out;
}

// The catalogue's order of causes (meta.burst.root_order): a number that stands earlier explains
// those that come later.
constexpr std::uint64_t kRootOrder[] = {79,  167, 173, 95,  140, 48,  64,  110, 62,
                                        120, 119, 158, 143, 46,  74,  136, 155, 144,
                                        145, 146, 147, 148, 149, 150, 109, 94,  63};
constexpr std::uint64_t kMemory[] = {48, 63, 64, 94, 95, 140, 171, 172, 156, 157, 160, 161};

template <std::size_t N>
static bool among(const std::uint64_t (&list)[N], std::uint64_t code) {
  return std::find(std::begin(list), std::end(list), code) != std::end(list);
}

std::size_t rank_of(std::uint64_t code) {
  return static_cast<std::size_t>(std::find(std::begin(kRootOrder), std::end(kRootOrder), code) -
                                  std::begin(kRootOrder));
}

// NVLink 5 numbers say in their text whether they are fatal.
bool is_fatal(const Catalog& catalog, const Event& event) {
  const auto code = code_of(event);
  if (code >= 144 && code <= 150)
    return value_of(event, "detail").find(" Fatal") != std::string::npos;
  const auto xid = catalog.xid(code);
  return xid && xid->severity == XidSeverity::kFatal;
}

bool is_of_memory(const Event& event) { return among(kMemory, code_of(event)); }

std::vector<Evidence> evidence_of(const Incident& incident, std::size_t most) {
  std::vector<Evidence> out;
  for (const auto* line : incident.lines)
    if (out.size() < most) out.push_back(cite(*line));
  if (incident.recovery != nullptr) out.push_back(cite(*incident.recovery));
  return out;
}

Xid xid_of(const Catalog& catalog, std::uint64_t code) {
  if (const auto known = catalog.xid(code)) return *known;
  Xid xid;
  xid.code = code;
  xid.meaning = "A number that the catalogue does not know.";
  xid.severity = XidSeverity::kError;
  return xid;
}

std::string title_of(const Catalog& catalog, std::uint64_t code) {
  const auto xid = catalog.xid(code);
  return "Xid " + std::to_string(code) + (xid ? ", " + xid->title : "");
}

FixStep reset_gpu(const std::string& slot) {
  if (slot.empty())
    return reboot("or resets the GPU: sudo nvidia-smi --gpu-reset -i, by its number");
  return root_step("sudo nvidia-smi --gpu-reset -i " +
                       shell_word(slot.find(':') == std::string::npos ? slot : slot + ".0"),
                   "after every program on it has ended (sudo fuser -v /dev/nvidia*); on a board "
                   "with NVSwitch all GPUs together, without -i; when it is refused, reboot",
                   "ends what runs on this GPU", "none needed");
}

// 154 is the driver's own judgement and goes before what the number says in general.
std::string action_of(const Incident& incident, const Xid& xid) {
  if (incident.recovery == nullptr) return xid.action;
  const auto wanted = wanted_by(*incident.recovery);
  if (wanted == "1") return "reset_gpu";
  if (wanted == "2") return "reboot";
  if (wanted == "3") return "drain_p2p";
  if (wanted == "4") return "reset_when_idle";
  if (wanted == "5") return "restart_imex";
  return xid.action;
}

FixStep support() {
  return root_step("sudo nvidia-bug-report.sh", "what NVIDIA's or the vendor's support asks for",
                   "writes nvidia-bug-report.log.gz here", "rm nvidia-bug-report.log.gz");
}

static void add_off_bus(std::vector<FixStep>& steps) {
  steps.push_back(
      advice("switch the machine off completely, wait, and start it again: a card that "
             "has left the bus seldom comes back with a warm reboot"));
  steps.push_back(reboot("when it stands out of reach"));
  steps.push_back(
      advice("check and reseat the power plugs of the card, the card itself, riser or eGPU cable; "
             "power supply, temperature and firmware of the mainboard come next"));
  steps.push_back(root_step("sudo nvidia-smi -lgc 300,1500",
                            "to confirm a power problem: lower clocks draw less at the peaks",
                            "clocks of all GPUs until the next reboot", "sudo nvidia-smi -rgc"));
}

void add_by_action(const std::string& action, const Incident& incident,
                   std::vector<FixStep>& steps) {
  if (action == "reset_gpu" || action == "reset_when_idle") {
    steps.push_back(reset_gpu(incident.address));
  } else if (action == "reboot") {
    steps.push_back(reboot("the GPU takes no work before"));
  } else if (action == "drain_p2p") {
    steps.push_back(
        advice("stop the jobs that use this GPU's connections to other GPUs; work on "
               "one GPU may go on"));
  } else if (action == "restart_imex") {
    steps.push_back(root_step("sudo systemctl restart nvidia-imex",
                              "on every node of the NVLink domain", "ends its jobs",
                              "none needed"));
  } else if (action == "check_mechanicals") {
    steps.push_back(advice("check power cables, seat, riser and cooling of the card"));
  } else if (action == "restart_vm") {
    steps.push_back(advice("restart the virtual machine"));
  } else if (action == "update_software") {
    steps.push_back(advice("try another version of the driver and of the GPU's firmware"));
  } else if (action == "check_nvlink") {
    steps.push_back(
        user_step("nvidia-smi nvlink -e", "error counters of the links", "nothing", "none needed"));
  } else if (action == "check_pcie") {
    steps.push_back(user_step("nvidia-smi -q | grep -A12 'GPU Link Info'",
                              "link width and generation, replay counters", "nothing",
                              "none needed"));
  }
}

std::vector<FixStep> recover(const Incident& incident, const Xid& xid) {
  std::vector<FixStep> steps;
  if (xid.code == 79) {
    add_off_bus(steps);
  } else {
    add_by_action(action_of(incident, xid), incident, steps);
    if (steps.empty()) steps.push_back(reset_gpu(incident.address));
  }
  if (xid.fault == "firmware")
    steps.push_back(
        advice("when it comes again: another version of the driver, whose firmware (GSP) "
               "comes with it"));
  if (xid.fault == "interconnect")
    steps.push_back(
        user_step("nvidia-smi nvlink -e", "error counters of the links", "nothing", "none needed"));
  if (xid.fault == "hardware" || xid.fault == "mixed" || xid.fault == "interconnect")
    steps.push_back(support());
  return steps;
}

std::string cause_of(const Incident& incident, const Xid& xid) {
  std::string cause = xid.meaning;
  if (incident.recovery != nullptr) {
    const auto detail = value_of(*incident.recovery, "detail");
    const auto open = detail.rfind('('), close = detail.rfind(')');
    if (open != std::string::npos && close != std::string::npos && close > open)
      cause += (cause.empty() ? "" : " ") + std::string("The driver itself asks for: ") +
               detail.substr(open + 1, close - open - 1) + ".";
  }
  return cause;
}

std::size_t last_rank() { return std::size(kRootOrder) + 1; }

Events fatal_switch_errors(const Machine& machine) {
  Events found;
  for (const auto* event : events_of(machine, "kernel.sxid"))
    if (lower(value_of(*event, "class")) == "fatal") found.push_back(event);
  return found;
}

}  // namespace gpuwright
