#include "diagnose/framework.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/run_answer.h"
#include "diagnose/setting.h"

namespace gpuwright {
namespace {

// Findings that leave the GPU in use and spoil part of the work: they are caveats of a "uses".
constexpr std::array<std::string_view, 3> kSpoilers = {
    "libraries.cudnn-mixed", "libraries.cudnn-too-new-for-gpu", "framework.cudnn-too-old"};

// Findings that end the question for one framework whatever the machine is like.
constexpr std::array<std::string_view, 11> kOwnReasons = {
    "framework.cpu-build",       "framework.import-fails",   "framework.wrong-python",
    "framework.cpu-too-old",     "framework.numpy-abi",      "framework.dependency-version",
    "framework.plugin-version",  "framework.jaxlib-version", "framework.devices-hidden",
    "framework.platform-forced", "framework.setting-refused"};

template <class List>
bool holds(const List& list, std::string_view id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

bool on_machine(Rung rung) {
  return rung == Rung::kHost || rung == Rung::kHardware || rung == Rung::kDriver ||
         rung == Rung::kCuda;
}

// Without a subject a finding of the framework rung is about all of them.
bool concerns(const Finding& finding, const std::string& label) {
  return finding.severity == Severity::kError &&
         (finding.subject == label || (finding.subject.empty() && !on_machine(finding.rung)));
}

// First finding that decides against this framework, in the order of the judgement table.
const Finding* deciding(const std::vector<Finding>& findings, const std::string& label) {
  for (const auto& finding : findings)
    if (concerns(finding, label) && holds(kOwnReasons, finding.id)) return &finding;
  for (const auto& finding : findings)
    if (finding.severity == Severity::kError && on_machine(finding.rung)) return &finding;
  for (const auto& finding : findings)
    if (concerns(finding, label) && !holds(kSpoilers, finding.id)) return &finding;
  return nullptr;
}

template <class T>
void note_unknown(const char* what, const Fact<T>& fact, std::vector<std::string>& out) {
  if (fact.is_unknown())
    out.push_back(std::string(what) + " is not known (" +
                  (fact.source().empty() ? "" : fact.source() + ": ") + fact.reason() + ")");
}

// Facts that would have to be known for a "uses", in the order in which they matter.
std::vector<std::string> unknowns(const Machine& machine, const Framework& framework) {
  std::vector<std::string> out;
  note_unknown("the kind of its build", framework.build, out);
  note_unknown("the environment of a process here", machine.cuda.environment, out);
  const bool windows = machine.host.wsl.is_known();
  const bool gvisor = machine.host.sandbox.is("gvisor");
  if (!windows && !gvisor)
    note_unknown("the loaded driver module", machine.driver.module_version, out);
  if (!windows) note_unknown("the device nodes", machine.driver.nodes, out);
  if (machine.driver.nodes.is_known())
    for (const auto& node : *machine.driver.nodes)
      if (node.path == "/dev/nvidiactl" || node.path == "/dev/nvidia-uvm")
        note_unknown(("permission to open " + node.path).c_str(), node.usable, out);
  note_unknown("the object that opens its GPU libraries", framework.opener, out);
  for (const auto& library : framework.libraries)
    if (library.state == "unknown" && library.role != "optional" && library.role != "sub-library")
      out.push_back("what " + library.name + " becomes is not known (" + library.error + ")");
  for (const auto& library : framework.libraries)
    if (library.name == "libnvidia-ml.so.1" && library.state != "found")
      note_unknown("whether it needs libnvidia-ml.so.1, which its search does not reach,",
                   framework.needs_nvml, out);
  // A build that is linked against the CUDA libraries (conda-forge, NVIDIA's images) names them
  // itself; the catalogue knows those that a wheel opens.
  const bool has_required =
      std::any_of(framework.libraries.begin(), framework.libraries.end(), [](const auto& l) {
        return l.role == "required" || (l.role == "linked" && l.name.starts_with("libcudart.so"));
      });
  if (framework.name == "tensorflow" && framework.build.is("cuda") && !has_required)
    out.push_back("which libraries this release requires is not in the catalogue");
  const auto visible = visible_gpus(machine);
  if (visible.state == VisibleDevices::State::kUnknown) out.push_back(visible.reason);
  return out;
}

bool unlike(const std::vector<DriverGpu>& gpus) {
  return std::any_of(gpus.begin(), gpus.end(),
                     [&](const auto& gpu) { return gpu.model != gpus.front().model; });
}

// Names of the GPUs in the order in which CUDA numbers them, where that is known.
std::vector<std::string> used_gpus(const Machine& machine, const Catalog& catalog,
                                   std::vector<std::string>& caveats) {
  const auto reachable = reachable_gpus(machine);
  const auto visible = visible_gpus(machine);
  std::vector<std::size_t> order = visible.gpus;
  if (visible.state == VisibleDevices::State::kAll)
    for (std::size_t i = 0; i < reachable.gpus.size(); ++i) order.push_back(i);
  const auto& variables = machine.cuda.variables;
  const auto device_order = variables.find("CUDA_DEVICE_ORDER");
  const bool pci = device_order != variables.end() && device_order->second == "PCI_BUS_ID";
  // nvidia-smi and /proc number in PCI order, CUDA puts the fastest first unless told otherwise.
  if (order.size() < reachable.gpus.size() && unlike(reachable.gpus) && !pci)
    caveats.push_back(
        "the GPUs are of different kinds and CUDA_DEVICE_ORDER is not PCI_BUS_ID, so which of them "
        "CUDA_VISIBLE_DEVICES means is not certain");
  std::vector<std::string> names;
  for (const auto index : order) {
    const auto& gpu = reachable.gpus[index];
    names.push_back(std::to_string(names.size()) + " (" + gpu_name(machine, catalog, gpu) + ", " +
                    gpu.address + ")");
  }
  return names;
}

std::vector<std::string> unseen(const Machine& machine, const Framework& framework) {
  std::vector<std::string> caveats = framework.notes;
  if (machine.host.sandbox.is("gvisor"))
    caveats.emplace_back("gVisor shows no driver version, so the driver could not be compared");
  if (machine.host.wsl.is_known())
    caveats.emplace_back("under WSL the Windows driver cannot be read from here");
  for (const auto& library : framework.libraries)
    if (library.role == "driver" && library.real_path.find("/compat/") != std::string::npos)
      caveats.push_back("libcuda comes from a compat package (" + library.real_path + ")");
  return caveats;
}

FrameworkAnswer judge(const Machine& machine, const Catalog& catalog, const Framework& framework,
                      const std::vector<Finding>& findings) {
  FrameworkAnswer answer;
  const auto label = label_of(framework);
  answer.framework = framework.name;
  answer.version = framework.version.is_known() ? framework.version->text() : "";
  answer.confidence = "high";
  if (const auto* finding = deciding(findings, label)) {
    answer.answer = Answer::kDoesNot;
    answer.because = finding->statement;
    answer.finding_id = finding->id;
    if (finding->certainty != Certainty::kProven) answer.confidence = "medium";
    return answer;
  }
  const auto open = unknowns(machine, framework);
  if (!open.empty()) {
    answer.answer = Answer::kCannotTell;
    answer.because = open.front();
    answer.caveats.assign(open.begin() + 1, open.end());
    answer.confidence = "";
    return answer;
  }
  answer.answer = Answer::kUses;
  answer.caveats = unseen(machine, framework);
  answer.gpus = used_gpus(machine, catalog, answer.caveats);
  if (!answer.caveats.empty()) answer.confidence = "medium";
  for (const auto& finding : findings)
    if (concerns(finding, label)) answer.caveats.push_back(finding.statement);
  return answer;
}

struct SmTarget {
  bool ptx = false;
  std::uint64_t major = 0, minor = 0;
  bool exact = false;  // sm_90a runs on 9.0 alone
};

std::optional<SmTarget> parse_target(std::string_view text) {
  SmTarget target;
  if (text.starts_with("compute_"))
    target.ptx = true;
  else if (!text.starts_with("sm_"))
    return std::nullopt;
  text.remove_prefix(text.find('_') + 1);
  if (text.ends_with('a') || text.ends_with('f')) {
    target.exact = text.ends_with('a');
    text.remove_suffix(1);
  }
  const auto number = parse_unsigned(text);
  if (!number || *number < 10) return std::nullopt;
  target.major = *number / 10;
  target.minor = *number % 10;
  return target;
}

}  // namespace

std::string label_of(const Framework& framework) {
  return framework.version.is_known() ? framework.name + " " + framework.version->text()
                                      : framework.name;
}

ReachableGpus reachable_gpus(const Machine& machine) {
  ReachableGpus result;
  const auto& nodes = machine.driver.nodes;
  if (!nodes.is_known()) return result;
  // Where some are there and others are not, somebody chose.
  const bool made = makes_missing_nodes(machine) && has_gpu_node(machine) == Tristate::kNo;
  const auto has_node = [&](std::uint64_t minor) {
    return made || std::any_of(nodes->begin(), nodes->end(), [&](const auto& node) {
             return node.path == "/dev/nvidia" + std::to_string(minor);
           });
  };
  if (machine.hardware.driver_gpus.is_known() && !machine.hardware.driver_gpus->empty()) {
    for (const auto& gpu : *machine.hardware.driver_gpus)
      if (!gpu.minor.is_known() || has_node(*gpu.minor)) result.gpus.push_back(gpu);
    result.count_known = true;
    return result;
  }
  // gVisor and some containers show no list: the nodes are the GPUs.
  for (const auto& node : *nodes) {
    const auto number = node.path.starts_with("/dev/nvidia")
                            ? parse_unsigned(std::string_view(node.path).substr(11))
                            : std::nullopt;
    if (!number) continue;
    DriverGpu gpu;
    gpu.address = node.path;
    gpu.minor = Fact<std::uint64_t>::known(*number, node.path);
    result.gpus.push_back(gpu);
  }
  result.count_known = !machine.host.wsl.is_known();
  return result;
}

VisibleDevices visible_gpus(const Machine& machine) {
  const auto reachable = reachable_gpus(machine);
  std::vector<NamedGpu> names;
  for (const auto& gpu : reachable.gpus) names.push_back({gpu.uuid.value_or("")});
  const auto it = machine.cuda.variables.find("CUDA_VISIBLE_DEVICES");
  return visible_devices(
      it == machine.cuda.variables.end() ? std::nullopt : std::optional(it->second), names,
      reachable.count_known);
}

std::string gpu_name(const Machine& machine, const Catalog& catalog, const DriverGpu& gpu) {
  if (gpu.model.is_known()) return *gpu.model;
  if (machine.hardware.gpus.is_known())
    for (const auto& function : *machine.hardware.gpus)
      if (function.address == gpu.address)
        if (const auto model = catalog.gpu(function.device_id); model && !model->name.empty())
          return model->name;
  return "GPU";
}

std::optional<Version> gpu_capability(const Machine& machine, const Catalog& catalog,
                                      const std::string& address) {
  if (!machine.hardware.gpus.is_known()) return std::nullopt;
  for (const auto& function : *machine.hardware.gpus)
    if (function.address == address)
      if (const auto model = catalog.gpu(function.device_id)) return model->compute_capability;
  return std::nullopt;
}

std::optional<Version> cuda_of_build(const Framework& framework, const Catalog& catalog) {
  if (framework.build_cuda.is_known()) return *framework.build_cuda;
  if (framework.name != "tensorflow" || !framework.version.is_known()) return std::nullopt;
  const auto release = catalog.tensorflow(*framework.version);
  return release ? release->cuda : std::nullopt;
}

CodeFit code_fit(const std::vector<std::string>& targets, const Version& capability) {
  CodeFit best = CodeFit::kNone;
  for (const auto& text : targets) {
    const auto target = parse_target(text);
    if (!target) continue;
    const bool same = target->major == capability.part(0) && target->minor == capability.part(1);
    if (target->exact && !same) continue;
    if (target->ptx) {
      const bool below =
          target->major < capability.part(0) ||
          (target->major == capability.part(0) && target->minor <= capability.part(1));
      if (below) best = CodeFit::kPtxOnly;
    } else if (target->major == capability.part(0) && target->minor <= capability.part(1)) {
      return CodeFit::kMachineCode;
    }
  }
  return best;
}

std::vector<FrameworkAnswer> judge_frameworks(const Machine& machine, const Catalog& catalog,
                                              const std::vector<Finding>& findings) {
  std::vector<FrameworkAnswer> answers;
  for (const auto& framework : machine.frameworks) {
    answers.push_back(judge(machine, catalog, framework, findings));
    apply_run(machine, framework, answers.back());
  }
  return answers;
}

}  // namespace gpuwright
