#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"

// Packages with compiled code for one release of a framework, beside another release of it; and
// tools of XLA and parts of cuDNN that are of another version than their caller.

namespace gpuwright {
namespace {

FixStep package_step(std::string command, std::string text) {
  return user_step(std::move(command), std::move(text), "packages of this environment",
                   "install the versions that pip list shows now");
}

std::string name_in(const std::string& object) {
  for (const auto* name :
       {"tensorflow_text", "tensorflow_io", "tensorflow_addons", "tensorflow_decision_forests",
        "torchvision", "torchaudio", "torch_scatter", "torch_sparse", "torch_cluster", "flash_attn",
        "xformers", "bitsandbytes", "detectron2", "mmcv", "vllm", "apex"})
    if (object.find(name) != std::string::npos) return name;
  return "a compiled package";
}

Verdict companion_fits(const Machine& machine, const Catalog&) {
  const auto* symbol = first_event(machine, "companion.undefined-symbol");
  const auto* vision = first_event(machine, "companion.torchvision-operator");
  if (symbol == nullptr && vision == nullptr) return NotApplicable{};
  const auto name = symbol != nullptr ? name_in(value_of(*symbol, "object")) : "torchvision";
  const bool torch = !name.starts_with("tensorflow");
  const auto* framework = package_event(machine, torch ? "torch" : "tensorflow");
  Finding finding;
  finding.statement = name + " was compiled for another release of " +
                      (torch ? "PyTorch" : "TensorFlow") + " than the one installed" +
                      (framework == nullptr ? "" : " (" + value_of(*framework, "version") + ")");
  finding.evidence = cite({symbol, vision, framework, package_event(machine, name)});
  finding.cause = "one of the two was upgraded without the other; their compiled code has to match";
  const bool own = name == "torchvision" || name == "torchaudio";
  finding.fix = {
      own     ? package_step("python -m pip install --force-reinstall torch torchvision torchaudio",
                             "releases of one day, from one index")
      : torch ? package_step(
                    "python -m pip install --force-reinstall --no-cache-dir --no-build-isolation " +
                        name,
                    "build or fetch it for the PyTorch that is installed")
              : package_step(
                    "python -m pip install '" + name + "==<the first two numbers of TensorFlow>.*'",
                    "its release that has TensorFlow's number")};
  return finding;
}

Verdict addons_fit(const Machine& machine, const Catalog&) {
  const auto* range = first_event(machine, "companion.addons-range");
  if (range == nullptr) return NotApplicable{};
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.statement = "this tensorflow-addons is for TensorFlow from " + value_of(*range, "from") +
                      " to below " + value_of(*range, "to") + ", another one is installed";
  finding.evidence = cite({range, package_event(machine, "tensorflow")});
  finding.cause = "tensorflow-addons ended in May 2024 with 0.23 for TensorFlow 2.15";
  finding.fix = {
      package_step("python -m pip install 'tensorflow==2.15.*' 'tensorflow-addons==0.23.*'",
                   "the last pair"),
      advice("or do without: most of its parts have moved to Keras")};
  return finding;
}

Verdict keras_fits(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "keras.three-not-supported");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = "Keras 3 is installed, and the code asks for Keras 2";
  finding.evidence = cite({symptom, package_event(machine, "keras")});
  finding.cause = "TensorFlow 2.16 and later bring Keras 3; Keras 2 lives on as tf-keras";
  finding.fix = {package_step("python -m pip install tf-keras", "Keras 2 under its own name"),
                 user_step("export TF_USE_LEGACY_KERAS=1", "and tf.keras is Keras 2", "this shell",
                           "unset TF_USE_LEGACY_KERAS")};
  return finding;
}

Verdict typing_extensions_new(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "python.typing-extensions");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = "typing_extensions is too old: it has no " + value_of(*symptom, "name");
  finding.evidence = cite({symptom, package_event(machine, "typing-extensions")});
  finding.cause = "TensorFlow 2.13 and older hold typing_extensions below 4.6, others need newer";
  finding.fix = {
      package_step("python -m pip install --upgrade typing_extensions", "a newer one"),
      advice("where TensorFlow 2.13 or older is installed, give the other package an environment "
             "of its own")};
  return finding;
}

Verdict wheel_is_for_this_python(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "pip.unsupported-wheel");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = value_of(*symptom, "wheel") + " is not for this Python or system";
  finding.evidence = cite(
      {symptom, first_event(machine, "python.version"), first_event(machine, "host.architecture")});
  finding.cause =
      "the name tells for what: cp311 is Python 3.11, then the oldest glibc (manylinux_2_17) and "
      "the "
      "processor (x86_64, aarch64); an old pip does not know newer tags";
  finding.fix = {
      user_step("python -c 'import sys, platform; print(sys.version, platform.machine())'; "
                "python -m pip --version",
                "what is here", "nothing", "none needed"),
      package_step("python -m pip install --upgrade pip", "then by name instead of by file")};
  return finding;
}

Verdict conda_sees_cuda(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "conda.needs-virtual-cuda");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = "conda sees no driver here (no __cuda), and the package asks for one";
  finding.evidence = cite({symptom, first_event(machine, "conda.virtual-packages")});
  finding.cause = "the environment is solved where no driver is, or the driver is too old for it";
  finding.fix = {user_step("conda info | grep -A4 'virtual packages'; nvidia-smi",
                           "what conda sees", "nothing", "none needed"),
                 user_step("CONDA_OVERRIDE_CUDA=12.4 conda install ...",
                           "when the environment is for another machine: the CUDA of that one",
                           "packages of this environment", "conda install --revision 0")};
  finding.certainty = Certainty::kLikely;
  return finding;
}

Verdict cudnn_parts_load(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "cudnn.part-not-loaded");
  if (symptom == nullptr) return NotApplicable{};
  const auto error = value_of(*symptom, "error");
  const bool nvrtc = error.find("libnvrtc.so:") != std::string::npos;
  Finding finding;
  finding.statement = "cuDNN cannot load its part " + value_of(*symptom, "library") +
                      (nvrtc ? ", which wants a file named libnvrtc.so" : "");
  finding.evidence = cite({symptom});
  finding.cause =
      nvrtc ? "cuDNN 8 opens NVRTC under the name without a number, which wheels do not have"
            : "libcudnn.so opens its parts by name through the same search; they lie in another "
              "directory, are of another version, or are missing";
  if (nvrtc)
    finding.fix = {user_step(
        "cd $(python -c 'import nvidia.cuda_nvrtc as n; print(n.__path__[0])')/lib && "
        "ln -s libnvrtc.so.* libnvrtc.so && export LD_LIBRARY_PATH=$PWD:$LD_LIBRARY_PATH",
        "gives it that name", "one link beside the library", "rm libnvrtc.so in that directory")};
  else
    finding.fix = {package_step("python -m pip install --force-reinstall nvidia-cudnn-cu12",
                                "all parts of one release"),
                   user_step("gpuwright check --libraries", "shows from where each part comes",
                             "nothing", "none needed")};
  return finding;
}

Verdict ptxas_is_new_enough(const Machine& machine, const Catalog&) {
  const auto* symptom = first_event(machine, "xla.ptxas-too-old");
  if (symptom == nullptr) return NotApplicable{};
  Finding finding;
  finding.statement = "the ptxas that is found is older than the code it has to compile";
  if (const auto ptx = value_of(*symptom, "ptx"); !ptx.empty())
    finding.statement += " (PTX " + ptx + ", it knows up to " + value_of(*symptom, "current") + ")";
  finding.evidence = cite({symptom, first_event(machine, "toolkit.nvcc")});
  finding.cause = "an older CUDA toolkit comes first in PATH";
  finding.fix = {
      user_step("which -a ptxas; ptxas --version", "which one is it?", "nothing", "none needed"),
      package_step("python -m pip install --upgrade nvidia-cuda-nvcc-cu12",
                   "a newer one where XLA looks first"),
      user_step("export PATH=/usr/local/cuda/bin:$PATH", "or the newer toolkit first", "this shell",
                "close the shell")};
  return finding;
}

constexpr Rule kRules[] = {
    {"framework.companion-version", "packages with code for a framework are for this release of it",
     companion_fits, Standing::kOwn},
    {"framework.addons-version", "tensorflow-addons is for this TensorFlow", addons_fit,
     Standing::kAdvice},
    {"framework.keras-version", "Keras is of the line that the code uses", keras_fits,
     Standing::kOwn},
    {"python.typing-extensions-old", "typing_extensions has what is imported from it",
     typing_extensions_new, Standing::kOwn},
    {"python.wheel-of-other-python", "the wheel is for this Python and system",
     wheel_is_for_this_python, Standing::kOwn},
    {"python.conda-without-cuda", "conda sees the driver", conda_sees_cuda, Standing::kOwn},
    {"libraries.cudnn-part-missing", "cuDNN loads its parts", cudnn_parts_load, Standing::kOwn},
    {"framework.ptxas-too-old", "ptxas knows the PTX that it is given", ptxas_is_new_enough,
     Standing::kOwn},
};

}  // namespace

std::span<const Rule> log_companion_rules() { return kRules; }

}  // namespace gpuwright
