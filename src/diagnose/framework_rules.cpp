#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/framework.h"
#include "diagnose/framework_build.h"
#include "diagnose/framework_import.h"
#include "diagnose/framework_rule.h"
#include "diagnose/library_file.h"

// Rules of the framework rung: what keeps one framework from the GPU although the rungs below are
// right. Rows in the order of the judgement table (docs/judgement.md).

namespace gpuwright {
namespace {

// ------------------------------------------------------------------- build and import

Verdict one_owner(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.owners.size() < 2) return Fine{};
    Finding finding;
    finding.severity = Severity::kWarning;
    finding.statement = join(framework.owners, " and ") + " both write " + framework.location +
                        ": the one installed last overwrote files of the other";
    finding.evidence = {{"distributions " + join(framework.owners, ", "), framework.location}};
    finding.cause =
        "two variants of one framework are installed side by side, often one of them "
        "as the dependency of another package";
    finding.fix = {
        environment_step(pip(machine) + " uninstall -y " + join(framework.owners, " "),
                         "remove all of them"),
        environment_step(gpu_install_command(machine, catalog, framework), "install one again")};
    return finding;
  });
}

Verdict plugin_fits(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.name != "jax" || !framework.plugin.is_known()) return NotApplicable{};
    if (!framework.core_version.is_known())
      return Undecided{{cite("jaxlib", framework.core_version)}};
    if (!framework.plugin_version.is_known())
      return Undecided{{cite("JAX plugin version", framework.plugin_version)}};
    if (*framework.plugin_version == *framework.core_version) return Fine{};
    Finding finding;
    finding.statement = "the JAX plugin is version " + framework.plugin_version->text() +
                        " and jaxlib " + framework.core_version->text() +
                        ": JAX uses a plugin of its own version alone";
    finding.evidence = {cite("plugin", framework.plugin_version),
                        cite("jaxlib", framework.core_version)};
    finding.cause = "jax or jaxlib was upgraded without the plugin, or the reverse";
    const auto major = framework.build_cuda.is_known() ? framework.build_cuda->major_part() : 12;
    finding.fix = {environment_step(
        pip(machine) + " install --upgrade 'jax[cuda" + std::to_string(major) + "]'",
        "brings all parts to one version")};
    return finding;
  });
}

// -------------------------------------------------------------------------- visibility

// Launchers (Slurm without --gres, Ray with num_gpus=0), notebooks and shell profiles set it. One
// finding for all frameworks: the variable is the machine's, and the driver reads it.
Verdict devices_visible(const Machine& machine, const Catalog&) {
  const bool any = std::any_of(machine.frameworks.begin(), machine.frameworks.end(),
                               [](const auto& framework) { return framework.build.is("cuda"); });
  if (!any) return NotApplicable{};
  const auto value = variable(machine, "CUDA_VISIBLE_DEVICES");
  if (!value) return Fine{};
  const auto visible = visible_gpus(machine);
  if (visible.state == VisibleDevices::State::kUnknown)
    return Undecided{{{visible.reason, "environment"}}};
  if (visible.state != VisibleDevices::State::kNone) return Fine{};
  const auto count = reachable_gpus(machine).gpus.size();
  Finding finding;
  finding.statement = visible.reason;
  finding.evidence = {{"CUDA_VISIBLE_DEVICES='" + printable(*value) + "'", "environment"},
                      {std::to_string(count) + (count == 1 ? " GPU" : " GPUs") + " reachable",
                       machine.driver.nodes.source()}};
  finding.cause = "a launcher, a profile or an earlier experiment set the variable";
  finding.fix = {shell_step("unset CUDA_VISIBLE_DEVICES", "makes all GPUs visible again")};
  return finding;
}

Verdict platform_free(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.name != "jax") return NotApplicable{};
    for (const auto* name : {"JAX_PLATFORMS", "JAX_PLATFORM_NAME"}) {
      const auto value = variable(machine, name);
      if (!value || trim(*value).empty()) continue;
      const auto platforms = split(*value, ',');
      const bool gpu = std::any_of(platforms.begin(), platforms.end(), [](auto platform) {
        const auto text = trim(platform);
        return text == "cuda" || text == "gpu";
      });
      if (gpu) continue;
      Finding finding;
      finding.statement = std::string(name) + "='" + printable(*value) + "' keeps JAX off the GPU";
      finding.evidence = {{std::string(name) + "='" + printable(*value) + "'", "environment"}};
      finding.cause = "the variable names the platforms JAX may use, and cuda is not among them";
      finding.fix = {shell_step(std::string("unset ") + name, "lets JAX choose")};
      return finding;
    }
    return Fine{};
  });
}

// ------------------------------------------------------------------------------ driver

const ResolvedLibrary* library_of(const Framework& framework, std::string_view role) {
  const auto it = std::find_if(framework.libraries.begin(), framework.libraries.end(),
                               [&](const auto& library) { return library.role == role; });
  return it == framework.libraries.end() ? nullptr : &*it;
}

// A plain program finds libcuda.so.1 and this framework's opener does not: a private glibc, a conda
// python whose search never reaches the system's cache, NixOS.
Verdict opener_finds_driver(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto* driver = library_of(framework, "driver");
    if (driver == nullptr) return NotApplicable{};
    if (driver->state == "found") return Fine{};
    if (driver->state == "unknown")
      return Undecided{{{"libcuda.so.1: " + driver->error, driver->opener}}};
    Finding finding;
    finding.statement =
        title(framework) + " does not find libcuda.so.1: " + printable(driver->error);
    finding.evidence = {
        {printable(driver->error), driver->opener},
        cite("driver library of a plain program", machine.driver.user_space_version)};
    finding.cause = "the search of " + driver->opener + " does not reach the driver's directory";
    std::string directory = "/usr/lib/x86_64-linux-gnu";
    if (machine.driver.libraries.is_known())
      for (const auto& library : *machine.driver.libraries)
        if (library.name == "libcuda.so.1" && library.chosen)
          directory = path_directory(library.path);
    finding.fix = {
        shell_step("export LD_LIBRARY_PATH=" + directory + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
                   "adds the driver's directory to the search")};
    return finding;
  });
}

bool comparable_driver(const Machine& machine, const ResolvedLibrary& driver) {
  return driver.state == "found" && machine.driver.module_version.is_known() &&
         driver.real_path.find("/compat/") == std::string::npos && !machine.host.wsl.is_known();
}

// The machine-wide rule looks at what a plain program loads; a framework's own search may end in
// another copy (a conda package, a leftover directory in LD_LIBRARY_PATH).
Verdict opener_driver_fits(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto* driver = library_of(framework, "driver");
    if (driver == nullptr || !comparable_driver(machine, *driver)) return NotApplicable{};
    const bool stub = driver->real_path.find("/stubs/") != std::string::npos;
    if (!stub && !driver->version.is_known())
      return Undecided{{cite("version of libcuda.so.1", driver->version)}};
    if (!stub && *driver->version == *machine.driver.module_version) return Fine{};
    Finding finding;
    finding.statement = title(framework) + " loads " + (stub ? "a stub " : "") + "libcuda.so.1" +
                        (stub ? "" : " " + driver->version->text()) + " (" + driver->real_path +
                        ") while the loaded module is " + machine.driver.module_version->text();
    finding.evidence = {{driver->real_path + ", by " + driver->rule, driver->opener},
                        cite("loaded module", machine.driver.module_version)};
    finding.cause = stub ? "a stubs directory, meant for linking, is on the search path"
                         : "another copy of the driver's library comes first in this search";
    finding.fix = {
        shell_step("unset LD_LIBRARY_PATH", "if the copy comes from there (see the rule above)")};
    return finding;
  });
}

Verdict driver_new_enough(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (!framework.build.is("cuda")) return NotApplicable{};
    const auto cuda = cuda_of_build(framework, catalog);
    if (!cuda) return Undecided{{cite("CUDA of the build", framework.build_cuda)}};
    const auto* library = library_of(framework, "driver");
    const bool compat =
        library != nullptr && library->real_path.find("/compat/") != std::string::npos;
    const auto& driver = compat ? library->version : machine.driver.user_space_version;
    if (machine.host.wsl.is_known()) return NotApplicable{};
    if (!driver.is_known()) return Undecided{{cite("driver version", driver)}};
    const auto floor = catalog.driver_floor(*cuda);
    if (!floor) return Undecided{{{"lowest driver for CUDA " + cuda->text(), "catalogue"}}};
    if (*driver >= *floor) return Fine{};
    const auto offered = catalog.cuda_of_driver(*driver);
    Finding finding;
    finding.statement = title(framework) + " is built with CUDA " + cuda->text() +
                        ", which needs driver " + floor->text() + " or newer; this machine has " +
                        driver->text() + (offered ? " (up to CUDA " + offered->text() + ")" : "");
    finding.evidence = {
        cite("driver", driver),
        {"CUDA of the build: " + cuda->text(),
         framework.build_cuda.is_known() ? framework.build_cuda.source() : "catalogue"}};
    finding.cause = "the package index offers the newest build, whatever the driver";
    finding.fix = {
        {.command = "",
         .text = "upgrade the driver to " + floor->text() +
                 " or newer with the distribution's package manager, then restart the machine",
         .needs_root = true,
         .changes = "the driver of the whole machine",
         .undo = "install the former driver package again"},
        {.command = "",
         .text = "or install a build of " + framework.name + " for CUDA " +
                 (offered ? std::to_string(offered->major_part()) : "of this driver") +
                 ".x in this environment",
         .needs_root = false,
         .changes = "packages of this Python environment",
         .undo = "install the former version again"}};
    return finding;
  });
}

// XLA since 2025-10 gives up silently when nvmlInit fails. Containers started with the capability
// `compute` and without `utility` have no libnvidia-ml.so.1.
Verdict nvml_found(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto* nvml = library_of(framework, "nvml");
    if (nvml == nullptr) return NotApplicable{};
    if (nvml->state == "found") return Fine{};
    if (nvml->state == "unknown")
      return Undecided{{{"libnvidia-ml.so.1: " + nvml->error, nvml->opener}}};
    Finding finding;
    finding.statement = title(framework) +
                        " needs libnvidia-ml.so.1 to see a GPU and does not find it; "
                        "it prints nothing about that";
    finding.evidence = {{printable(nvml->error), nvml->opener}};
    finding.cause =
        machine.host.container.is_known()
            ? "the container was started without the driver capability 'utility'"
            : "the driver's management library is not installed or not on the search path";
    finding.fix = {
        {.command =
             machine.host.container.is_known()
                 ? "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"
                 : "",
         .text = machine.host.container.is_known()
                     ? "start the container again with both capabilities"
                     : "install the driver's library package that has libnvidia-ml.so.1",
         .needs_root = true,
         .changes = "driver libraries that are visible here",
         .undo = "start it as before"}};
    return finding;
  });
}

// --------------------------------------------------------------------------- libraries

std::string log_hint(const Framework& framework, const Catalog& catalog) {
  if (framework.name != "tensorflow" || !framework.version.is_known()) return "";
  const auto release = catalog.tensorflow(*framework.version);
  if (release && release->missing_library_log != MissingLibraryLog::kVerboseOnly) return "";
  return "; its log says 'Cannot dlopen some GPU libraries' and does not name them";
}

// The newest release whose own search reaches all of its wheels.
std::optional<Version> release_that_finds(const Catalog& catalog) {
  for (auto minor = catalog.newest_tensorflow().minor_part(); minor >= 14; --minor) {
    const auto release = catalog.tensorflow(Version::of("2." + std::to_string(minor)));
    if (release && release->finds_wheels) return release->version;
  }
  return std::nullopt;
}

std::vector<FixStep> fix_of_missing(const Machine& machine, const Catalog& catalog,
                                    const Framework& framework,
                                    const std::vector<const ResolvedLibrary*>& missing) {
  std::vector<std::string> directories;
  bool all_elsewhere = true;
  for (const auto* library : missing) {
    all_elsewhere = all_elsewhere && !library->elsewhere.empty();
    if (library->elsewhere.empty()) continue;
    const auto directory = path_directory(library->elsewhere.front());
    if (std::find(directories.begin(), directories.end(), directory) == directories.end())
      directories.push_back(directory);
  }
  std::vector<FixStep> fix;
  if (all_elsewhere && !directories.empty()) {
    fix.push_back(shell_step("export LD_LIBRARY_PATH=" + join(directories, ":") +
                                 "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
                             "adds the directories that this release does not search"));
    const auto release = release_that_finds(catalog);
    if (framework.name == "tensorflow" && release && framework.version.is_known() &&
        !framework.version->same_series(*release, 2))
      fix.push_back(environment_step(
          pip(machine) + " install 'tensorflow[and-cuda]==" + release->text() + ".*'",
          "or: a release that finds its own wheels"));
    return fix;
  }
  fix.push_back(environment_step(gpu_install_command(machine, catalog, framework),
                                 "brings the libraries of this release as wheels"));
  return fix;
}

Verdict required_found(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    std::vector<const ResolvedLibrary*> missing;
    std::vector<Evidence> unknown;
    bool any = false;
    for (const auto& library : framework.libraries) {
      if (library.role != "required") continue;
      any = true;
      if (library.state == "unknown")
        unknown.push_back({library.name + ": " + library.error, library.opener});
      else if (library.state != "found" && !bad_file(machine, library) &&
               !lost_path(machine, library))
        missing.push_back(&library);  // A bad file and a lost path have rules of their own.
    }
    if (missing.empty() && !unknown.empty()) return Undecided{unknown};
    if (missing.empty()) return any ? Verdict(Fine{}) : Verdict(NotApplicable{});
    std::vector<std::string> names;
    Finding finding;
    std::size_t elsewhere = 0;
    for (const auto* library : missing) {
      names.push_back(library->name);
      finding.evidence.push_back({printable(library->error), library->opener});
      elsewhere += library->elsewhere.empty() ? 0 : 1;
      for (const auto& copy : library->elsewhere)
        finding.evidence.push_back({"a copy that this search does not reach", copy});
    }
    finding.statement = title(framework) + " does not find " + join(names, ", ") +
                        ": one missing library and it uses no GPU at all" +
                        log_hint(framework, catalog);
    finding.cause = elsewhere == missing.size()
                        ? "the wheels are installed, but the search path built into " +
                              std::string(path_name(framework.opener.value_or("the framework"))) +
                              " leaves out their directory"
                        : "the NVIDIA libraries are not installed where this framework looks; pip "
                          "installs them only with the CUDA extra";
    finding.fix = fix_of_missing(machine, catalog, framework, missing);
    return finding;
  });
}

// --------------------------------------------------------------------------- cuDNN

// TensorFlow and XLA compare at the first use: same major, and a minor not below the build's.
Verdict cudnn_new_enough(const Machine& machine, const Catalog& catalog) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    const auto built = cudnn_of_build(machine, catalog, framework);
    if (!built || built->size() < 2) return NotApplicable{};
    const auto it = std::find_if(
        framework.libraries.begin(), framework.libraries.end(), [](const auto& library) {
          return library.state == "found" && library.name.starts_with("libcudnn.so");
        });
    if (it == framework.libraries.end()) return NotApplicable{};
    // PyTorch links cuDNN and runs with an older one, as far as that goes.
    const bool torch = framework.name == "torch";
    if (!it->version.is_known() && torch) return NotApplicable{};
    if (!it->version.is_known()) return Undecided{{cite("version of cuDNN", it->version)}};
    const bool same = it->version->major_part() == built->major_part();
    if ((same && it->version->minor_part() >= built->minor_part()) || (torch && !same))
      return Fine{};
    Finding finding;
    finding.severity = torch ? Severity::kWarning : Severity::kError;
    finding.statement = title(framework) + " was built with cuDNN " + built->text() +
                        " and loads " + it->version->text() + " (" + it->real_path + "): " +
                        (torch ? "torch.backends.cudnn raises 'cuDNN version incompatibility'"
                               : "convolutions fail");
    finding.evidence = {cite("cuDNN that is loaded", it->version),
                        {"found by " + it->rule, it->opener}};
    finding.cause = "an older cuDNN comes first in the search, or a package pinned an older one";
    finding.fix = {environment_step(
        pip(machine) + " install --upgrade 'nvidia-cudnn-cu" +
            (framework.build_cuda.is_known() ? std::to_string(framework.build_cuda->major_part())
                                             : "12") +
            ">=" + built->text() + "'",
        "a cuDNN at least as new as the build's")};
    return finding;
  });
}

// -------------------------------------------------------------------------- settings

// 2.18 to 2.20 log through absl and do not tell it about the variable (seen on 2.18.1, 2.19.1 and
// 2.20.0; 2.16.1 and 2.21.0 obey).
bool obeys_log_level(const Framework& framework) {
  if (!framework.version.is_known()) return true;
  return *framework.version < Version::of("2.18") || *framework.version >= Version::of("2.21");
}

Verdict log_level_speaks(const Machine& machine, const Catalog&) {
  return each_framework(machine, [&](const Framework& framework) -> Verdict {
    if (framework.name != "tensorflow" || !obeys_log_level(framework)) return NotApplicable{};
    const auto value = variable(machine, "TF_CPP_MIN_LOG_LEVEL");
    if (!value || parse_unsigned(trim(*value)).value_or(0) < 2) return Fine{};
    Finding finding;
    finding.severity = Severity::kInfo;
    finding.statement = "TF_CPP_MIN_LOG_LEVEL=" + printable(*value) +
                        " hides TensorFlow's warnings, also the one that says why no GPU is used";
    finding.evidence = {{"TF_CPP_MIN_LOG_LEVEL='" + printable(*value) + "'", "environment"}};
    finding.cause = "the variable was set to keep the log short";
    finding.fix = {shell_step("unset TF_CPP_MIN_LOG_LEVEL", "shows the warnings again")};
    return finding;
  });
}

constexpr Rule kRules[] = {
    {"framework.cpu-build", "the build has code for NVIDIA GPUs", build_has_gpu_code,
     Standing::kOwn},
    {"framework.two-owners", "one distribution owns the framework's files", one_owner,
     Standing::kAdvice},
    {"framework.import-fails", "all objects that the import loads can be loaded", import_works,
     Standing::kOwn},
    {"framework.plugin-version", "JAX's plugin and jaxlib are one version", plugin_fits,
     Standing::kOwn},
    {"framework.devices-hidden", "CUDA_VISIBLE_DEVICES leaves a GPU", devices_visible,
     Standing::kOwn},
    {"framework.platform-forced", "no variable keeps JAX off the GPU", platform_free,
     Standing::kOwn},
    {"framework.driver-library-not-found", "the opener's search reaches libcuda.so.1",
     opener_finds_driver, Standing::kLink},
    {"framework.driver-library-differs", "the libcuda.so.1 it loads is the loaded module's",
     opener_driver_fits, Standing::kLink},
    {"framework.driver-too-old", "the driver runs the CUDA of the build", driver_new_enough,
     Standing::kLink},
    {"framework.nvml-missing", "libnvidia-ml.so.1 is found where the GPU backend needs it",
     nvml_found, Standing::kLink},
    {"framework.libraries-missing", "every library it requires is found by its own search",
     required_found, Standing::kOwn},
    {"framework.cudnn-too-old", "cuDNN is not older than the build's", cudnn_new_enough,
     Standing::kOwn},
    {"framework.log-hidden", "TensorFlow's warnings are not hidden", log_level_speaks,
     Standing::kAdvice},
};

}  // namespace

std::span<const Rule> framework_rules() { return kRules; }

}  // namespace gpuwright
