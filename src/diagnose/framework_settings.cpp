#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework_rule.h"

// Variables that change what a framework does with the GPU: those it refuses, those it passes over
// in silence, those that make it slow and were left on.

namespace gpuwright {
namespace {

const Framework* with_cuda(const Machine& machine, std::string_view name) {
  for (const auto& framework : machine.frameworks)
    if (framework.name == name && framework.build.is("cuda")) return &framework;
  return nullptr;
}

bool any_with_cuda(const Machine& machine) {
  return std::ranges::any_of(machine.frameworks,
                             [](const auto& framework) { return framework.build.is("cuda"); });
}

Evidence cite_variable(const std::string& name, const std::string& value) {
  return {name + "='" + printable(value) + "'", "environment"};
}

FixStep unset(const std::string& name, std::string text) {
  return shell_step("unset " + name, std::move(text));
}

// --------------------------------------------------------------------------- refused

struct Refusal {
  std::string variable;
  std::string value;
  std::string why;
  FixStep fix;
};

// Python's float(): what is left after a number must be blank. from_chars takes no leading '+'.
bool is_number(const std::string& text) {
  auto trimmed = trim(text);
  if (trimmed.starts_with('+')) trimmed.remove_prefix(1);
  double value = 0;
  const auto end = trimmed.data() + trimmed.size();
  const auto [rest, error] = std::from_chars(trimmed.data(), end, value);
  return error == std::errc() && rest == end;
}

// generate_pjrt_gpu_plugin_options of jaxlib/xla_client.py: ValueError at the first device query.
std::optional<Refusal> refused_by_jax(const Machine& machine) {
  constexpr std::array<std::string_view, 4> kAllocators = {"default", "platform", "bfc",
                                                           "cuda_async"};
  if (const auto value = variable(machine, "XLA_PYTHON_CLIENT_ALLOCATOR"))
    if (std::ranges::find(kAllocators, lower(*value)) == kAllocators.end())
      return Refusal{"XLA_PYTHON_CLIENT_ALLOCATOR", *value,
                     "it may be default, platform, bfc or cuda_async",
                     unset("XLA_PYTHON_CLIENT_ALLOCATOR", "takes the default allocator")};
  const auto now = variable(machine, "XLA_CLIENT_MEM_FRACTION").value_or("");
  const auto old = variable(machine, "XLA_PYTHON_CLIENT_MEM_FRACTION").value_or("");
  if (!now.empty() && !old.empty())
    return Refusal{"XLA_PYTHON_CLIENT_MEM_FRACTION", old,
                   "it is the old name of XLA_CLIENT_MEM_FRACTION, which is set too",
                   unset("XLA_PYTHON_CLIENT_MEM_FRACTION", "leaves the new one")};
  const std::string name =
      now.empty() ? "XLA_PYTHON_CLIENT_MEM_FRACTION" : "XLA_CLIENT_MEM_FRACTION";
  const auto& fraction = now.empty() ? old : now;
  if (!fraction.empty() && !is_number(fraction))
    return Refusal{name, fraction, "it has to be a number such as 0.75",
                   shell_step("export " + name + "=0.75", "three quarters of the memory")};
  return std::nullopt;
}

// "max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2]": elements outside of brackets.
std::vector<std::string> elements(std::string_view text) {
  std::vector<std::string> found(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth <= 0)
      found.emplace_back();
    else
      found.back() += c;
  }
  return found;
}

// CUDAAllocatorConfig: "Unrecognized CachingAllocator option", when CUDA is first used.
std::optional<Refusal> refused_by_torch(const Machine& machine, const Framework& torch) {
  const bool old = torch.version.is_known() && *torch.version < Version::of("2.1");
  for (const std::string name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    const auto value = variable(machine, name.c_str());
    for (const auto& element : elements(value.value_or(""))) {
      const auto text = trim(element);
      if (text.empty()) continue;
      const auto key = text.substr(0, text.find(':'));
      if (key.size() == text.size() || key.find('=') != std::string_view::npos)
        return Refusal{name, *value, "'" + printable(text) + "' is not of the form option:value",
                       unset(name, "takes the defaults; or write it with ':'")};
      if (old && key == "expandable_segments")
        return Refusal{name, *value, "expandable_segments came with PyTorch 2.1",
                       unset(name, "takes the defaults")};
    }
  }
  return std::nullopt;
}

// gpu_cudamallocasync_allocator.cc ends the process where the GPU or the driver has no memory
// pools: before compute capability 6.0 and before CUDA 11.2.
std::optional<Refusal> refused_by_tensorflow(const Machine& machine, const Catalog& catalog) {
  const auto value = variable(machine, "TF_GPU_ALLOCATOR");
  if (value != "cuda_malloc_async") return std::nullopt;
  const auto fix = unset("TF_GPU_ALLOCATOR", "takes TensorFlow's own allocator");
  const auto& driver = machine.driver.user_space_version;
  const auto cuda = driver.is_known() ? catalog.cuda_of_driver(*driver) : std::nullopt;
  if (cuda && *cuda < Version::of("11.2"))
    return Refusal{"TF_GPU_ALLOCATOR", *value,
                   "driver " + driver->text() + " offers CUDA " + cuda->text() +
                       ", and memory pools came with 11.2",
                   fix};
  for (const auto& gpu : reachable_gpus(machine).gpus) {
    const auto capability = gpu_capability(machine, catalog, gpu.address);
    if (capability && *capability < Version::of("6.0"))
      return Refusal{"TF_GPU_ALLOCATOR", *value,
                     gpu_name(machine, catalog, gpu) + " has compute capability " +
                         capability->text() + ", and memory pools need 6.0",
                     fix};
  }
  return std::nullopt;
}

Verdict settings_accepted(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (!framework.build.is("cuda")) return NotApplicable{};
    const auto refusal = framework.name == "jax"     ? refused_by_jax(machine)
                         : framework.name == "torch" ? refused_by_torch(machine, framework)
                                                     : refused_by_tensorflow(machine, catalog);
    if (!refusal) return Fine{};
    Finding finding;
    finding.statement = title(framework) + " stops at " + refusal->variable + "='" +
                        printable(refusal->value) + "': " + refusal->why;
    finding.evidence = {cite_variable(refusal->variable, refusal->value)};
    finding.cause = "the variable was written for another release or machine, or misspelt";
    finding.fix = {refusal->fix};
    return finding;
  });
}

// --------------------------------------------------------------------------- ignored

Finding ignored(const std::string& name, const std::string& value, std::string why,
                std::vector<FixStep> fix) {
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.subject = name;
  finding.statement = name + "='" + printable(value) + "' has no effect: " + std::move(why);
  finding.evidence = {cite_variable(name, value)};
  finding.cause =
      "what does not fit the form is passed over, in silence or with one line in the log";
  finding.fix = std::move(fix);
  return finding;
}

// GPUBFCAllocator compares with "true" and "false", letter by letter.
std::optional<Finding> ignored_growth(const Machine& machine) {
  const std::string name = "TF_FORCE_GPU_ALLOW_GROWTH";
  const auto value = variable(machine, name.c_str());
  if (!value || value->empty() || *value == "true" || *value == "false") return std::nullopt;
  if (with_cuda(machine, "tensorflow") == nullptr) return std::nullopt;
  return ignored(name, *value, "TensorFlow takes 'true' and 'false' in small letters alone",
                 {shell_step("export " + name + "=true", "lets memory grow as it is needed")});
}

// jaxlib takes everything but 'false', 'False' and '0' as true.
std::optional<Finding> ignored_preallocate(const Machine& machine) {
  constexpr std::array<std::string_view, 6> kMeansNo = {"no", "off", "n", "f", "false", "none"};
  const std::string name = "XLA_PYTHON_CLIENT_PREALLOCATE";
  const auto value = variable(machine, name.c_str());
  if (!value || *value == "false" || *value == "False") return std::nullopt;
  const bool no = std::ranges::find(kMeansNo, lower(*value)) != kMeansNo.end();
  if (!no || with_cuda(machine, "jax") == nullptr) return std::nullopt;
  return ignored(name, *value,
                 "JAX takes 'false', 'False' and '0' as no and everything else as yes, so it still "
                 "takes three quarters of the memory at start",
                 {shell_step("export " + name + "=false", "takes memory as it is needed")});
}

// Both variables are read by one parser of XLA: a value that begins without '-' is the name of a
// file of flags, and later words without "--" are dropped.
std::optional<Finding> ignored_flags(const Machine& machine, const std::string& name) {
  const auto value = variable(machine, name.c_str());
  if (!value || value->find_first_of("\"'") != std::string::npos) return std::nullopt;
  const auto pieces = words(*value);
  if (pieces.empty()) return std::nullopt;
  const bool whole = !pieces[0].starts_with('-');
  if (whole && pieces[0].find("xla_") == std::string_view::npos) return std::nullopt;  // a file
  for (const auto piece : pieces) {
    const bool flag =
        piece.find("xla_") != std::string_view::npos || piece.find('=') != std::string_view::npos;
    if (piece.starts_with('-') || !flag) continue;
    return ignored(name, *value,
                   whole ? "it does not begin with '--', so it is taken for the name of a file"
                         : "'" + printable(piece) + "' does not begin with '--' and is dropped",
                   {advice("write each flag with two dashes: --xla_...=value")});
  }
  return std::nullopt;
}

std::optional<Finding> ignored_xla_flags(const Machine& machine) {
  if (with_cuda(machine, "jax") == nullptr && with_cuda(machine, "tensorflow") == nullptr)
    return std::nullopt;
  return ignored_flags(machine, "XLA_FLAGS");
}

std::optional<Finding> ignored_tensorflow_flags(const Machine& machine) {
  if (with_cuda(machine, "tensorflow") == nullptr) return std::nullopt;
  return ignored_flags(machine, "TF_XLA_FLAGS");
}

Verdict settings_understood(const Machine& machine, const Catalog&) {
  std::vector<Finding> findings;
  for (auto* look :
       {ignored_growth, ignored_preallocate, ignored_xla_flags, ignored_tensorflow_flags})
    if (auto finding = look(machine)) findings.push_back(std::move(*finding));
  return findings.empty() ? Verdict(Fine{}) : Verdict(findings);
}

// ------------------------------------------------------------------------------ slow

Finding slow(const std::string& name, const std::string& value, Severity severity,
             std::string effect, std::string text) {
  Finding finding;
  finding.severity = severity;
  finding.subject = name;
  finding.statement = name + "='" + printable(value) + "' " + std::move(effect);
  finding.evidence = {cite_variable(name, value)};
  finding.cause = "the variable was set to find an error or to compare results, and stayed";
  finding.fix = {unset(name, std::move(text))};
  return finding;
}

bool has_tf32(const Machine& machine, const Catalog& catalog) {
  const auto gpus = reachable_gpus(machine).gpus;
  return std::ranges::any_of(gpus, [&](const auto& gpu) {
    const auto capability = gpu_capability(machine, catalog, gpu.address);
    return capability && capability->major_part() >= 8;
  });
}

bool is_on(const std::optional<std::string>& value) {
  return value && parse_unsigned(trim(*value)).value_or(0) > 0;
}

// Every kernel is waited for; the work of a step no longer overlaps.
void look_for_debugging(const Machine& machine, std::vector<Finding>& findings) {
  if (const auto value = variable(machine, "CUDA_LAUNCH_BLOCKING"); is_on(value))
    findings.push_back(slow("CUDA_LAUNCH_BLOCKING", *value, Severity::kWarning,
                            "makes every kernel wait for the one before: training is slower",
                            "lets kernels overlap again"));
  if (const auto value = variable(machine, "PYTORCH_NO_CUDA_MEMORY_CACHING");
      value == "1" && with_cuda(machine, "torch") != nullptr)
    findings.push_back(slow("PYTORCH_NO_CUDA_MEMORY_CACHING", *value, Severity::kWarning,
                            "makes PyTorch ask the driver for each tensor: training is slower",
                            "lets PyTorch keep freed memory again"));
  if (const auto value = variable(machine, "XLA_PYTHON_CLIENT_ALLOCATOR");
      value && lower(*value) == "platform" && with_cuda(machine, "jax") != nullptr)
    findings.push_back(slow("XLA_PYTHON_CLIENT_ALLOCATOR", *value, Severity::kWarning,
                            "makes JAX ask the driver for each array: it is slower",
                            "lets JAX keep freed memory again"));
  const auto flags = variable(machine, "XLA_FLAGS").value_or("");
  if (flags.find("--xla_dump_to=") != std::string::npos &&
      (with_cuda(machine, "jax") != nullptr || with_cuda(machine, "tensorflow") != nullptr))
    findings.push_back(slow("XLA_FLAGS", flags, Severity::kWarning,
                            "writes every compiled program to disk: compiling is slower, and the "
                            "directory grows",
                            "stops the dump; keep your other flags"));
}

Verdict no_brake_left_on(const Machine& machine, const Catalog& catalog) {
  if (!any_with_cuda(machine)) return NotApplicable{};
  std::vector<Finding> findings;
  look_for_debugging(machine, findings);
  if (const auto value = variable(machine, "NVIDIA_TF32_OVERRIDE");
      value && trim(*value) == "0" && has_tf32(machine, catalog))
    findings.push_back(slow("NVIDIA_TF32_OVERRIDE", *value, Severity::kInfo,
                            "keeps CUDA's libraries from TF32, whatever the program asks for: "
                            "float32 products run at a fraction of the speed",
                            "leaves the choice to the program"));
  return findings.empty() ? Verdict(Fine{}) : Verdict(findings);
}

// ------------------------------------------------------------------- several GPUs

bool unlike(const std::vector<DriverGpu>& gpus) {
  return std::ranges::any_of(gpus, [&](const auto& gpu) {
    return gpu.model.is_known() && gpus.front().model.is_known() &&
           *gpu.model != *gpus.front().model;
  });
}

// nvidia-smi numbers by PCI address, CUDA by speed unless CUDA_DEVICE_ORDER says otherwise.
Verdict numbers_mean_one_gpu(const Machine& machine, const Catalog&) {
  const auto value = variable(machine, "CUDA_VISIBLE_DEVICES");
  const auto gpus = reachable_gpus(machine).gpus;
  if (!value || !any_with_cuda(machine) || !unlike(gpus)) return NotApplicable{};
  if (variable(machine, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID") return Fine{};
  const auto visible = visible_gpus(machine);
  const bool numbers = parse_unsigned(trim(split(*value, ',').front())).has_value();
  if (!numbers || visible.state != VisibleDevices::State::kSome ||
      visible.gpus.size() >= gpus.size())
    return Fine{};
  Finding finding;
  finding.severity = Severity::kInfo;
  finding.certainty = Certainty::kPossible;
  finding.statement =
      "CUDA_VISIBLE_DEVICES='" + printable(*value) +
      "' counts the fastest GPU first, and nvidia-smi counts by PCI address: it may "
      "mean another GPU than nvidia-smi's number";
  finding.evidence = {cite_variable("CUDA_VISIBLE_DEVICES", *value)};
  for (const auto& gpu : gpus) finding.evidence.push_back(cite("GPU", gpu.model));
  finding.cause = "GPUs of different models in one machine, and CUDA_DEVICE_ORDER is not set";
  finding.fix = {
      shell_step("export CUDA_DEVICE_ORDER=PCI_BUS_ID", "makes CUDA count as nvidia-smi does")};
  return finding;
}

Verdict gpus_talk_directly(const Machine& machine, const Catalog&) {
  if (!any_with_cuda(machine) || reachable_gpus(machine).gpus.size() < 2) return NotApplicable{};
  std::vector<Finding> findings;
  for (const std::string name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) {
    const auto value = variable(machine, name.c_str());
    if (!is_on(value)) continue;
    Finding finding =
        slow(name, *value, Severity::kInfo,
             name == "NCCL_P2P_DISABLE"
                 ? "keeps GPUs from talking to each other directly: what they exchange "
                   "goes through the host's memory"
                 : "keeps NCCL from shared memory between processes: what they "
                   "exchange goes over the network interface",
             "lets NCCL choose");
    finding.cause = "a way around a hang, often of another machine, that stayed";
    findings.push_back(std::move(finding));
  }
  return findings.empty() ? Verdict(Fine{}) : Verdict(findings);
}

constexpr Rule kRules[] = {
    {"framework.setting-refused", "the framework accepts the variables that are meant for it",
     settings_accepted, Standing::kOwn},
    {"framework.setting-ignored", "variables are in a form that has an effect", settings_understood,
     Standing::kAdvice},
    {"framework.slow-setting", "no variable for finding errors was left on", no_brake_left_on,
     Standing::kAdvice},
    {"framework.device-order", "numbers in CUDA_VISIBLE_DEVICES are those of nvidia-smi",
     numbers_mean_one_gpu, Standing::kAdvice},
    {"framework.nccl-limited", "NCCL may use the ways between the GPUs", gpus_talk_directly,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> framework_setting_rules() { return kRules; }

}  // namespace gpuwright
