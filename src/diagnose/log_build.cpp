#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"

// A framework without GPU code on a machine with a GPU, and the way in which it came: a wheel for
// the CPU, conda's variant for machines without a GPU, an index that has nothing else for this
// processor.

namespace gpuwright {
namespace {

FixStep package_step(std::string command, std::string text) {
  return user_step(std::move(command), std::move(text), "packages of this environment",
                   "install the versions that pip list shows now");
}

// A build for the CPU is no fault where nobody looks for a GPU.
const Event* wish_for_gpu(const Machine& machine) {
  for (const auto* id :
       {"torch.not-compiled-with-cuda", "tensorflow.not-built-with-cuda", "torch.cuda-unavailable",
        "torch.no-gpus", "smi.list", "smi.gpu", "smi.header", "jax.no-gpu-fallback"})
    if (const auto* event = first_event(machine, id)) return event;
  return nullptr;
}

// Build strings of conda: "cpu_py39h9c1fa4f_1", "cpu_generic_py312...", "py3.10_cpu_0".
bool is_cpu_build(const std::string& build) {
  return build.starts_with("cpu") || build.find("_cpu") != std::string::npos;
}

const Event* conda_cpu_package(const Machine& machine) {
  for (const auto* event : events_of(machine, "package")) {
    const auto name = lower(value_of(*event, "name"));
    const bool framework = name.starts_with("tensorflow") || name == "pytorch" || name == "jaxlib";
    if (framework && is_cpu_build(value_of(*event, "build"))) return event;
  }
  return nullptr;
}

Finding conda_variant(const Event& package, const Machine& machine) {
  const auto* list = first_event(machine, "conda.virtual-packages");
  const bool blind = list != nullptr && !has_event(machine, "conda.virtual-cuda");
  Finding finding;
  finding.statement = "conda chose the build for the CPU: " + value_of(package, "name") + " " +
                      value_of(package, "version") + " " + value_of(package, "build");
  finding.evidence = cite({&package, list, wish_for_gpu(machine)});
  finding.cause = std::string(blind ? "conda saw no __cuda virtual package, because " : "") +
                  "the environment was solved where no driver is (an image build, a login node)";
  if (!blind) finding.cause += ", or another package kept the GPU build out; conda's __cuda tells";
  const auto name = value_of(package, "name");
  finding.fix = {user_step(
      "CONDA_OVERRIDE_CUDA=12.4 conda install -c conda-forge '" +
          (name.starts_with("tensorflow") ? std::string("tensorflow") : name) + "=*=cuda*'",
      "solve as if the driver were there; name the CUDA of the machine that runs it",
      "packages of this environment", "conda install --revision 0")};
  return finding;
}

Finding wheel_for_cpu(const Event& version, const Machine& machine) {
  const auto* architecture = first_event(machine, "host.architecture");
  const auto* wheel = event_saying(machine, "pip.downloads-wheel", "aarch64");
  const bool arm =
      wheel != nullptr || (architecture != nullptr && value_of(*architecture, "name") == "aarch64");
  Finding finding;
  finding.statement = "torch " + value_of(version, "version") + " is a build for the CPU alone";
  if (arm) finding.statement += ", which is what the plain index has for aarch64";
  finding.evidence = cite({&version, architecture, wheel, wish_for_gpu(machine)});
  finding.cause =
      arm ? "for aarch64 wheels with CUDA are in PyTorch's own index only"
          : "an index or a requirement for CPU builds was chosen, or a resolver fell back";
  finding.fix = {
      package_step("python -m pip install --force-reinstall torch --index-url "
                   "https://download.pytorch.org/whl/cu128",
                   "the build with CUDA (cu126 for older GPUs and drivers)")};
  return finding;
}

Finding told_by_framework(const Event& symptom) {
  const bool jax = symptom.id.starts_with("jax");
  const bool torch = symptom.id.starts_with("torch");
  Finding finding;
  finding.statement = std::string(jax     ? "jaxlib"
                                  : torch ? "this PyTorch"
                                          : "this TensorFlow") +
                      " is a build without CUDA";
  finding.evidence = cite({&symptom});
  finding.cause = jax ? "'jax' alone is for the CPU; the GPU part comes with an extra"
                      : "a package or an index for CPU builds was chosen";
  finding.fix = {package_step(jax     ? "python -m pip install --upgrade 'jax[cuda12]'"
                              : torch ? "python -m pip install --force-reinstall torch --index-url "
                                        "https://download.pytorch.org/whl/cu128"
                                      : "python -m pip install 'tensorflow[and-cuda]'",
                              "the build with CUDA")};
  return finding;
}

// The older message says that no GPU was found and not why.
Verdict jax_has_a_plugin(const Machine& machine) {
  const auto* symptom = first_event(machine, "jax.no-gpu-fallback");
  if (symptom == nullptr) return NotApplicable{};
  if (symptom->text.find("CUDA-enabled jaxlib is not installed") != std::string::npos)
    return told_by_framework(*symptom);
  const auto* jaxlib = package_event(machine, "jaxlib");
  if (jaxlib == nullptr) return Undecided{{{"pip list | grep -i jax; nvidia-smi", ""}}};
  const bool plugin = package_event(machine, "jax-cuda12-plugin") != nullptr ||
                      package_event(machine, "jax-cuda13-plugin") != nullptr ||
                      package_version(machine, "jaxlib").find("cuda") != std::string::npos;
  if (plugin) return Undecided{{{"JAX_PLATFORMS=cuda python -c 'import jax; jax.devices()'", ""}}};
  auto finding = told_by_framework(*symptom);
  finding.evidence.push_back(cite(*jaxlib));
  finding.certainty = Certainty::kLikely;
  return finding;
}

Verdict has_gpu_code(const Machine& machine, const Catalog&) {
  if (wish_for_gpu(machine) == nullptr) return NotApplicable{};
  if (const auto* package = conda_cpu_package(machine)) return conda_variant(*package, machine);
  if (const auto* version = first_event(machine, "torch.cpu-version"))
    return wheel_for_cpu(*version, machine);
  for (const auto* id : {"torch.not-compiled-with-cuda", "tensorflow.not-built-with-cuda"})
    if (const auto* event = first_event(machine, id)) return told_by_framework(*event);
  return jax_has_a_plugin(machine);
}

constexpr Rule kRules[] = {
    {"framework.cpu-build", "the build has code for NVIDIA GPUs", has_gpu_code, Standing::kOwn},
};

}  // namespace

std::span<const Rule> log_build_rules() { return kRules; }

}  // namespace gpuwright
