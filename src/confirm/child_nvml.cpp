#include <algorithm>
#include <array>
#include <cstdio>

#include "confirm/child.h"
#include "gpu/nvml.h"

namespace gpuwright {
namespace {

using nvml::Code;
using nvml::Functions;
using nvml::kSuccess;

/// One GPU in the making: what failed first stands in its `error`.
class Questions {
 public:
  Questions(const Functions& functions, const Speaker& speaker, NvmlGpu& gpu)
      : functions_(functions), speaker_(speaker), gpu_(gpu) {}

  // Opens the GPU, which initialises it where nothing else holds it: seconds.
  bool open() {
    const Code code = ask("nvmlDeviceGetHandleByIndex", functions_.handle,
                          static_cast<unsigned>(gpu_.index), &device_);
    if (code != kSuccess && gpu_.error.empty()) gpu_.error = nvml::code_name(code);
    return code == kSuccess;
  }

  template <class Function, class... Arguments>
  Code ask(const char* name, Function function, Arguments... arguments) {
    if (function == nullptr) return nvml::kFunctionNotFound;
    speaker_.call(std::string(name) + " of GPU " + std::to_string(gpu_.index));
    const Code code = function(arguments...);
    if (is_fault(code) && gpu_.error.empty()) gpu_.error = nvml::code_name(code);
    return code;
  }

  // A number of NVML's as a fact; what the GPU or the driver has not is absent.
  template <class T, class Function>
  Fact<T> number(const char* name, Function function, double scale = 1) {
    unsigned value = 0;
    const Code code = ask(name, function, device_, &value);
    if (code != kSuccess) return none<T>(name, code);
    return Fact<T>::known(static_cast<T>(value * scale), name);
  }

  template <class Function>
  Fact<bool> flag(const char* name, Function function) {
    int value = 0;
    const Code code = ask(name, function, device_, &value);
    if (code != kSuccess) return none<bool>(name, code);
    return Fact<bool>::known(value != 0, name);
  }

  template <class T>
  static Fact<T> none(const char* name, Code code) {
    for (const Code absent :
         {nvml::kNotSupported, nvml::kFunctionNotFound, nvml::kVersionMismatch, nvml::kDeprecated})
      if (code == absent) return Fact<T>::absent(name);
    return Fact<T>::unknown(name, nvml::code_name(code));
  }

  nvml::Device device() const { return device_; }
  const Functions& functions() const { return functions_; }
  NvmlGpu& gpu() { return gpu_; }

 private:
  // Codes that tell of the GPU and not of the question.
  static bool is_fault(Code code) {
    constexpr std::array kFaults = {8, 10, 11, 14, nvml::kGpuIsLost, nvml::kResetRequired, 999};
    return std::find(kFaults.begin(), kFaults.end(), code) != kFaults.end();
  }

  const Functions& functions_;
  const Speaker& speaker_;
  NvmlGpu& gpu_;
  nvml::Device device_ = nullptr;
};

template <std::size_t N>
std::string text_of(const char (&text)[N]) {
  return std::string(text, std::find(text, text + N, '\0'));
}

void ask_identity(Questions& questions) {
  char text[96] = {};  // the longest name and UUID
  const auto& functions = questions.functions();
  if (questions.ask("nvmlDeviceGetName", functions.name, questions.device(), text,
                    unsigned{sizeof text}) == kSuccess)
    questions.gpu().name = text_of(text);
  if (questions.ask("nvmlDeviceGetUUID", functions.uuid, questions.device(), text,
                    unsigned{sizeof text}) == kSuccess)
    questions.gpu().uuid = text_of(text);
  nvml::PciInfo pci{};
  if (questions.ask("nvmlDeviceGetPciInfo", functions.pci, questions.device(), &pci) != kSuccess)
    return;
  char address[24];  // the function of a GPU is 0
  std::snprintf(address, sizeof address, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff,
                pci.device & 0xff);
  questions.gpu().address = address;
}

// The newer form keeps the driver's reserve out of what is used.
void ask_memory(Questions& questions) {
  const char* name = "nvmlDeviceGetMemoryInfo";
  NvmlGpu& gpu = questions.gpu();
  nvml::Memory2 newer{};
  newer.version = nvml::struct_version<nvml::Memory2>(2);
  nvml::Memory older{};
  Code code = questions.ask(name, questions.functions().memory2, questions.device(), &newer);
  if (code == kSuccess) {
    older = {newer.total, newer.free, newer.used};
  } else {
    code = questions.ask(name, questions.functions().memory, questions.device(), &older);
  }
  if (code != kSuccess) {
    gpu.memory_total_bytes = gpu.memory_used_bytes = Questions::none<std::uint64_t>(name, code);
  } else if (older.total == 0) {  // chips without memory of their own
    gpu.memory_total_bytes = gpu.memory_used_bytes = Fact<std::uint64_t>::absent(name);
  } else {
    gpu.memory_total_bytes = Fact<std::uint64_t>::known(older.total, name);
    gpu.memory_used_bytes = Fact<std::uint64_t>::known(older.used, name);
  }
}

Fact<std::uint64_t> temperature(Questions& questions) {
  const char* name = "nvmlDeviceGetTemperature";
  nvml::Temperature reading{};
  reading.version = nvml::struct_version<nvml::Temperature>(1);
  if (questions.ask(name, questions.functions().temperature1, questions.device(), &reading) ==
          kSuccess &&
      reading.celsius >= 0)
    return Fact<std::uint64_t>::known(static_cast<std::uint64_t>(reading.celsius), name);
  unsigned celsius = 0;
  const Code code =
      questions.ask(name, questions.functions().temperature, questions.device(), 0U, &celsius);
  if (code != kSuccess) return Questions::none<std::uint64_t>(name, code);
  return Fact<std::uint64_t>::known(celsius, name);
}

Fact<std::vector<std::string>> clock_reasons(Questions& questions) {
  constexpr std::array<const char*, 9> kNames = {
      "idle",       "applications_clocks", "sw_power_cap",   "hw_slowdown",  "sync_boost",
      "sw_thermal", "hw_thermal",          "hw_power_brake", "display_clock"};
  const char* name = "nvmlDeviceGetCurrentClocksEventReasons";
  unsigned long long bits = 0;
  const Code code =
      questions.ask(name, questions.functions().clock_reasons, questions.device(), &bits);
  if (code != kSuccess) return Questions::none<std::vector<std::string>>(name, code);
  std::vector<std::string> reasons;
  for (std::size_t bit = 0; bit < kNames.size(); ++bit)
    if ((bits >> bit & 1) != 0) reasons.emplace_back(kNames[bit]);
  return Fact<std::vector<std::string>>::known(std::move(reasons), name);
}

void ask_state(Questions& questions) {
  using Number = std::uint64_t;
  const auto& functions = questions.functions();
  NvmlGpu& gpu = questions.gpu();
  nvml::Utilisation load{};
  const char* name = "nvmlDeviceGetUtilizationRates";
  const Code code = questions.ask(name, functions.utilisation, questions.device(), &load);
  gpu.utilisation_percent =
      code == kSuccess ? Fact<Number>::known(load.gpu, name) : Questions::none<Number>(name, code);
  gpu.temperature_c = temperature(questions);
  gpu.power_w = questions.number<double>("nvmlDeviceGetPowerUsage", functions.power, 1e-3);
  gpu.power_limit_w =
      questions.number<double>("nvmlDeviceGetEnforcedPowerLimit", functions.power_limit, 1e-3);
  gpu.link_generation =
      questions.number<Number>("nvmlDeviceGetCurrPcieLinkGeneration", functions.link_generation);
  gpu.link_generation_max =
      questions.number<Number>("nvmlDeviceGetMaxPcieLinkGeneration", functions.link_generation_max);
  gpu.link_width = questions.number<Number>("nvmlDeviceGetCurrPcieLinkWidth", functions.link_width);
  gpu.link_width_max =
      questions.number<Number>("nvmlDeviceGetMaxPcieLinkWidth", functions.link_width_max);
  gpu.clock_reasons = clock_reasons(questions);
}

// The name that stands for a number; a number without one is unknown.
template <std::size_t N, class Function>
Fact<std::string> word(Questions& questions, const char* name, Function function,
                       const std::array<const char*, N>& words) {
  int value = 0;
  const Code code = questions.ask(name, function, questions.device(), &value);
  if (code != kSuccess) return Questions::none<std::string>(name, code);
  const auto index = static_cast<std::size_t>(value);
  if (value < 0 || index >= N || words[index] == nullptr)
    return Fact<std::string>::unknown(name, "answered " + std::to_string(value));
  return Fact<std::string>::known(words[index], name);
}

void ask_mig(Questions& questions) {
  const auto& functions = questions.functions();
  NvmlGpu& gpu = questions.gpu();
  unsigned now = 0, pending = 0, most = 0;
  const Code code =
      questions.ask("nvmlDeviceGetMigMode", functions.mig, questions.device(), &now, &pending);
  gpu.mig_devices = Fact<std::uint64_t>::absent("nvmlDeviceGetMigMode");
  if (code != kSuccess) {
    gpu.mig = Questions::none<bool>("nvmlDeviceGetMigMode", code);
    return;
  }
  gpu.mig = Fact<bool>::known(now == 1, "nvmlDeviceGetMigMode");
  if (now != 1) return;
  const char* name = "nvmlDeviceGetMigDeviceHandleByIndex";
  if (questions.ask("nvmlDeviceGetMaxMigDeviceCount", functions.mig_count, questions.device(),
                    &most) != kSuccess ||
      functions.mig_handle == nullptr)
    return;
  std::uint64_t found = 0;
  nvml::Device part = nullptr;
  for (unsigned i = 0; i < std::min(most, 64U); ++i)  // indices have gaps
    if (questions.ask(name, functions.mig_handle, questions.device(), i, &part) == kSuccess)
      ++found;
  gpu.mig_devices = Fact<std::uint64_t>::known(found, name);
}

Fact<std::string> licence(Questions& questions) {
  const char* name = "nvmlDeviceGetGridLicensableFeatures";
  nvml::LicensableFeatures all{};
  const Code code = questions.ask(name, questions.functions().licence, questions.device(), &all);
  if (code != kSuccess) return Questions::none<std::string>(name, code);
  if (all.supported == 0 || all.count == 0) return Fact<std::string>::absent(name);
  const auto count = std::min<std::size_t>(all.count, std::size(all.features));
  for (std::size_t i = 0; i < count; ++i)
    if (all.features[i].licensed != 0) return Fact<std::string>::known("licensed", name);
  return Fact<std::string>::known("unlicensed", name);
}

Fact<std::string> fabric_state(Questions& questions) {
  constexpr std::array<const char*, 4> kStates = {nullptr, "not started", "in progress",
                                                  "completed"};
  const char* name = "nvmlDeviceGetGpuFabricInfo";
  nvml::FabricInfo2 newer{};
  newer.version = nvml::struct_version<nvml::FabricInfo2>(2);
  nvml::FabricInfo1 older{};
  Code code = questions.ask(name, questions.functions().fabric2, questions.device(), &newer);
  unsigned state = newer.state;
  if (code != kSuccess) {
    code = questions.ask(name, questions.functions().fabric1, questions.device(), &older);
    state = older.state;
  }
  if (code != kSuccess) return Questions::none<std::string>(name, code);
  if (state >= kStates.size() || kStates[state] == nullptr) return Fact<std::string>::absent(name);
  return Fact<std::string>::known(kStates[state], name);
}

void ask_modes(Questions& questions) {
  const auto& functions = questions.functions();
  NvmlGpu& gpu = questions.gpu();
  gpu.compute_mode = word(
      questions, "nvmlDeviceGetComputeMode", functions.compute_mode,
      std::array<const char*, 4>{"default", "exclusive-thread", "prohibited", "exclusive-process"});
  gpu.persistence = questions.flag("nvmlDeviceGetPersistenceMode", functions.persistence);
  int now = 0, pending = 0;
  const Code code =
      questions.ask("nvmlDeviceGetEccMode", functions.ecc, questions.device(), &now, &pending);
  gpu.ecc = code == kSuccess ? Fact<bool>::known(now != 0, "nvmlDeviceGetEccMode")
                             : Questions::none<bool>("nvmlDeviceGetEccMode", code);
  ask_mig(questions);
  gpu.virtualisation =
      word(questions, "nvmlDeviceGetVirtualizationMode", functions.virtualisation,
           std::array<const char*, 5>{"none", "passthrough", "vgpu", "host-vgpu", "host-vsga"});
  gpu.licence = licence(questions);
  gpu.fabric_state = fabric_state(questions);
}

Fact<std::uint64_t> ecc_errors(Questions& questions, int counter) {
  const char* name = "nvmlDeviceGetTotalEccErrors";
  constexpr int kUncorrected = 1;
  unsigned long long count = 0;
  const Code code = questions.ask(name, questions.functions().ecc_errors, questions.device(),
                                  kUncorrected, counter, &count);
  if (code != kSuccess) return Questions::none<std::uint64_t>(name, code);
  return Fact<std::uint64_t>::known(count, name);
}

Fact<std::uint64_t> retired_pages(Questions& questions) {
  const char* name = "nvmlDeviceGetRetiredPages";
  std::uint64_t all = 0;
  for (const int cause : {0, 1}) {
    unsigned count = 0;
    unsigned long long* nowhere = nullptr;
    const Code code = questions.ask(name, questions.functions().retired, questions.device(), cause,
                                    &count, nowhere);
    if (code != kSuccess && code != nvml::kInsufficientSize)
      return Questions::none<std::uint64_t>(name, code);
    all += count;
  }
  return Fact<std::uint64_t>::known(all, name);
}

void ask_health(Questions& questions) {
  const auto& functions = questions.functions();
  NvmlGpu& gpu = questions.gpu();
  gpu.ecc_uncorrected_volatile = ecc_errors(questions, 0);
  gpu.ecc_uncorrected_aggregate = ecc_errors(questions, 1);
  const char* name = "nvmlDeviceGetRemappedRows";
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  const Code code = questions.ask(name, functions.remapped, questions.device(), &corrected,
                                  &uncorrected, &pending, &failed);
  const bool asked = code == kSuccess;
  gpu.remapped_rows_uncorrected = asked ? Fact<std::uint64_t>::known(uncorrected, name)
                                        : Questions::none<std::uint64_t>(name, code);
  gpu.remap_pending =
      asked ? Fact<bool>::known(pending != 0, name) : Questions::none<bool>(name, code);
  gpu.remap_failed =
      asked ? Fact<bool>::known(failed != 0, name) : Questions::none<bool>(name, code);
  gpu.retired_pages = retired_pages(questions);
  gpu.retirement_pending =
      questions.flag("nvmlDeviceGetRetiredPagesPendingStatus", functions.retirement_pending);
}

NvmlGpu ask_gpu(const Functions& functions, const Speaker& speaker, unsigned index) {
  NvmlGpu gpu;
  gpu.index = index;
  Questions questions(functions, speaker, gpu);
  if (!questions.open()) return gpu;
  ask_identity(questions);
  ask_memory(questions);
  ask_state(questions);
  ask_modes(questions);
  ask_health(questions);
  return gpu;
}

Fact<Version> driver_version(const Functions& functions, const Speaker& speaker) {
  const char* name = "nvmlSystemGetDriverVersion";
  if (functions.driver_version == nullptr) return Fact<Version>::absent(name);
  char text[96] = {};
  speaker.call(name);
  const Code code = functions.driver_version(text, unsigned{sizeof text});
  if (code != kSuccess) return Questions::none<Version>(name, code);
  const auto version = Version::parse(text_of(text));
  return version ? Fact<Version>::known(*version, name)
                 : Fact<Version>::unknown(name, "answered no version");
}

// After each GPU all that is known is told: the next one may be the one that hangs.
void ask_gpus(const Functions& functions, const Speaker& speaker, NvmlRun& run) {
  unsigned count = 0;
  speaker.call("nvmlDeviceGetCount");
  const Code code = functions.count(&count);
  if (code != kSuccess) {
    run.result = nvml::code_name(code);
    return;
  }
  constexpr unsigned kMost = 256;  // a number beyond all machines is nonsense
  for (unsigned index = 0; index < std::min(count, kMost); ++index) {
    run.gpus.push_back(ask_gpu(functions, speaker, index));
    Run all;
    all.nvml = Fact<NvmlRun>::known(run, run.path);
    speaker.tell(all);
  }
}

}  // namespace

NvmlRun ask_nvml(const std::string& path, const Speaker& speaker) {
  NvmlRun run;
  run.path = path;
  speaker.call("dlopen");
  const auto functions = nvml::open(path);
  if (!functions) {
    run.result = "cannot be loaded: " + functions.error().text();
    return run;
  }
  if (functions->init == nullptr || functions->count == nullptr || functions->handle == nullptr) {
    run.result =
        "cannot be loaded: it has not nvmlInit, nvmlDeviceGetCount and "
        "nvmlDeviceGetHandleByIndex";
    return run;
  }
  speaker.call("nvmlInit");
  const Code code = functions->init();
  run.result = nvml::code_name(code);
  if (code != kSuccess) return run;
  run.driver_version = driver_version(*functions, speaker);
  ask_gpus(*functions, speaker, run);
  return run;
}

}  // namespace gpuwright
