#include <algorithm>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework_requirements.h"
#include "diagnose/framework_rule.h"
#include "diagnose/packages.h"

// Packages around a framework: whose Python and processor they are made for, parts of one framework
// that do not fit each other, what goes with what.

namespace gpuwright {
namespace {

// ------------------------------------------------------------- Python and processor

// "3.11" of the tag "cp311-cp311-manylinux_2_17_x86_64"; empty for a wheel that fits several
// (abi3, py3).
std::string series_of_tag(std::string_view tag) {
  const auto parts = split(tag, '-');
  if (parts.size() < 3 || !parts[0].starts_with("cp") || !parts[1].starts_with("cp")) return "";
  const auto digits = parts[0].substr(2);
  if (digits.size() < 2 || !parse_unsigned(digits)) return "";
  return std::string(digits.substr(0, 1)) + "." + std::string(digits.substr(1));
}

// A compiled module is called for its Python (_C.cpython-311-x86_64-linux-gnu.so) and no other sees
// it. Such a package gets onto the path by PYTHONPATH, --target, or a copied environment.
Verdict made_for_this_python(const Machine& machine, const Catalog&) {
  const auto here = python_series(machine);
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto* owner = owner_of(machine, framework);
    if (owner == nullptr || here.empty()) return NotApplicable{};
    const auto made_for = series_of_tag(owner->tag);
    if (made_for.empty()) return NotApplicable{};
    if (made_for == here) return Fine{};
    Finding finding;
    finding.statement = owner->name + " " + owner->version + " is the build for Python " +
                        made_for + " and this is Python " + here +
                        ": its compiled part is not found";
    finding.evidence = {{"wheel tag " + owner->tag, owner->location},
                        cite("version of the interpreter", machine.python.interpreter->version)};
    finding.cause =
        "PYTHONPATH, 'pip --target' or a copied environment put the packages of another Python on "
        "the path";
    finding.fix = {environment_step(
                       pip(machine) + " install " + shell_word(owner->name + "==" + owner->version),
                       "installs the build for this Python, if there is one"),
                   shell_step("unset PYTHONPATH", "if the directory comes from there")};
    return finding;
  });
}

// The wheels of TensorFlow since 1.6 and of jaxlib are compiled with AVX. TensorFlow dies of SIGILL
// or by its own check, jaxlib raises at import.
bool needs_avx(const Machine& machine, const Framework& framework) {
  if (is_conda_build(machine, framework)) return false;
  if (framework.name == "jax") return true;
  return framework.name == "tensorflow" && framework.version.is_known() &&
         *framework.version >= Version::of("1.6");
}

FixStep processor_step(const Machine& machine) {
  if (machine.host.hypervisor.is_known())
    return advice(
        "give the virtual machine the host's processor (QEMU and Proxmox: CPU type 'host', "
        "libvirt: "
        "<cpu mode='host-passthrough'/>) and start it again");
  return advice(
      "use conda-forge's build, which asks for less of the processor, or another machine");
}

Verdict processor_new_enough(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto& features = machine.host.cpu_features;
    if (!machine.host.architecture.is("x86_64") || !features.is_known()) return NotApplicable{};
    if (!needs_avx(machine, framework)) return NotApplicable{};
    if (std::ranges::find(*features, "avx") != features->end()) return Fine{};
    Finding finding;
    finding.statement = title(framework) + " is compiled for processors with AVX, and this one (" +
                        machine.host.cpu_model.value_or("model unknown") +
                        ") does not offer it: the import dies with 'Illegal instruction'";
    finding.evidence = {cite("features of the processor", features),
                        cite("processor", machine.host.cpu_model)};
    finding.cause = machine.host.hypervisor.is_known()
                        ? "the virtual machine has a generic processor type that hides AVX"
                        : "the processor is older than 2011, or of a line without AVX";
    finding.fix = {processor_step(machine)};
    return finding;
  });
}

// ---------------------------------------------------------------------- parts of JAX

// jax compares at import and raises: not below its minimum, not above itself.
Verdict jaxlib_fits(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto* jax = installed(machine, "jax");
    if (framework.name != "jax" || jax == nullptr || !framework.core_version.is_known())
      return NotApplicable{};
    const auto& core = *framework.core_version;
    const auto asked = unmet(machine, *jax, "jaxlib", core);
    const bool newer = framework.version.is_known() && core > *framework.version;
    if (!asked && !newer) return Fine{};
    Finding finding;
    finding.statement = "jax " + jax->version + " and jaxlib " + core.text() +
                        " do not go together: the import raises RuntimeError";
    finding.evidence = {cite("jaxlib", framework.core_version), cite_package(*jax)};
    if (asked) finding.evidence.push_back(cite_requirement(*jax, *asked));
    finding.cause = "one of the two was installed or upgraded without the other";
    const bool plugin = framework.plugin.is_known();
    const auto major = framework.build_cuda.is_known() ? framework.build_cuda->major_part() : 12;
    const std::string extra = plugin ? "[cuda" + std::to_string(major) + "]" : "";
    finding.fix = {environment_step(
        pip(machine) + " install --upgrade " + shell_word("jax" + extra + "==" + jax->version),
        "brings jaxlib, and the plugin where there is one, to the version of jax")};
    return finding;
  });
}

// The plugin's package has the kernels, the pjrt package the runtime; pip pins one to the other.
Verdict pjrt_fits(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.name != "jax") return NotApplicable{};
    for (const std::string cuda : {"13", "12"}) {
      const auto* plugin = installed(machine, "jax-cuda" + cuda + "-plugin");
      const auto* pjrt = installed(machine, "jax-cuda" + cuda + "-pjrt");
      if (plugin == nullptr || pjrt == nullptr || plugin->version == pjrt->version) continue;
      Finding finding;
      finding.severity = Severity::kWarning;
      finding.statement = plugin->name + " is version " + plugin->version + " and " + pjrt->name +
                          " " + pjrt->version + ": kernels and runtime of two releases";
      finding.evidence = {cite_package(*plugin), cite_package(*pjrt)};
      finding.cause = "one of the two was upgraded without the other";
      finding.fix = {environment_step(
          pip(machine) + " install --upgrade " + shell_word("jax[cuda" + cuda + "]"),
          "brings all parts to one version")};
      return finding;
    }
    return Fine{};
  });
}

Verdict one_plugin(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.name != "jax") return NotApplicable{};
    const auto* older = installed(machine, "jax-cuda12-plugin");
    const auto* newer = installed(machine, "jax-cuda13-plugin");
    if (older == nullptr || newer == nullptr) return Fine{};
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.statement =
        "JAX has its plugins for CUDA 12 and for CUDA 13 side by side: it takes kernels from one "
        "and "
        "may start the other";
    finding.evidence = {cite_package(*older), cite_package(*newer)};
    finding.cause = "jax[cuda12] and jax[cuda13] were both installed, one after the other";
    finding.fix = {environment_step(
        pip(machine) + " uninstall -y jax-cuda12-plugin jax-cuda12-pjrt",
        "leaves that of CUDA 13 (driver 580 or newer); name the other two for an older driver")};
    return finding;
  });
}

// -------------------------------------------------------------------- pip over conda

// conda's record stays when pip writes over its files: conda believes in the old version, and its
// next command brings parts of that back.
Verdict pip_left_conda_alone(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const std::string package = framework.name == "torch"        ? "pytorch"
                                : framework.name == "tensorflow" ? "tensorflow-base"
                                                                 : "";
    const auto* record = package.empty() ? nullptr : installed(machine, package);
    if (record == nullptr || !record->location.ends_with("conda-meta")) return NotApplicable{};
    const auto recorded = version_of(*record);
    if (!recorded || !framework.version.is_known()) return NotApplicable{};
    if (recorded->same_series(*framework.version, 3)) return Fine{};
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.statement = "pip installed " + title(framework) + " over conda's " + record->name +
                        " " + record->version + ": what is there is a mixture of both";
    finding.evidence = {cite_package(*record), cite("version that is imported", framework.version)};
    finding.cause = "'pip install' in a conda environment that had the package from conda";
    finding.fix = {
        environment_step(pip(machine) + " uninstall -y " + framework.name,
                         "takes away pip's files, and those of conda's that they replaced"),
        environment_step("conda install --force-reinstall " + record->name,
                         "puts conda's files back; or make a new environment for pip's version")};
    return finding;
  });
}

// ------------------------------------------------------------- two in one process

const ResolvedLibrary* cudnn_of(const Framework& framework) {
  const auto found = std::ranges::find_if(framework.libraries, [](const auto& library) {
    return library.state == "found" && library.name.starts_with("libcudnn.so");
  });
  return found == framework.libraries.end() ? nullptr : &*found;
}

// A library that is mapped serves everyone who asks for its name later, so the framework that is
// imported first chooses cuDNN for both.
std::optional<Finding> clash_of(const Machine& machine, const Catalog& catalog,
                                const Framework& first, const Framework& second) {
  const auto* mapped = cudnn_of(first);
  const auto* own = cudnn_of(second);
  const auto needed = cudnn_of_build(machine, catalog, second);
  if (mapped == nullptr || own == nullptr || !needed || needed->size() < 2) return std::nullopt;
  if (mapped->name != own->name || mapped->real_path == own->real_path) return std::nullopt;
  if (!mapped->version.is_known() || !own->version.is_known()) return std::nullopt;
  const auto enough = [&](const Version& version) {
    return version.major_part() == needed->major_part() &&
           version.minor_part() >= needed->minor_part();
  };
  if (enough(*mapped->version) || !enough(*own->version)) return std::nullopt;
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.subject = label_of(second);
  finding.statement = "a program that imports " + title(first) + " before " + title(second) +
                      " runs both with cuDNN " + mapped->version->text() +
                      ", and the latter needs " + needed->text() + ": convolutions fail";
  finding.evidence = {
      {title(first) + " maps " + mapped->name + " " + mapped->version->text(), mapped->real_path},
      {title(second) + " would map " + own->version->text(), own->real_path}};
  finding.cause = "each framework finds a cuDNN of its own, and a process has one of a name";
  finding.fix = {advice("import " + second.name + " before " + first.name + " in the program"),
                 advice("or keep the two in environments of their own")};
  return finding;
}

Verdict libraries_agree(const Machine& machine, const Catalog& catalog) {
  if (machine.frameworks.size() < 2) return NotApplicable{};
  std::vector<Finding> findings;
  for (const auto& first : machine.frameworks)
    for (const auto& second : machine.frameworks)
      if (first.name != second.name)
        if (auto finding = clash_of(machine, catalog, first, second))
          findings.push_back(std::move(*finding));
  return findings.empty() ? Verdict(Fine{}) : Verdict(findings);
}

constexpr Rule kRules[] = {
    {"framework.wrong-python", "the compiled part is made for this Python", made_for_this_python,
     Standing::kOwn},
    {"framework.cpu-too-old", "the processor has the instructions it is compiled for",
     processor_new_enough, Standing::kOwn},
    {"framework.numpy-abi", "NumPy and what is compiled against it are of one side of NumPy 2",
     numpy_fits, Standing::kOwn},
    {"framework.dependency-version", "no package that the import needs is too old or too new",
     dependencies_fit, Standing::kOwn},
    {"framework.jaxlib-version", "jax and jaxlib go together", jaxlib_fits, Standing::kOwn},
    {"framework.pjrt-version", "JAX's plugin and its pjrt package are one version", pjrt_fits,
     Standing::kAdvice},
    {"framework.two-plugins", "JAX has the plugin of one CUDA", one_plugin, Standing::kAdvice},
    {"framework.keras-version", "Keras is of the line that this TensorFlow uses", keras_fits,
     Standing::kAdvice},
    {"framework.companion-version", "packages with code for a framework are for this release of it",
     companions_fit, Standing::kAdvice},
    {"framework.pip-over-conda", "pip did not write over conda's framework", pip_left_conda_alone,
     Standing::kAdvice},
    {"framework.libraries-clash", "frameworks of one environment can share a process",
     libraries_agree, Standing::kAdvice},
};

}  // namespace

std::span<const Rule> framework_package_rules() { return kRules; }

}  // namespace gpuwright
