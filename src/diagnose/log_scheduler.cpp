#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// GPUs that a scheduler does not hand out: Slurm jobs that asked for none, Kubernetes nodes without
// any.

namespace gpuwright {
namespace {

// -------------------------------------------------------------------------------- Slurm

bool asks_for_gpu(const Event& directive) {
  const auto option = value_of(directive, "option");
  return option.find("gres=gpu") != std::string::npos || option.find("gpus") != std::string::npos ||
         option.find("--gres gpu") != std::string::npos;
}

const Event* job_without_gpu(const Machine& machine) {
  const Event* without = nullptr;
  for (const auto* event : events_of(machine, "slurm.job-resources")) {
    if (value_of(*event, "resources").find("gres/gpu") != std::string::npos) return nullptr;
    if (value_of(*event, "resources").find("cpu=") != std::string::npos) without = event;
  }
  return without;
}

const Event* sees_none(const Machine& machine) {
  for (const auto* id : {"smi.no-driver", "smi.no-devices", "torch.no-gpus", "slurm.no-gpus"})
    if (const auto* event = first_event(machine, id)) return event;
  for (const auto& event : machine.events)
    if (event.text.find("No CUDA GPUs are available") != std::string::npos ||
        event.text.find("no CUDA-capable device") != std::string::npos)
      return &event;
  return nullptr;
}

// Slurm hides the nodes of GPUs that a job did not ask for; nvidia-smi in it cannot reach a driver
// that is in order.
Verdict job_asked_for_gpu(const Machine& machine, const Catalog&) {
  const auto* job = job_without_gpu(machine);
  const auto* empty = first_event(machine, "slurm.no-gpus");
  const auto directives = events_of(machine, "slurm.directive");
  bool asked = false;
  for (const auto* one : directives) asked = asked || asks_for_gpu(*one);
  const auto* none = sees_none(machine);
  if (asked || none == nullptr) return NotApplicable{};
  if (job == nullptr && empty == nullptr && directives.size() < 2) return NotApplicable{};
  Finding finding;
  finding.statement =
      "the Slurm job asked for no GPU (no --gres, no --gpus), so the node's GPUs are "
      "hidden from it";
  finding.evidence = cite({job, empty, first_event(machine, "slurm.node-gres"), none});
  if (job == nullptr && empty == nullptr)
    finding.evidence.insert(finding.evidence.begin(), cite(*directives.front()));
  finding.cause =
      "a GPU partition alone gives no GPU: the job sees the devices it asked for, and "
      "only those";
  finding.fix = {user_step("sbatch --gres=gpu:1 run.sbatch",
                           "or #SBATCH --gres=gpu:1 (--gpus=1) in the script; interactively srun "
                           "--gres=gpu:1 --pty bash",
                           "nothing", "none needed"),
                 user_step("srun --gres=gpu:1 bash -c 'echo $CUDA_VISIBLE_DEVICES; nvidia-smi -L'",
                           "check in a job", "nothing", "none needed")};
  finding.certainty = job != nullptr ? Certainty::kProven : Certainty::kLikely;
  return finding;
}

Verdict slurm_knows_the_gpu(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "slurm.refused");
  const auto* fewer = first_event(machine, "slurm.gres-mismatch");
  if (fewer != nullptr)
    return Finding{
        .statement = "Slurm expects " + value_of(*fewer, "configured") +
                     " GPUs on the node and finds " + value_of(*fewer, "found") +
                     ", so it drains the node",
        .evidence = cite({fewer}),
        .cause = "a GPU of the node is lost, or gres.conf names more than there are",
        .fix = {user_step("nvidia-smi -L; sudo dmesg -T | grep -E 'Xid|NVRM'",
                          "on the node: which one is missing, and why", "nothing", "none needed"),
                root_step("sudo scontrol update nodename=NODE state=resume",
                          "when all GPUs are back", "the node's state", "state=drain reason=gpu")},
        .certainty = Certainty::kLikely};
  if (line == nullptr) return NotApplicable{};
  return Finding{.statement = "Slurm refuses the job: no node has what it asks for",
                 .evidence = cite({line}),
                 .cause = "the name or number of GPUs in --gres does not exist in that partition",
                 .fix = {user_step("sinfo -o '%P %N %G %m %c'", "what each partition has",
                                   "nothing", "none needed")},
                 .certainty = Certainty::kLikely};
}

// --------------------------------------------------------------------------- Kubernetes

const Event* node_without_gpus(const Machine& machine) {
  const Event* none = nullptr;
  for (const auto* event : events_of(machine, "kubernetes.capacity")) {
    if (value_of(*event, "count") != "0") return nullptr;
    none = event;
  }
  return none;
}

std::vector<FixStep> mend_plugin() {
  return {
      root_step("sudo nvidia-ctk runtime configure --runtime=containerd --set-as-default && sudo "
                "systemctl restart containerd",
                "on the GPU node, where nvidia-container-toolkit is installed",
                "/etc/containerd/config.toml", "take the nvidia runtime out again"),
      user_step("kubectl -n kube-system rollout restart ds/nvidia-device-plugin-daemonset",
                "then the plugin has to look again (with the GPU operator its own daemon set)",
                "restarts the plugin", "none needed"),
      user_step("kubectl describe node NODE | grep -A8 Allocatable",
                "afterwards: nvidia.com/gpu with the number of GPUs", "nothing", "none needed")};
}

Verdict node_offers_gpus(const Machine& machine, const Catalog&) {
  const auto* blind = first_event(machine, "kubernetes.plugin-blind");
  const auto* none = node_without_gpus(machine);
  if (blind == nullptr && none == nullptr) return NotApplicable{};
  return Finding{.statement =
                     "the device plugin sees no GPU on the node, so Kubernetes has none to "
                     "hand out",
                 .evidence = cite({blind, none, first_event(machine, "kubernetes.insufficient")}),
                 .cause =
                     "the plugin runs without the NVIDIA runtime (it is not containerd's default "
                     "and no RuntimeClass is given), or the node's driver does not work",
                 .fix = mend_plugin(),
                 .certainty = blind != nullptr ? Certainty::kLikely : Certainty::kPossible};
}

// All GPUs taken, or none offered: the scheduler says the same for both.
Verdict pod_finds_gpu(const Machine& machine, const Catalog&) {
  const auto* line = first_event(machine, "kubernetes.insufficient");
  const auto* taint = first_event(machine, "kubernetes.taint");
  const auto* refused = first_event(machine, "kubernetes.admission");
  if (line == nullptr && taint == nullptr && refused == nullptr) return NotApplicable{};
  if (line == nullptr && taint != nullptr)
    return Finding{.statement = "the pod does not tolerate the GPU nodes' taint (" +
                                value_of(*taint, "taint") + ")",
                   .evidence = cite({taint}),
                   .cause = "GPU nodes are kept for pods that say so",
                   .fix = {advice("add to the pod's spec: tolerations: [{key: nvidia.com/gpu, "
                                  "operator: Exists, effect: NoSchedule}]")}};
  return Finding{
      .statement = "no node has a free " +
                   (line != nullptr ? value_of(*line, "resource") + value_of(*line, "what")
                                    : value_of(*refused, "resource")) +
                   " for the pod",
      .evidence = cite({line, refused, taint}),
      .cause =
          "all GPUs are taken, or the nodes offer none: no device plugin, a broken driver, GPUs "
          "that the plugin took out for an Xid",
      .fix = {user_step("kubectl get nodes -o custom-columns=NODE:.metadata.name,"
                        "GPU:.status.allocatable.'nvidia\\.com/gpu'",
                        "<none> or 0: the plugin; a number: they are taken", "nothing",
                        "none needed"),
              user_step("kubectl get pods -A -o wide | grep -i nvidia",
                        "whether the device plugin runs on the GPU nodes", "nothing",
                        "none needed")},
      .certainty = Certainty::kPossible};
}

constexpr Rule kRules[] = {
    {"driver.slurm-no-gpu-asked", "the job asked for a GPU", job_asked_for_gpu},
    {"driver.slurm-refuses", "Slurm has the GPU that the job asks for", slurm_knows_the_gpu},
    {"driver.kubernetes-node-without-gpu", "GPU nodes offer their GPUs", node_offers_gpus},
    {"driver.kubernetes-no-gpu-free", "a node has a GPU for the pod", pod_finds_gpu},
};

}  // namespace

std::span<const Rule> log_scheduler_rules() { return kRules; }

}  // namespace gpuwright
