#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// Memory that others hold: /dev/shm of a container, and GPU memory of processes that nvidia-smi
// does not list.

namespace gpuwright {
namespace {

// Docker and Kubernetes give a container 64 MiB.
bool is_small(const std::string& size) {
  return size == "64M" || size == "65536" || size == "64MB" || size == "64.0M";
}

const Event* full_shm(const Machine& machine) {
  for (const auto* event : events_of(machine, "df.shm"))
    if (is_small(value_of(*event, "size")) ||
        parse_unsigned(value_of(*event, "percent")).value_or(0) >= 95)
      return event;
  return nullptr;
}

Verdict shm_is_large(const Machine& machine, const Catalog&) {
  const auto* bus = first_event(machine, "work.bus-error");
  const auto* full = first_event(machine, "work.shm-full");
  if (bus == nullptr && full == nullptr) return NotApplicable{};
  const auto* shm = full_shm(machine);
  const auto* hint = first_event(machine, "container.shm-hint");
  const auto size = shm == nullptr ? "" : value_of(*shm, "size");
  return Finding{
      .statement = "/dev/shm" + (size.empty() ? "" : " has " + size + " and") +
                   " is too small for what worker processes pass through it",
      .evidence = cite({bus, full, shm, hint}),
      .cause =
          "containers get 64 MB of shared memory by default; loader workers and NCCL put "
          "their data there and die of a bus error when it is full",
      .fix = {user_step("docker run --shm-size=16g --gpus all IMAGE",
                        "or --ipc=host; compose: shm_size: 16gb", "the container's /dev/shm",
                        "start it without the option"),
              advice("in Kubernetes mount an emptyDir with medium: Memory at /dev/shm"),
              advice("stop-gap: num_workers=0")},
      .certainty = shm != nullptr ? Certainty::kProven : Certainty::kLikely};
}

const Event* out_of_memory(const Machine& machine) {
  for (const auto& event : machine.events) {
    if (event.id.starts_with("kernel.")) continue;
    const auto text = lower(event.text);
    if (text.find("out of memory") != std::string::npos ||
        text.find("out_of_memory") != std::string::npos)
      return &event;
  }
  return nullptr;
}

std::string pids_of(const std::vector<const Event*>& holders) {
  std::string pids;
  for (const auto* holder : holders) {
    const auto pid = value_of(*holder, "pid");
    if ((" " + pids + " ").find(" " + pid + " ") == std::string::npos)
      pids += (pids.empty() ? "" : " ") + pid;
  }
  return pids;
}

// nvidia-smi lists no process of another PID name space, nor one that is half dead; the kernel
// knows who has the node open.
Verdict memory_is_free(const Machine& machine, const Catalog&) {
  const auto* full = out_of_memory(machine);
  auto holders = events_of(machine, "gpu.holder");
  std::erase_if(holders, [](const Event* event) {
    const auto command = value_of(*event, "command");
    return command.starts_with("nvidia-") || command.starts_with("Xorg") ||
           command.starts_with("nv-");
  });
  const auto* hidden = first_event(machine, "smi.no-processes");
  if (full == nullptr || holders.empty()) return NotApplicable{};
  const auto pids = pids_of(holders);
  Finding finding;
  finding.statement = "other processes hold the GPU's memory" +
                      std::string(hidden == nullptr ? "" : ", unlisted by nvidia-smi") + ": " +
                      pids;
  finding.evidence = cite({full, hidden});
  for (const auto* holder : holders)
    if (finding.evidence.size() < 6) finding.evidence.push_back(cite(*holder));
  finding.cause =
      "workers of a run that was killed live on without their parent and keep what they "
      "had allocated";
  finding.fix = {
      root_step("sudo fuser -v /dev/nvidia*", "who has the GPU open", "nothing", "none needed"),
      user_step("kill " + pids, "after a look at what they are (ps -fp " + pids + ")",
                "ends these processes", "start them again"),
      advice("end a training by its whole process group, not the parent alone")};
  finding.certainty = Certainty::kProven;
  return finding;
}

constexpr Rule kHostRules[] = {
    {"host.shm-small", "shared memory is large enough", shm_is_large, Standing::kOwn},
};
constexpr Rule kWorkRules[] = {
    {"work.memory-held", "no other process holds the GPU's memory", memory_is_free, Standing::kOwn},
};

}  // namespace

std::span<const Rule> log_shm_rules() { return kHostRules; }
std::span<const Rule> log_holder_rules() { return kWorkRules; }

}  // namespace gpuwright
