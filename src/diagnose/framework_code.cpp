#include "base/text.h"
#include "diagnose/framework.h"
#include "diagnose/framework_rule.h"

// Rules about GPU code: what a build carries against what the GPUs of the machine can run.

namespace gpuwright {
namespace {

// PTX compiles for every newer GPU, with one known exception: TensorFlow's builds before CUDA 12.8
// on Blackwell (compute capability 10.0 and up), whose own PTX the driver refuses
// (tensorflow/tensorflow#99592). CUDA 12.8 is the first that knows these GPUs.
bool can_run(const Framework& framework, const Version& capability, const Catalog& catalog) {
  const auto fit = code_fit(*framework.targets, capability);
  if (fit != CodeFit::kPtxOnly || framework.name != "tensorflow") return fit != CodeFit::kNone;
  const auto cuda = cuda_of_build(framework, catalog);
  return capability < Version::of("10.0") || (cuda && *cuda >= Version::of("12.8"));
}

std::vector<FixStep> fix_of_code(const Framework& framework) {
  const auto step = [](std::string text) {
    return FixStep{.command = "",
                   .text = std::move(text),
                   .needs_root = false,
                   .changes = "packages of this Python environment",
                   .undo = "install the former version again"};
  };
  if (framework.name != "tensorflow")
    return {step("install a build of " + framework.name +
                 " made for this GPU: newer GPUs need a newer CUDA, old ones an older release")};
  return {
      step("for a GPU newer than the build: conda-forge's tensorflow 2.19.1 or NVIDIA's container "
           "nvcr.io/nvidia/tensorflow (25.02 or later), both built with a newer CUDA"),
      step("for an older GPU: the last TensorFlow release that carried code for it")};
}

Verdict code_for_gpu(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (!framework.build.is("cuda") || !machine.hardware.gpus.is_known() ||
        machine.hardware.gpus->empty())
      return NotApplicable{};
    if (!framework.targets.is_known() || framework.targets->empty())
      return Undecided{{cite("GPU code of the build", framework.targets)}};
    std::vector<Evidence> unfit, unknown;
    std::size_t fit = 0;
    for (const auto& gpu : *machine.hardware.gpus) {
      const auto capability = gpu_capability(machine, catalog, gpu.address);
      if (!capability) {
        unknown.push_back({"compute capability of 10de:" + gpu.device_id, "catalogue"});
        continue;
      }
      if (!can_run(framework, *capability, catalog))
        unfit.push_back(
            {"compute capability " + capability->text() + " (10de:" + gpu.device_id + ")",
             gpu.address});
      else
        ++fit;
    }
    if (unfit.empty()) return unknown.empty() ? Verdict(Fine{}) : Verdict(Undecided{unknown});
    Finding finding;
    // With a fitting GPU beside it the framework works on that one.
    finding.severity = fit > 0 ? Severity::kWarning : Severity::kError;
    finding.statement =
        title(framework) + " has no code for this GPU (" + unfit.front().text +
        "): it lists the GPU, and " +
        (framework.name == "tensorflow"
             ? "the first operation fails with CUDA_ERROR_INVALID_PTX or 'no kernel image'"
             : "every kernel fails with 'no kernel image is available'");
    finding.evidence = unfit;
    finding.evidence.push_back(cite("GPU code of the build", framework.targets));
    finding.cause =
        "builds carry machine code for chosen GPU generations only; this one is older or newer "
        "than those";
    finding.fix = fix_of_code(framework);
    finding.certainty = Certainty::kLikely;
    return finding;
  });
}

Verdict code_without_jit(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (!framework.build.is("cuda") || !machine.hardware.gpus.is_known() ||
        !framework.targets.is_known())
      return NotApplicable{};
    for (const auto& gpu : *machine.hardware.gpus) {
      const auto capability = gpu_capability(machine, catalog, gpu.address);
      if (!capability || code_fit(*framework.targets, *capability) != CodeFit::kPtxOnly ||
          !can_run(framework, *capability, catalog))
        continue;
      Finding finding;
      finding.severity = Severity::kWarning;
      finding.statement =
          title(framework) + " has only PTX for this GPU (compute capability " +
          capability->text() +
          "): the driver compiles its kernels at the first start, which can take half an hour";
      finding.evidence = {cite("GPU code of the build", framework.targets)};
      finding.cause = "the build is older than the GPU";
      finding.fix = {shell_step("export CUDA_CACHE_MAXSIZE=4294967296",
                                "keeps the compiled kernels, so that it happens once")};
      return finding;
    }
    return Fine{};
  });
}

constexpr Rule kRules[] = {
    {"framework.no-code-for-gpu", "the build has code that runs on the GPU", code_for_gpu,
     Standing::kOwn},
    {"framework.only-ptx-for-gpu", "the build has machine code for the GPU", code_without_jit,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> framework_code_rules() { return kRules; }

}  // namespace gpuwright
