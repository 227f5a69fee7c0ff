#include <algorithm>

#include "base/text.h"
#include "base/version.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"

// What TensorFlow, PyTorch and JAX say about their own build, their libraries and the GPU.

namespace gpuwright {
namespace {

FixStep package_step(std::string command, std::string text) {
  return user_step(std::move(command), std::move(text), "packages of this environment",
                   "install the versions that pip list shows now");
}

FixStep shell_step(std::string command, std::string text) {
  return user_step(std::move(command), std::move(text), "this shell", "unset the variable");
}

// ------------------------------------------------------------ CUDA libraries out of reach

bool has_cuda_wheels(const Machine& machine) {
  return package_event(machine, "nvidia-cudnn-cu12") != nullptr ||
         package_event(machine, "nvidia-cuda-runtime-cu12") != nullptr ||
         package_event(machine, "nvidia-cublas-cu12") != nullptr ||
         package_event(machine, "nvidia-cudnn-cu11") != nullptr;
}

// Of the sixteen minor releases since 2.12 that name no library, 2.16.0 and 2.16.1 have them in the
// environment and do not look there.
Finding wheels_not_searched(const Event& symptom, const Event& tensorflow, const Machine& machine) {
  const auto version = value_of(tensorflow, "version");
  Finding finding;
  finding.statement = "TensorFlow " + version +
                      " does not look into site-packages/nvidia, where its CUDA libraries lie";
  finding.evidence = cite({&symptom, &tensorflow, package_event(machine, "nvidia-cudnn-cu12")});
  finding.cause = version.starts_with("2.16")
                      ? "2.16.0 and 2.16.1 were built without the search path of the wheels"
                      : "the search path of this build does not lead to the installed wheels";
  finding.fix = {
      package_step("python -m pip install --upgrade 'tensorflow[and-cuda]>=2.17'",
                   "a release that finds them by itself"),
      shell_step(
          "export LD_LIBRARY_PATH=$(python -c 'import glob, site; print(\":\".join(glob.glob("
          "site.getsitepackages()[0] + \"/nvidia/*/lib\")))')",
          "or lead the loader into site-packages/nvidia")};
  return finding;
}

Finding libraries_not_installed(const Event& symptom, const Machine& machine) {
  const auto* image = first_event(machine, "tensorflow.image");
  const auto* tensorflow = package_event(machine, "tensorflow");
  const auto version = tensorflow != nullptr ? value_of(*tensorflow, "version")
                       : image != nullptr    ? value_of(*image, "version")
                                             : std::string();
  Finding finding;
  finding.statement = (image != nullptr ? "the image's TensorFlow " : "TensorFlow ") +
                      (version.empty() ? "" : version + " ") +
                      "finds none or not all of the CUDA libraries it opens";
  finding.evidence = cite({&symptom, tensorflow, image});
  finding.cause = image != nullptr
                      ? "the image holds TensorFlow without the CUDA libraries"
                      : "pip installs the CUDA libraries only with the extra [and-cuda]";
  finding.fix = {package_step("python -m pip install 'tensorflow[and-cuda]" +
                                  (version.empty() ? "" : "==" + version) + "'",
                              "brings the CUDA libraries of this release"),
                 shell_step("TF_CPP_MAX_VLOG_LEVEL=1 python -c 'import tensorflow as tf; "
                            "tf.config.list_physical_devices(\"GPU\")' 2>&1 | grep -i dlopen",
                            "names the library that is missing, which this release does not")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

bool names_a_library(const Machine& machine) {
  for (const auto* event : events_of(machine, "tensorflow.library-not-loaded"))
    if (!value_of(*event, "library").starts_with("libnvinfer")) return true;
  return false;
}

// From 1.14 to 2.11 the log names what is missing, and that is the better story.
Verdict finds_its_libraries(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "tensorflow.cannot-dlopen-gpu");
  if (symptom == nullptr || names_a_library(machine)) return NotApplicable{};
  const auto* tensorflow = package_event(machine, "tensorflow");
  if (tensorflow != nullptr && has_cuda_wheels(machine))
    return wheels_not_searched(*symptom, *tensorflow, machine);
  return libraries_not_installed(*symptom, machine);
}

// --------------------------------------------------------------------------- cuDNN

// 8201 is 8.2.1, 90300 is 9.3.0.
std::string cudnn_text(const std::string& number) {
  const auto value = parse_unsigned(number);
  if (!value || number.find('.') != std::string::npos) return number;
  const auto scale = *value >= 90000 ? 10000U : 1000U;
  return std::to_string(*value / scale) + "." + std::to_string(*value % scale / 100) + "." +
         std::to_string(*value % 100);
}

Verdict cudnn_new_enough(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "cudnn.older-than-build");
  const bool jax = symptom == nullptr;
  if (jax) symptom = first_event(machine, "jax.cudnn-too-old");
  if (symptom == nullptr) return NotApplicable{};
  const auto loaded = cudnn_text(value_of(*symptom, jax ? "installed" : "loaded"));
  const auto built = cudnn_text(value_of(*symptom, "built"));
  const auto* wheel = package_event(machine, "nvidia-cudnn-cu12");
  if (wheel == nullptr) wheel = package_event(machine, "nvidia-cudnn-cu11");
  const auto* torch = package_event(machine, "torch");
  Finding finding;
  finding.statement = std::string(jax ? "JAX" : "TensorFlow") + " loads cuDNN " +
                      (loaded.empty() ? "of an older version" : loaded) + " and was built with " +
                      (built.empty() ? "a newer one" : built) + ": convolutions fail";
  finding.evidence = cite({symptom, first_event(machine, "cudnn.not-found"), wheel, torch});
  finding.cause = torch != nullptr
                      ? "torch in the same environment pins an older cuDNN than the other needs"
                      : "an older cuDNN comes first in the search, or a package pinned it";
  const std::string name = wheel != nullptr ? value_of(*wheel, "name") : "nvidia-cudnn-cu12";
  finding.fix = {package_step("python -m pip install '" + name + ">=" + built + "'",
                              "a cuDNN at least as new as the build's")};
  if (built.empty())
    finding.fix = {package_step("python -m pip install --upgrade " + name, "a newer cuDNN")};
  if (torch != nullptr)
    finding.fix.push_back(advice("keep torch and TensorFlow in environments of their own"));
  return finding;
}

Verdict cudnn_starts(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "cudnn.not-found");
  if (symptom == nullptr || has_event(machine, "cudnn.older-than-build") ||
      has_event(machine, "torch.out-of-memory"))
    return NotApplicable{};
  Finding finding;
  finding.statement = "cuDNN could not be started on the GPU";
  finding.evidence = cite({symptom});
  finding.cause =
      "most often the GPU's memory was all taken when cuDNN asked for its own (TensorFlow takes "
      "nearly "
      "all of it by default, other processes the rest); else a cuDNN of another version is loaded";
  finding.fix = {
      shell_step("export TF_FORCE_GPU_ALLOW_GROWTH=true", "take memory as it is needed"),
      user_step("nvidia-smi", "who else holds memory?", "nothing", "none needed"),
      user_step("gpuwright check", "is the cuDNN that is loaded one set, and new enough?",
                "nothing", "none needed")};
  finding.certainty = Certainty::kPossible;
  return finding;
}

// ------------------------------------------------------------------- XLA's own tools

Verdict libdevice_found(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "xla.libdevice-not-found");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = "XLA finds no libdevice.10.bc, so nothing that it compiles can run";
  finding.evidence = cite({symptom, last_event(machine, "xla.libdevice-not-found")});
  if (finding.evidence.size() == 2 && finding.evidence[0] == finding.evidence[1])
    finding.evidence.pop_back();
  finding.cause =
      "the file is part of the CUDA compiler (package nvidia-cuda-nvcc-cu12, or a toolkit's "
      "nvvm/libdevice), and none of the directories that XLA searches holds it";
  finding.fix = {
      package_step("python -m pip install nvidia-cuda-nvcc-cu12", "brings nvvm/libdevice"),
      shell_step("export XLA_FLAGS=--xla_gpu_cuda_data_dir=/usr/local/cuda",
                 "or name a directory that holds nvvm/libdevice/libdevice.10.bc")};
  return finding;
}

Verdict ptxas_found(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "xla.ptxas-not-found");
  if (symptom == nullptr || has_event(machine, "xla.libdevice-not-found")) return NotApplicable{};
  const auto* fatal = event_saying(machine, "xla.ptxas-not-found", "No PTX compilation provider");
  Finding finding;
  finding.severity = fatal == nullptr ? Severity::kInfo : Severity::kError;
  finding.statement =
      fatal == nullptr
          ? "ptxas is not installed; harmless: the driver compiles instead, and the first "
            "step takes longer"
          : "no ptxas and no other PTX compiler is found";
  finding.evidence = cite({fatal == nullptr ? symptom : fatal});
  finding.cause = "ptxas is part of the CUDA compiler, which the run-time packages do not bring";
  finding.fix = {package_step("python -m pip install nvidia-cuda-nvcc-cu12",
                              "brings ptxas, if the wait matters")};
  return finding;
}

// ---------------------------------------------------------------- code for this GPU

Verdict code_for_this_gpu(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "tensorflow.no-binary-for-gpu");
  if (symptom == nullptr) return NotApplicable{};
  const auto* refused = first_event(machine, "cuda.invalid-ptx");
  const auto capability = value_of(*symptom, "capability");
  const bool blackwell =
      Version::parse(capability) && *Version::parse(capability) >= Version::of("12.0");
  Finding finding;
  finding.evidence = cite({symptom, refused, package_event(machine, "tensorflow")});
  const auto* created = first_event(machine, "tensorflow.gpu-created");
  const auto gpu =
      created == nullptr ? std::string("this GPU") : std::string(trim(value_of(*created, "name")));
  if (refused != nullptr) {
    finding.statement = "TensorFlow has no code for compute capability " + capability + " (" + gpu +
                        "), and its PTX cannot be compiled for it";
    finding.cause = "the build is older than the GPU";
  } else {
    finding.severity = Severity::kWarning;
    finding.statement = "TensorFlow has no machine code for compute capability " + capability +
                        " (" + gpu + "): the driver compiles every kernel at its first use";
    finding.cause = "the build is older than the GPU; it may take half an hour, once per cache";
  }
  if (blackwell)
    finding.fix = {user_step("conda install -c conda-forge 'tensorflow=2.19.1=cuda129*'",
                             "a build with code for 12.0 (pip's TensorFlow up to 2.21 has none)",
                             "packages of this environment", "conda install --revision 0")};
  else
    finding.fix = {package_step("python -m pip install --upgrade 'tensorflow[and-cuda]'",
                                "a build with code for this GPU")};
  return finding;
}

Verdict only_compiled_code(const Machine& machine, const Catalog&) {
  const auto* found = first_event(machine, "tensorflow.no-binary-for-gpu");
  if (found == nullptr || has_event(machine, "cuda.invalid-ptx")) return NotApplicable{};
  return code_for_this_gpu(machine, Catalog::built_in());
}

Verdict no_code_at_all(const Machine& machine, const Catalog& catalog) {
  if (!has_event(machine, "cuda.invalid-ptx")) return NotApplicable{};
  return code_for_this_gpu(machine, catalog);
}

Verdict gpu_not_ignored(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "tensorflow.ignores-gpu");
  if (symptom == nullptr) return NotApplicable{};
  const bool small = symptom->text.find("multiprocessor count") != std::string::npos;
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = "TensorFlow leaves " + value_of(*symptom, "name") + " out: " +
                      (small ? "it has few multiprocessors" : "this build has no code for it");
  finding.evidence = cite({symptom});
  finding.cause = small
                      ? "GPUs with fewer than 8 multiprocessors are passed over beside a larger one"
                      : "its compute capability is below what the build was made for";
  if (small)
    finding.fix = {shell_step("export TF_MIN_GPU_MULTIPROCESSOR_COUNT=1", "use it all the same")};
  else
    finding.fix = {
        advice("an older TensorFlow, or another GPU; gpuwright plan names the releases")};
  return finding;
}

// -------------------------------------------------------------------------- memory by design

Verdict memory_as_designed(const Machine& machine, const Catalog&) {
  if (has_event(machine, "torch.out-of-memory") || has_event(machine, "work.out-of-memory"))
    return NotApplicable{};
  const auto* jax = package_event(machine, "jaxlib");
  if (jax == nullptr) jax = package_event(machine, "jax-cuda12-plugin");
  if (jax == nullptr) return NotApplicable{};
  for (const auto* gpu : events_of(machine, "smi.gpu")) {
    const auto used = parse_unsigned(value_of(*gpu, "used_mib"));
    const auto total = parse_unsigned(value_of(*gpu, "total_mib"));
    if (!used || !total || *total == 0) continue;
    const auto share = *used * 100 / *total;
    if (share < 70 || share > 82) continue;
    Finding finding;
    finding.severity = Severity::kInfo;
    finding.statement = "JAX has reserved 75 % of the GPU's memory, as it does by default";
    finding.evidence = cite({gpu, first_event(machine, "smi.process"), jax});
    finding.cause = "at its first operation JAX takes 75 % of the memory and divides it itself";
    finding.fix = {
        shell_step("export XLA_PYTHON_CLIENT_PREALLOCATE=false", "take memory as it is needed"),
        shell_step("export XLA_PYTHON_CLIENT_MEM_FRACTION=.30", "or reserve less")};
    return finding;
  }
  return NotApplicable{};
}

// ----------------------------------------------------------------------------- JAX

Verdict plugin_fits(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "jax.plugin-version");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = "JAX does not use its plugin " + value_of(*symptom, "plugin") + " " +
                      value_of(*symptom, "plugin_version") + ", since jaxlib is " +
                      value_of(*symptom, "jaxlib");
  finding.evidence = cite({symptom});
  finding.cause = "jax or jaxlib was upgraded without the plugin, or the reverse";
  finding.fix = {package_step("python -m pip install --upgrade 'jax[cuda12]'",
                              "brings all parts to one version")};
  return finding;
}

Verdict processor_new_enough(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "tensorflow.cpu-feature-missing");
  if (symptom == nullptr) symptom = first_event(machine, "jax.x64-or-numpy-missing");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = "the build needs " + value_of(*symptom, "feature") +
                      " instructions, which this processor or virtual machine has not";
  finding.evidence = cite({symptom});
  finding.cause =
      "official builds of TensorFlow since 1.6 and of jaxlib use AVX; a virtual machine may hide "
      "it";
  finding.fix = {
      advice("in a virtual machine give the guest the host's processor (QEMU: -cpu host)"),
      advice("on a processor without AVX use another machine or a build made without AVX")};
  return finding;
}

// -------------------------------------------------------------------------- no driver seen

// TensorFlow says so on every machine without a GPU, where it is right.
Verdict driver_library_seen(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "tensorflow.cuda-driver-missing");
  if (symptom == nullptr || has_event(machine, "tensorflow.gpu-created")) return NotApplicable{};
  const bool gpu = has_event(machine, "smi.gpu") || has_event(machine, "smi.header") ||
                   has_event(machine, "smi.list");
  if (!gpu) return Undecided{{{"nvidia-smi", ""}}};
  Finding finding;
  finding.statement = "TensorFlow does not find libcuda.so.1, although the driver is there";
  finding.evidence =
      cite({symptom, first_event(machine, "smi.header"), first_event(machine, "smi.list")});
  finding.cause =
      "the directory of the driver's libraries is not in the loader's search of this process";
  finding.fix = {
      user_step("ldconfig -p | grep libcuda.so.1", "is it in the loader's cache?", "nothing",
                "none needed"),
      root_step("sudo ldconfig", "writes the cache anew", "/etc/ld.so.cache", "none needed")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

// Said when nothing is wrong (diagnose/text.cpp takes it back beside an error): the line that
// proves it is the answer to a log full of red.
Verdict gpu_in_use(const Machine& machine, const Catalog&) {
  const auto* created = first_event(machine, "tensorflow.gpu-created");
  if (created == nullptr) return NotApplicable{};
  Finding finding;
  finding.severity = Severity::kInfo;
  finding.statement = "TensorFlow uses the GPU: GPU:" + value_of(*created, "index") + " is " +
                      std::string(trim(value_of(*created, "name")));
  finding.evidence = cite({created, first_event(machine, "work.training-progress")});
  finding.cause = "the device was created with its memory, which is what counts";
  return finding;
}

constexpr Rule kRules[] = {
    {"framework.cpu-too-old", "the processor has the instructions it is compiled for",
     processor_new_enough, Standing::kOwn},
    {"framework.plugin-version", "JAX's plugin and jaxlib are one version", plugin_fits,
     Standing::kOwn},
    {"framework.driver-library-not-found", "the framework finds libcuda.so.1", driver_library_seen},
    {"framework.libraries-missing", "every library that the framework opens is found",
     finds_its_libraries},
    {"framework.no-code-for-gpu", "the build has code for this GPU", no_code_at_all,
     Standing::kOwn},
    {"framework.only-ptx-for-gpu", "the build has machine code for this GPU", only_compiled_code,
     Standing::kOwn},
    {"framework.gpu-ignored", "TensorFlow uses every GPU it is shown", gpu_not_ignored,
     Standing::kAdvice},
    {"framework.cudnn-too-old", "cuDNN is not older than the build's", cudnn_new_enough,
     Standing::kOwn},
    {"framework.cudnn-fails", "cuDNN starts", cudnn_starts},
    {"framework.libdevice-missing", "XLA finds libdevice", libdevice_found, Standing::kOwn},
    {"framework.ptxas-missing", "XLA finds ptxas", ptxas_found, Standing::kAdvice},
    {"framework.memory-preallocated", "memory is taken as it is needed", memory_as_designed,
     Standing::kAdvice},
    {"framework.gpu-in-use", "the GPU is in use", gpu_in_use, Standing::kAdvice},
};

}  // namespace

std::span<const Rule> log_framework_rules() { return kRules; }

}  // namespace gpuwright
