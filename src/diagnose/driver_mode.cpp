#include <algorithm>

#include "base/text.h"
#include "diagnose/driver_service.h"
#include "diagnose/fix.h"
#include "diagnose/kernel_log.h"
#include "diagnose/setting.h"

// Modes of a GPU that may leave CUDA without a device: MIG, the compute mode, and MPS with it.

namespace gpuwright {

const std::vector<NvmlGpu>* nvml_gpus(const Machine& machine) {
  return machine.run.nvml.is_known() ? &machine.run.nvml->gpus : nullptr;
}

namespace {

std::string name_of_gpu(const NvmlGpu& gpu) {
  return "GPU " + std::to_string(gpu.index) + (gpu.name.empty() ? "" : " (" + gpu.name + ")");
}

}  // namespace

std::string names_of(const std::vector<NvmlGpu>& gpus) {
  std::vector<std::string> names;
  for (const auto& gpu : gpus) names.push_back(name_of_gpu(gpu));
  return join(names, ", ");
}

std::string indices_of(const std::vector<NvmlGpu>& gpus) {
  std::vector<std::string> indices;
  for (const auto& gpu : gpus) indices.push_back(std::to_string(gpu.index));
  return join(indices, ",");
}

Severity severity_of_losing(const std::vector<NvmlGpu>& lost, const Machine& machine) {
  return lost.size() == nvml_gpus(machine)->size() ? Severity::kError : Severity::kWarning;
}

namespace {

// -------------------------------------------------------------------------------- MIG

std::vector<FixStep> make_instances(const std::string& indices) {
  return {root_step("sudo nvidia-smi mig -i " + indices + " -cgi 0 -C",
                    "makes one instance of the whole GPU with a compute instance in it; the "
                    "profiles are in nvidia-smi mig -lgip",
                    "the partitions of the GPU, until the next boot",
                    "sudo nvidia-smi mig -i " + indices + " -dci && sudo nvidia-smi mig -i " +
                        indices + " -dgi"),
          root_step("sudo nvidia-smi -i " + indices + " -mig 0",
                    "or switches MIG off, when nobody wants partitions (ends what runs there)",
                    "the mode of the GPU, also after a reboot",
                    "sudo nvidia-smi -i " + indices + " -mig 1")};
}

Finding mig_unused(const std::vector<NvmlGpu>& gpus, Severity severity) {
  return {
      .severity = severity,
      .statement = "MIG is on for " + names_of(gpus) +
                   ", and there is no instance in it: CUDA sees no device",
      .evidence = {{"MIG mode: on, compute instances: 0", "NVML"}},
      .cause =
          "instances are gone after every reboot or reset, the mode stays: nothing makes them "
          "anew here (nvidia-mig-parted, a unit of your own)",
      .fix = make_instances(indices_of(gpus)),
  };
}

// Static files show instances, and not whether the mode is on: a GPU instance without a compute
// instance is all that they can prove.
}  // namespace

Verdict mig_has_instances(const Machine& machine, const Catalog&) {
  const auto empty = those(machine, [](const NvmlGpu& gpu) {
    return gpu.mig.is(true) && gpu.mig_devices.is_known() && *gpu.mig_devices == 0;
  });
  if (!empty.empty()) return mig_unused(empty, severity_of_losing(empty, machine));
  if (nvml_gpus(machine) != nullptr) return Fine{};
  const auto& mig = machine.driver.mig;
  if (!mig.is_known() || setting_of(machine) != Setting::kHost) return NotApplicable{};
  std::vector<std::string> minors;
  for (const auto& gpu : *mig)
    if (gpu.gpu_instances > 0 && gpu.compute_instances == 0)
      minors.push_back(std::to_string(gpu.minor));
  if (minors.empty()) return Fine{};
  const auto list = join(minors, ",");
  return Finding{
      .severity =
          minors.size() == judged_gpus(machine).size() ? Severity::kError : Severity::kWarning,
      .statement = "MIG of /dev/nvidia" + join(minors, ", /dev/nvidia") +
                   " has GPU instances without a compute instance: CUDA sees no device there",
      .evidence = {{"gi* without ci*", mig.source()}},
      .cause = "an instance was made with -cgi alone, without -C",
      .fix = {root_step("sudo nvidia-smi mig -i " + list + " -cci",
                        "makes a compute instance in each", "the partitions, until the next boot",
                        "sudo nvidia-smi mig -i " + list + " -dci")},
  };
}

namespace {

// nvidia-cap1 and 2 are for configuring and watching; those of instances come after them and are
// for everybody to read unless somebody said otherwise.
bool is_of_instance(const DeviceNode& node) {
  constexpr std::string_view kPrefix = "/dev/nvidia-caps/nvidia-cap";
  if (!node.path.starts_with(kPrefix)) return false;
  const auto number = parse_unsigned(std::string_view(node.path).substr(kPrefix.size()));
  return number && *number > 2;
}

std::string paths_of(const std::vector<DeviceNode>& nodes) {
  std::vector<std::string> paths;
  for (const auto& node : nodes) paths.push_back(shell_word(node.path));
  return join(paths, " ");
}

bool may_read(const Machine& machine, const DeviceNode& node) {
  if (machine.host.uid.is(0) || machine.host.uid.is(node.uid) || (node.mode & 04) != 0) return true;
  const auto groups = machine.host.groups.value_or({});
  const bool member = std::find(groups.begin(), groups.end(), node.owner_group) != groups.end();
  return member && (node.mode & 040) != 0;
}

}  // namespace

Verdict mig_is_permitted(const Machine& machine, const Catalog&) {
  const auto& nodes = machine.driver.nodes;
  if (!nodes.is_known() || !machine.host.uid.is_known() || !machine.host.groups.is_known())
    return NotApplicable{};
  std::vector<DeviceNode> all, refused;
  std::copy_if(nodes->begin(), nodes->end(), std::back_inserter(all), is_of_instance);
  std::copy_if(all.begin(), all.end(), std::back_inserter(refused),
               [&](const DeviceNode& node) { return !may_read(machine, node); });
  if (all.empty()) return NotApplicable{};
  if (refused.size() != all.size()) return Fine{};
  return Finding{
      .statement = "user " + std::to_string(*machine.host.uid) +
                   " may not read the nodes of any MIG instance (" + refused.front().path +
                   "): CUDA sees no device",
      .evidence = {{refused.front().path + ": owner " + std::to_string(refused.front().uid) +
                        ", group " + refused.front().owner_group,
                    refused.front().path},
                   cite("groups of this user", machine.host.groups)},
      .cause = "the nodes were made with a mode or a group of their own, by udev or by hand",
      .fix = {root_step("sudo chmod a+r " + paths_of(refused), "lets everybody use the instances",
                        "/dev, until the next boot", "sudo chmod go-r " + paths_of(refused))},
  };
}

// ----------------------------------------------------------------- compute mode and MPS

Verdict compute_is_allowed(const Machine& machine, const Catalog&) {
  if (nvml_gpus(machine) == nullptr) return NotApplicable{};
  const auto closed =
      those(machine, [](const NvmlGpu& gpu) { return gpu.compute_mode.is("prohibited"); });
  if (closed.empty()) return Fine{};
  return Finding{
      .severity = severity_of_losing(closed, machine),
      .statement = "the compute mode of " + names_of(closed) + " is Prohibited: CUDA is refused",
      .evidence = {cite("compute mode", closed.front().compute_mode)},
      .cause =
          "somebody set it (nvidia-smi -c 2), to keep programs off a display card or off a "
          "broken one",
      .fix = {root_step("sudo nvidia-smi -c 0 -i " + indices_of(closed), "back to Default",
                        "the mode of the GPU, until the next boot",
                        "sudo nvidia-smi -c 2 -i " + indices_of(closed))},
  };
}

// Measured with driver 580: neither a missing directory nor sockets that a killed daemon left keep
// CUDA from working; it then runs without MPS. So this is about what the person wanted, and about a
// GPU that lets only one process in, which needs the daemon for a second one.
Verdict mps_is_there(const Machine& machine, const Catalog&) {
  const Driver& driver = machine.driver;
  const auto exclusive =
      those(machine, [](const NvmlGpu& gpu) { return gpu.compute_mode.is("exclusive-process"); });
  const bool asked =
      driver.mps_directory.is_known() && driver.mps_directory.source() == "CUDA_MPS_PIPE_DIRECTORY";
  if (!driver.mps_daemon.is(false) && !(driver.mps_daemon.is_absent() && !exclusive.empty()))
    return NotApplicable{};
  if (!asked && exclusive.empty()) return NotApplicable{};
  std::vector<Evidence> evidence = {cite("MPS directory", driver.mps_directory),
                                    cite("the MPS daemon listens", driver.mps_daemon)};
  if (!exclusive.empty())
    evidence.push_back({"compute mode of " + names_of(exclusive) + ": exclusive-process", "NVML"});
  return Finding{
      .severity = asked && !exclusive.empty() ? Severity::kWarning : Severity::kInfo,
      .statement = exclusive.empty()
                       ? "CUDA_MPS_PIPE_DIRECTORY is set to " + *driver.mps_directory +
                             ", and no MPS daemon listens there: programs run without MPS"
                       : names_of(exclusive) +
                             " lets one process in at a time, and no MPS daemon "
                             "runs: a second one gets 'all CUDA-capable devices "
                             "are busy or unavailable'",
      .evidence = std::move(evidence),
      .cause = exclusive.empty() ? "the daemon was not started, or ended"
                                 : "the compute mode was set to Exclusive_Process, which belongs "
                                   "together with MPS",
      .fix =
          exclusive.empty()
              ? std::vector<FixStep>{user_step("nvidia-cuda-mps-control -d", "starts the daemon",
                                               "a process of this user",
                                               "echo quit | nvidia-cuda-mps-control")}
              : std::vector<FixStep>{root_step("sudo nvidia-smi -c 0 -i " + indices_of(exclusive),
                                               "lets several processes in without MPS",
                                               "the mode of the GPU, until the next boot",
                                               "sudo nvidia-smi -c 3 -i " + indices_of(exclusive))},
  };
}

}  // namespace gpuwright
