#include "diagnose/framework_rule.h"

// What XLA needs to compile for a GPU.

namespace gpuwright {
namespace {

// Since 2.11 the optimisers of Keras are compiled by XLA, so that model.fit ends with "libdevice
// not found" on a machine where everything else works.
Verdict libdevice_is_there(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.name != "tensorflow" || !framework.build.is("cuda") ||
        framework.libdevice.is_unknown())
      return NotApplicable{};
    if (framework.libdevice.is_known()) return Fine{};
    const bool always = framework.version.is_known() && *framework.version >= Version::of("2.11");
    Finding finding;
    finding.severity = always ? Severity::kWarning : Severity::kInfo;
    finding.statement = title(framework) + " finds no libdevice.10.bc: " +
                        (always ? "model.fit fails with 'libdevice not found'"
                                : "jit_compile=True fails with 'libdevice not found'");
    finding.evidence = {cite("libdevice.10.bc", framework.libdevice)};
    finding.cause =
        "the file comes with the CUDA compiler (nvidia-cuda-nvcc-cu12, or a toolkit's "
        "nvvm/libdevice), which the run-time libraries do not bring";
    finding.fix = {
        environment_step(in_conda(machine) ? "conda install -c conda-forge cuda-nvcc"
                                           : pip(machine) + " install nvidia-cuda-nvcc-cu12",
                         "brings nvvm/libdevice and ptxas"),
        shell_step("export XLA_FLAGS=--xla_gpu_cuda_data_dir=/usr/local/cuda",
                   "or name a directory that holds nvvm/libdevice/libdevice.10.bc")};
    return finding;
  });
}

Verdict ptxas_is_there(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    // Without libdevice the other finding says how both come.
    if (framework.name != "tensorflow" || framework.ptxas.is_unknown() ||
        !framework.libdevice.is_known())
      return NotApplicable{};
    if (framework.ptxas.is_known()) return Fine{};
    Finding finding;
    finding.severity = Severity::kInfo;
    finding.statement = title(framework) +
                        " finds no ptxas: the driver compiles instead, and first steps take longer";
    finding.evidence = {cite("ptxas", framework.ptxas)};
    finding.cause = "ptxas comes with the CUDA compiler, which run-time libraries do not bring";
    finding.fix = {environment_step(in_conda(machine)
                                        ? "conda install -c conda-forge cuda-nvcc"
                                        : pip(machine) + " install nvidia-cuda-nvcc-cu12",
                                    "brings it, if the wait matters")};
    return finding;
  });
}

constexpr Rule kRules[] = {
    {"framework.libdevice-missing", "XLA finds libdevice.10.bc", libdevice_is_there,
     Standing::kAdvice},
    {"framework.ptxas-missing", "XLA finds ptxas", ptxas_is_there, Standing::kAdvice},
};

}  // namespace

std::span<const Rule> framework_compiler_rules() { return kRules; }

}  // namespace gpuwright
