#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework.h"
#include "diagnose/rule.h"
#include "diagnose/run_answer.h"
#include "diagnose/setting.h"

// What the driver said under `check --run` against what its files promise. These rules are judged
// behind the cuda rung too (rule.cpp): a stub, a compat copy or a hidden device explains a code.

namespace gpuwright {
namespace {

constexpr std::string_view kCudaWorks = "CUDA_SUCCESS";
constexpr std::string_view kNvmlWorks = "NVML_SUCCESS";

bool gave_no_answer(const std::string& result) { return result.starts_with("no answer"); }

// "CUDA_ERROR_NO_DEVICE (100)" -> 100; 0 for every other text.
std::uint64_t code_of(std::string_view result) {
  const auto open = result.rfind('(');
  if (!result.ends_with(')') || open == std::string_view::npos) return 0;
  return parse_unsigned(result.substr(open + 1, result.size() - open - 2)).value_or(0);
}

std::vector<Evidence> said(const Machine& machine) {
  std::vector<Evidence> evidence;
  if (machine.run.driver.is_known())
    evidence.push_back({"cuInit in a child process: " + printable(machine.run.driver->result),
                        machine.run.driver->path});
  if (machine.run.nvml.is_known())
    evidence.push_back({"nvmlInit in a child process: " + printable(machine.run.nvml->result),
                        machine.run.nvml->path});
  return evidence;
}

void append(std::vector<Evidence>& into, const std::vector<Evidence>& more) {
  into.insert(into.end(), more.begin(), more.end());
}

FixStep look_at_kernel_log(std::string text) {
  return root_step("sudo dmesg | grep -iE 'nvrm|nvidia|xid' | tail -30", std::move(text), "nothing",
                   "none needed");
}

// ------------------------------------------------------------------------ it does not answer

// A call into the module that does not come back: the GPU has left the bus, its firmware (GSP) no
// longer answers, or another process holds the driver's locks in such a call. A first start of many
// GPUs without persistence may also be slow, so the limit grows with their number.
Verdict driver_answers(const Machine& machine, const Catalog&) {
  const Run& run = machine.run;
  const bool cuda_hangs = run.driver.is_known() && gave_no_answer(run.driver->result);
  const bool nvml_hangs = run.nvml.is_known() && gave_no_answer(run.nvml->result);
  if (!run.driver.is_known() && !run.nvml.is_known()) return NotApplicable{};
  if (!cuda_hangs && !nvml_hangs) return Fine{};
  Finding finding;
  finding.severity = cuda_hangs ? Severity::kError : Severity::kWarning;
  finding.statement = std::string("the driver does not answer: ") +
                      (cuda_hangs ? "libcuda.so.1 gave " + printable(run.driver->result)
                                  : "libnvidia-ml.so.1 gave " + printable(run.nvml->result));
  finding.evidence = said(machine);
  if (machine.driver.blocked.is_known())
    for (const auto& task : *machine.driver.blocked)
      finding.evidence.push_back({"process " + std::to_string(task.pid) + " (" +
                                      printable(task.name) + ") is blocked in " +
                                      (task.where.empty() ? "the kernel" : printable(task.where)),
                                  machine.driver.blocked.source()});
  append(finding.evidence, log_lines(machine, {"Xid", "GSP", "RmInitAdapter", "fallen off"}));
  finding.cause =
      "a GPU has left the bus, its firmware no longer answers, or a process is stuck in the "
      "driver; "
      "on a slow machine the start may just take longer";
  finding.fix = {
      look_at_kernel_log("the newest Xid or RmInitAdapter line names the GPU"),
      user_step("gpuwright check --run --run-timeout 120", "tells a slow start from a hang",
                "nothing", "none needed"),
      reboot("a hung driver does not recover; when it hangs again, switch the power off and on")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

// ------------------------------------------------------------------------- cuInit by its code

/// What a code of cuInit means: the usual causes, and the way out.
struct Meaning {
  std::uint64_t code;
  const char* means;
  const char* cause;
  std::vector<FixStep> (*fix)(const Machine&);
};

bool is_stub_element(const PathElement& element) {
  return element.text.find("/stubs") != std::string::npos ||
         element.holds.find("(stub)") != std::string::npos;
}
bool is_compat_element(const PathElement& element) {
  return element.text.find("/compat") != std::string::npos ||
         element.holds.find("(compat)") != std::string::npos;
}

std::vector<FixStep> without_stubs(const Machine& machine) {
  return {library_path_without(machine, is_stub_element, "without the stubs directory")};
}

std::vector<FixStep> without_compat(const Machine& machine) {
  return {library_path_without(machine, is_compat_element, "without the compat directory"),
          advice("or bring the driver to the branch that the newer CUDA needs")};
}

std::vector<FixStep> look_and_reboot(const Machine&) {
  return {look_at_kernel_log("what the module says about the GPU"),
          reboot("starts driver and GPU anew")};
}

std::vector<FixStep> find_the_device(const Machine& machine) {
  std::vector<FixStep> steps = {
      user_step("nvidia-smi -L; ls -l /dev/nvidia*; env | grep -E 'CUDA|NVIDIA'",
                "GPUs that NVML lists, their nodes, and variables that hide them", "nothing",
                "none needed"),
      look_at_kernel_log("RmInitAdapter failed: the GPU does not start")};
  if (setting_of(machine) == Setting::kContainer)
    steps.push_back(
        advice("compare with the host: when nvidia-smi works there, the container was "
               "given no GPU or an old set of nodes; start a new one"));
  return steps;
}

std::vector<FixStep> check_visible(const Machine&) {
  return {
      user_step("nvidia-smi -L; echo \"$CUDA_VISIBLE_DEVICES\"",
                "the UUIDs that exist against those that are asked for", "nothing", "none needed"),
      user_step("unset CUDA_VISIBLE_DEVICES", "makes all GPUs visible again",
                "this shell and what is started from it", "open a new shell")};
}

std::vector<FixStep> set_compute_mode(const Machine&) {
  return {user_step("nvidia-smi --query-gpu=index,compute_mode --format=csv; nvidia-smi",
                    "the mode of each GPU, and who uses it", "nothing", "none needed"),
          root_step("sudo nvidia-smi -c DEFAULT", "lets several processes share each GPU",
                    "the compute mode of all GPUs until the driver is loaded again",
                    "sudo nvidia-smi -c EXCLUSIVE_PROCESS")};
}

std::vector<FixStep> check_licence(const Machine&) {
  return {user_step("nvidia-smi -q | grep -A 3 -i license", "the licence's state", "nothing",
                    "none needed"),
          root_step("sudo systemctl restart nvidia-gridd; sudo journalctl -u nvidia-gridd -n 20",
                    "fetches a licence anew and says what the server answered",
                    "restarts the licence client", "none needed")};
}

std::vector<FixStep> find_refused_call(const Machine&) {
  return {user_step("strace -f -e trace=openat,ioctl,mmap -Z nvidia-smi 2>&1 | tail -20",
                    "the call that the system refuses, with its reason", "nothing", "none needed"),
          advice("EPERM: device cgroup, seccomp or a security module; ENOMEM on mmap: ulimit -l or "
                 "ulimit -v; ENODEV: the module does not serve the node")};
}

std::vector<FixStep> start_fabric_manager(const Machine&) {
  return {root_step("sudo systemctl restart nvidia-fabricmanager && systemctl status "
                    "nvidia-fabricmanager",
                    "on machines with NVSwitch; its version must be the driver's",
                    "starts the service", "sudo systemctl stop nvidia-fabricmanager"),
          user_step("nvidia-smi -q | grep -A 3 -i fabric", "State must become Completed", "nothing",
                    "none needed"),
          advice("on a machine with confidential computing: set the GPUs ready with nvidia-smi "
                 "conf-compute -srs 1")};
}

std::vector<FixStep> one_version(const Machine& machine) {
  if (setting_of(machine) == Setting::kContainer)
    return {
        advice("start a new container: a running one keeps the libraries it was given before "
               "the host's driver was upgraded")};
  return {reboot("loads the module that goes with the libraries")};
}

std::vector<FixStep> restart_mps(const Machine&) {
  return {
      user_step("ls -l \"${CUDA_MPS_PIPE_DIRECTORY:-/tmp/nvidia-mps}\"; pgrep -a nvidia-cuda-mps",
                "a pipe directory without a server is left over", "nothing", "none needed"),
      user_step("export CUDA_MPS_PIPE_DIRECTORY=/nonexistent",
                "goes round a left-over directory, for this shell",
                "this shell and what is started from it", "unset CUDA_MPS_PIPE_DIRECTORY"),
      root_step("sudo sh -c 'echo quit | nvidia-cuda-mps-control; nvidia-cuda-mps-control -d'",
                "starts the server anew; ends the work of its clients", "restarts MPS",
                "none needed")};
}

std::vector<FixStep> reload_uvm(const Machine& machine) {
  std::vector<FixStep> steps;
  if (setting_of(machine) != Setting::kContainer)
    steps.push_back(root_step("sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm",
                              "mends it after suspend and resume, when nothing uses the GPU",
                              "loads the module anew", "none needed"));
  const auto more = look_and_reboot(machine);
  steps.insert(steps.end(), more.begin(), more.end());
  return steps;
}

const Meaning kMeanings[] = {
    {2, "the driver had no memory to start with",
     "the GPU's memory is full, or the process may lock or map too little (ulimit -v, cgroup)",
     find_refused_call},
    {3, "the driver says it was not initialised",
     "the driver's start failed inside; a fork after cuInit, which gives this code in programs, is "
     "ruled out here",
     look_and_reboot},
    {34, "libcuda.so.1 is a stub for the linker, not the driver's",
     "a toolkit's stubs directory is searched before the driver's", without_stubs},
    {35, "the driver is older than its library asks for",
     "a library of another driver is loaded over an older module", one_version},
    {36, "the call needs a newer driver", "a library of another driver is loaded", one_version},
    {46, "all GPUs are taken or closed to compute",
     "the compute mode is exclusive and another process has the GPU, or it is prohibited",
     set_compute_mode},
    {100, "the driver sees no GPU that this process may use",
     "the GPU did not start, its node is missing or refused here, MIG is on without an instance, "
     "or "
     "a variable hides it",
     find_the_device},
    {101, "an entry of CUDA_VISIBLE_DEVICES names no device here",
     "a MIG or GPU UUID of another machine or of before a reconfiguration", check_visible},
    {102, "the GPU has no licence", "a vGPU without a licence from its server", check_licence},
    {214, "the GPU has met a memory error that it cannot correct",
     "a failing memory cell; the GPU refuses work until it is reset", look_and_reboot},
    {304, "the operating system refused a call of the driver",
     "permissions, the device cgroup, seccomp or a limit on memory", find_refused_call},
    {802, "the system is not ready: GPUs behind NVSwitch wait for their fabric",
     "nvidia-fabricmanager does not run or has another version than the driver, or confidential "
     "computing is on and the GPUs are not set ready",
     start_fabric_manager},
    {803, "library and kernel module of the driver are of different versions",
     "the driver was upgraded, and one of the two is still the old one", one_version},
    {804, "the compat library does not work on this GPU",
     "cuda-compat serves data centre GPUs alone", without_compat},
    {805, "the MPS server cannot be reached", "a pipe directory of MPS is there and no server",
     restart_mps},
    {806, "the MPS server does not answer as it should",
     "the server is of another driver version or in trouble", restart_mps},
    {807, "the MPS server is not ready", "it is starting, or recovering from a client's fault",
     restart_mps},
    {808, "the MPS server has no place for another client", "its clients are at their limit",
     restart_mps},
    {809, "the MPS server has no connection left", "its clients are at their limit", restart_mps},
    {810, "the MPS server ended this client", "another client had a fault", restart_mps},
    {999, "the driver's start failed for a reason it has no code for",
     "nvidia_uvm is missing or broken, often after suspend and resume, or the GPU is failing",
     reload_uvm},
};

const Meaning kUnnamed = {0, "", "the code is not among those that a start is known to give",
                          look_and_reboot};

const Meaning& meaning_of(std::uint64_t code) {
  const auto* found = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                   [&](const Meaning& meaning) { return meaning.code == code; });
  return found == std::end(kMeanings) ? kUnnamed : *found;
}

// Whoever hides all GPUs on purpose gets 100 (or 101) and nothing is wrong with the driver.
bool hidden_on_purpose(const Machine& machine, std::uint64_t code) {
  return (code == 100 || code == 101) &&
         visible_gpus(machine).state == VisibleDevices::State::kNone &&
         machine.cuda.variables.contains("CUDA_VISIBLE_DEVICES");
}

Finding init_failed(const Machine& machine, const std::string& result) {
  const auto code = code_of(result);
  const Meaning& meaning = meaning_of(code);
  Finding finding;
  const bool has_meaning = *meaning.means != '\0';
  finding.statement = "the CUDA driver does not start: " + printable(result) +
                      (has_meaning ? std::string(": ") + meaning.means : "");
  finding.evidence = said(machine);
  finding.evidence.push_back(cite("loaded module", machine.driver.module_version));
  finding.evidence.push_back(cite("libcuda.so.1", machine.driver.user_space_version));
  append(finding.evidence, log_lines(machine, {"NVRM", "Xid", "nvidia-uvm"}));
  finding.cause = meaning.cause;
  finding.fix = meaning.fix(machine);
  finding.certainty = Certainty::kLikely;
  return finding;
}

Finding library_failed(const Machine& machine, const std::string& result) {
  Finding finding;
  finding.statement = "libcuda.so.1 does not work in a process: " + printable(result);
  finding.evidence = said(machine);
  finding.evidence.push_back(cite("loaded module", machine.driver.module_version));
  append(finding.evidence, log_lines(machine, {"NVRM", "Xid", "segfault"}));
  finding.cause = result.starts_with("cannot be loaded")
                      ? "the file or one that it needs is damaged, missing or of another machine"
                      : "the library crashes while it starts: a damaged installation, files of two "
                        "versions, or a preloaded library that disturbs it";
  finding.fix = {user_step("env -u LD_PRELOAD -u LD_LIBRARY_PATH gpuwright check --run",
                           "tells a disturbed library from a broken one", "nothing", "none needed"),
                 advice("install the driver's packages again, all of one version")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

Verdict driver_starts(const Machine& machine, const Catalog&) {
  const auto& driver = machine.run.driver;
  if (!driver.is_known() || gave_no_answer(driver->result)) return NotApplicable{};
  const std::string& result = driver->result;
  if (result == kCudaWorks) return Fine{};
  if (hidden_on_purpose(machine, code_of(result))) return NotApplicable{};
  // The child itself could not run: nothing is known about the driver.
  if (result.starts_with("cannot be started") || result.starts_with("ended with"))
    return NotApplicable{};
  if (result.starts_with("cannot be loaded") || result.starts_with("died of"))
    return library_failed(machine, result);
  return init_failed(machine, result);
}

// -------------------------------------------------------------------------------------- NVML

struct NvmlMeaning {
  const char* name;
  const char* cause;
};
constexpr NvmlMeaning kNvmlMeanings[] = {
    {"NVML_ERROR_NO_PERMISSION", "this user may not ask: the nodes' mode or a container's rules"},
    {"NVML_ERROR_DRIVER_NOT_LOADED", "NVML finds no nvidia module or no /dev/nvidiactl"},
    {"NVML_ERROR_LIB_RM_VERSION_MISMATCH",
     "libnvidia-ml.so.1 and the loaded module are of different versions"},
    {"NVML_ERROR_GPU_IS_LOST", "a GPU has left the bus or its firmware stopped"},
    {"NVML_ERROR_RESET_REQUIRED", "a GPU waits for a reset"},
    {"NVML_ERROR_OPERATING_SYSTEM", "the system or the device cgroup refuses a call"},
    {"NVML_ERROR_FUNCTION_NOT_FOUND", "it is a stub of a toolkit or a library of another version"},
};

bool needs_nvml(const Machine& machine) {
  return std::any_of(machine.frameworks.begin(), machine.frameworks.end(),
                     [](const auto& framework) { return framework.needs_nvml.is(true); });
}

// Told by driver.version-mismatch or driver.library-unusable already.
bool files_explain_nvml(const Machine& machine) {
  const auto* library = chosen_library(machine, "libnvidia-ml.so.1");
  if (library == nullptr) return true;
  if (library->kind != "driver" && library->kind != "wsl") return true;
  const auto& module = machine.driver.module_version;
  return module.is_known() && library->version.is_known() && *library->version != *module;
}

// CUDA starts and NVML does not: nvidia-smi, NCCL's topology and the newer XLA fail, plain CUDA
// works. Where CUDA fails as well, that is the finding.
Verdict nvml_starts(const Machine& machine, const Catalog&) {
  const auto& nvml = machine.run.nvml;
  if (!nvml.is_known() || !machine.run.driver.is_known()) return NotApplicable{};
  if (nvml->result == kNvmlWorks) return Fine{};
  if (machine.run.driver->result != kCudaWorks || gave_no_answer(nvml->result) ||
      files_explain_nvml(machine))
    return NotApplicable{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = "CUDA starts and NVML does not: " + printable(nvml->result) +
                      (needs_nvml(machine) ? "; nvidia-smi and a framework here need it"
                                           : "; nvidia-smi and NCCL need it");
  finding.evidence = said(machine);
  finding.cause = "the management library cannot reach the driver";
  for (const auto& row : kNvmlMeanings)
    if (nvml->result == row.name) finding.cause = row.cause;
  finding.fix = {user_step("nvidia-smi", "must say the same", "nothing", "none needed"),
                 look_at_kernel_log("what the module says about it"),
                 reboot("when nothing there explains it")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

// ---------------------------------------------------------------------------- how many GPUs

std::string counted(std::size_t gpus) {
  return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
}

// CUDA leaves out a GPU that does not start, without a word.
Verdict sees_all_gpus(const Machine& machine, const Catalog&) {
  const auto& driver = machine.run.driver;
  if (!driver.is_known() || driver->result != kCudaWorks || gpus_are_divided(machine))
    return NotApplicable{};
  const auto reachable = reachable_gpus(machine);
  const auto visible = visible_gpus(machine);
  const bool all = visible.state == VisibleDevices::State::kAll;
  if (!reachable.count_known || (!all && visible.state != VisibleDevices::State::kSome))
    return NotApplicable{};
  const std::size_t expected = all ? reachable.gpus.size() : visible.gpus.size();
  const std::size_t seen = driver->devices.size();
  if (seen == expected) return Fine{};
  Finding finding;
  finding.severity = seen < expected ? Severity::kWarning : Severity::kInfo;
  finding.statement = "CUDA sees " + counted(seen) + ", and the files of the driver promise " +
                      std::to_string(expected);
  finding.evidence = {{"CUDA's devices: " + fact_text(driver->devices), driver->path}};
  for (const auto& gpu : reachable.gpus)
    finding.evidence.push_back({"GPU of the driver: " + gpu.address + " " + gpu.model.value_or(""),
                                machine.hardware.driver_gpus.source()});
  append(finding.evidence, log_lines(machine, {"RmInitAdapter", "Xid", "fallen off"}));
  finding.cause = "a GPU that does not start, or that this process may not open, is left out";
  finding.fix = {user_step("nvidia-smi -L", "the GPUs that NVML reaches", "nothing", "none needed"),
                 look_at_kernel_log("RmInitAdapter failed names the GPU's address")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

constexpr Rule kRules[] = {
    {"driver.no-answer", "the driver answers a child process in time", driver_answers},
    {"driver.init-fails", "cuInit succeeds in a child process", driver_starts},
    {"driver.nvml-fails", "nvmlInit succeeds where cuInit does", nvml_starts, Standing::kAdvice},
    {"driver.gpu-count-differs", "CUDA sees every GPU that the driver lists", sees_all_gpus,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> run_driver_rules() { return kRules; }

}  // namespace gpuwright
