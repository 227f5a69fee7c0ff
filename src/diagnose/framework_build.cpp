#include "diagnose/framework_build.h"

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/packages.h"

namespace gpuwright {
namespace {

bool is_arm(const Machine& machine) { return machine.host.architecture.is("aarch64"); }

// Every driver from 580 on runs both; 12 serves the older ones too.
std::string jax_extra(const Machine& machine, const Catalog& catalog) {
  const auto& driver = machine.driver.user_space_version;
  const auto cuda = driver.is_known() ? catalog.cuda_of_driver(*driver) : std::nullopt;
  return cuda && cuda->major_part() >= 13 ? "cuda13" : "cuda12";
}

// The release without "+cpu": the build for the GPU bears the same number. A nightly build of a day
// is gone from the index soon.
std::string pinned(const Framework& framework) {
  if (!framework.version.is_known()) return "";
  const auto text = framework.version->text();
  if (text.find("dev") != std::string::npos) return "";
  return "==" + text.substr(0, text.find('+'));
}

// The extra that brings the libraries came with 2.14.
std::string tensorflow_requirement(const Framework& framework) {
  const bool nightly = framework.distribution.starts_with("tf-nightly");
  const bool extra = !framework.version.is_known() || *framework.version >= Version::of("2.14");
  return std::string(nightly ? "tf-nightly" : "tensorflow") + (extra ? "[and-cuda]" : "") +
         pinned(framework);
}

// conda shows the GPU to its solver as the virtual package __cuda, which a login node or a
// container build does not have.
std::string conda_command(const Machine& machine, const Framework& framework) {
  const auto nodes = machine.driver.nodes;
  const bool hidden = nodes.is_known() && nodes->empty();
  const std::string before = hidden ? "CONDA_OVERRIDE_CUDA=12.8 " : "";
  const std::string package = framework.name == "tensorflow" ? "'tensorflow=*=cuda*'"
                              : framework.name == "torch"    ? "'pytorch=*=cuda*'"
                                                             : "'jaxlib=*=*cuda*' jax";
  return before + "conda install -c conda-forge " + package;
}

struct Way {
  std::string cause;
  std::vector<FixStep> fix;
};

Way way_of_conda(const Machine& machine, const Framework& framework) {
  return {"conda chose the variant '" + *framework.conda_build +
              "': the environment was solved where no GPU was to be seen (a login node, an image "
              "build), and it stays a CPU build for ever",
          {environment_step(conda_command(machine, framework), "install the GPU variant")}};
}

Way way_of_tensorflow(const Machine& machine, const Catalog& catalog, const Framework& framework) {
  const auto command = gpu_install_command(machine, catalog, framework);
  const auto& owner = framework.distribution;
  if (!owner.empty() && owner != "tensorflow" && owner != "tensorflow-gpu" && owner != "tf-nightly")
    return {"the package " + owner +
                " is the build for the CPU: by a requirement, an image or a "
                "habit it was asked for by that name",
            {environment_step(pip(machine) + " uninstall -y " + owner, "remove the CPU build"),
             environment_step(command, "install the GPU build")}};
  if (is_arm(machine))
    return {"on aarch64 the package index has TensorFlow for the CPU alone",
            {advice("use NVIDIA's TensorFlow container for Arm (SBSA or Jetson), or build "
                    "TensorFlow with CUDA")}};
  if (framework.version.is_known() && *framework.version < Version::of("2.1"))
    return {"before 2.1 'tensorflow' was the CPU build and 'tensorflow-gpu' the one with GPU code",
            {environment_step(pip(machine) + " uninstall -y tensorflow", "remove the CPU build"),
             environment_step(pip(machine) + " install tensorflow-gpu" + pinned(framework),
                              "install the GPU build")}};
  return {"a build of one's own or of another index, configured without CUDA",
          {environment_step(
               pip(machine) + " install --force-reinstall --no-deps tensorflow" + pinned(framework),
               "the build with GPU code of the same release"),
           environment_step(command, "and the libraries that it opens")}};
}

Way way_of_torch(const Machine& machine, const Catalog& catalog, const Framework& framework) {
  const auto command = gpu_install_command(machine, catalog, framework);
  const bool marked = framework.variant.is("cpu") ||
                      (framework.version.is_known() && framework.version->text().ends_with("+cpu"));
  if (is_arm(machine) && !marked)
    return {
        "on aarch64 the package index has had PyTorch for the CPU alone in many releases",
        {advice("install torch from PyTorch's own index of CUDA builds (choose Linux, pip, CUDA "
                "on its start page), or use NVIDIA's PyTorch container")}};
  return {
      marked ? "the '+cpu' in its version is the mark of PyTorch's index of CPU builds, which an "
               "--index-url or a lock file names"
             : "a package or index for CPU builds was chosen, or a resolver fell back to one",
      {environment_step(command, "the build with CUDA of the same release, from the plain index"),
       advice("take the index of CPU builds out of requirements, lock files and pip.conf, or it "
              "comes back")}};
}

Way way_of(const Machine& machine, const Catalog& catalog, const Framework& framework) {
  if (framework.conda_build.is_known()) return way_of_conda(machine, framework);
  if (framework.name == "tensorflow") return way_of_tensorflow(machine, catalog, framework);
  if (framework.name == "torch") return way_of_torch(machine, catalog, framework);
  return {
      "'jax' installs the CPU part; the GPU part is the package jax-cuda12-plugin or "
      "jax-cuda13-plugin, which the extras [cuda12] and [cuda13] bring",
      {environment_step(gpu_install_command(machine, catalog, framework),
                        "adds the plugin and NVIDIA's libraries to this JAX")}};
}

std::string statement_of(const Framework& framework) {
  const auto build = framework.build.value_or("cpu");
  if (framework.name == "jax" && build == "cpu")
    return title(framework) +
           " has no CUDA plugin in this environment: jaxlib alone is a CPU build";
  return title(framework) + " is a build for " +
         (build == "cpu" ? std::string("the CPU alone") : build + ", not for NVIDIA GPUs");
}

}  // namespace

std::string gpu_install_command(const Machine& machine, const Catalog& catalog,
                                const Framework& framework) {
  // In older snapshots a framework of a conda environment is taken to be conda's.
  if (is_conda_build(machine, framework)) return conda_command(machine, framework);
  if (framework.name == "tensorflow")
    return pip(machine) + " install '" + tensorflow_requirement(framework) + "'";
  if (framework.name == "torch")
    return pip(machine) + " install --force-reinstall torch" + pinned(framework);
  return pip(machine) + " install 'jax[" + jax_extra(machine, catalog) + "]" + pinned(framework) +
         "'";
}

// The usual ways: `tensorflow-cpu` or a torch "+cpu" build by requirement or index, JAX without the
// plugin package, conda-forge solved on a login node where no GPU was to be seen.
Verdict build_has_gpu_code(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.build.is_unknown()) return Undecided{{cite("build", framework.build)}};
    if (framework.build.is("cuda")) return Fine{};
    auto way = way_of(machine, catalog, framework);
    Finding finding;
    finding.statement = statement_of(framework);
    finding.evidence = {cite("build", framework.build)};
    if (framework.conda_build.is_known())
      finding.evidence.push_back(cite("conda build", framework.conda_build));
    if (!framework.distribution.empty())
      finding.evidence.push_back({"distribution " + framework.distribution, framework.location});
    finding.cause = std::move(way.cause);
    finding.fix = std::move(way.fix);
    return finding;
  });
}

}  // namespace gpuwright
