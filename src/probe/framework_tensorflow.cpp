#include <array>

#include "base/text.h"
#include "probe/framework.h"
#include "probe/framework_compiler.h"
#include "probe/python_literal.h"

// TensorFlow opens its GPU libraries itself, by bare name, with one function that lies in one
// object of the wheel. `import tensorflow` opens the CUDA runtime; the first device query opens
// libcuda, then (2.21) NVML, then the whole required set, and one miss leaves no GPU at all.
// Sources: the release rows of catalog/tensorflow.toml, and the wheels themselves.

namespace gpuwright {
namespace {

// Any distribution that writes a tensorflow/ directory.
const std::vector<std::string> kOwnerNames = {
    "tensorflow",         "tensorflow-gpu",    "tensorflow-cpu",
    "tensorflow-intel",   "tensorflow-rocm",   "tensorflow-cpu-aws",
    "tf-nightly",         "tf-nightly-cpu",    "tf-nightly-gpu",
    "tensorflow-base",    "intel-tensorflow",  "tensorflow-macos",
    "tensorflow-aarch64", "nvidia-tensorflow", "intel-tensorflow-avx512"};

// Objects that have held the opener, in the order in which `import` maps them.
constexpr std::array kOpenerFiles = {
    "libtensorflow_framework.so.2", "libtensorflow_framework.so.1", "libtensorflow_cc.so.2",
    "python/lib_pywrap_tensorflow_common.so", "python/_pywrap_tensorflow_internal.so"};

// Names of the function that calls dlopen, newest first: tsl since 2.11, LoadLibrary before 2.4.
constexpr std::array kOpenerSymbols = {"_ZN3tsl8internal18LoadDynamicLibraryEPKcPPv",
                                       "_ZN3tsl8internal11LoadLibraryEPKcPPv",
                                       "_ZN10tensorflow8internal18LoadDynamicLibraryEPKcPPv",
                                       "_ZN10tensorflow8internal11LoadLibraryEPKcPPv"};

std::optional<std::string> find_opener(const System& system, const std::string& package) {
  for (const auto* name : kOpenerFiles) {
    const auto path = path_join(package, name);
    const auto file = system.open(path);
    if (!file) continue;
    for (const auto* symbol : kOpenerSymbols)
      if (loader::defines_symbol(**file, symbol).value_or(false)) return path;
  }
  return std::nullopt;
}

void read_build_info(const System& system, const std::string& package, Framework& framework) {
  const auto path = path_join(package, "python/platform/build_info.py");
  const auto text = system.read(path, 1 << 16);
  if (!text) {
    framework.build = Fact<std::string>::unknown(path, text.error().message);
    return;
  }
  const auto cuda = keyed_value(*text, "is_cuda_build");
  // Before 2.3 the file had plain assignments.
  const auto old_cuda = cuda ? cuda : assigned_value(*text, "is_cuda_build");
  if (keyed_value(*text, "is_rocm_build") == "True") {
    framework.build = Fact<std::string>::known("rocm", path);
  } else if (old_cuda) {
    framework.build = Fact<std::string>::known(*old_cuda == "True" ? "cuda" : "cpu", path);
  } else {
    framework.build = Fact<std::string>::unknown(path, "has no is_cuda_build");
  }
  const auto version = [&](const std::string& key) -> Fact<Version> {
    auto value = keyed_value(*text, key);
    if (!value) value = assigned_value(*text, key + "_number");  // before 2.3
    return value ? version_fact(*value, path) : Fact<Version>::absent(path);
  };
  framework.build_cuda = version("cuda_version");
  framework.build_cudnn = version("cudnn_version");
  if (auto targets = keyed_list(*text, "cuda_compute_capabilities"))
    framework.targets = Fact<std::vector<std::string>>::known(std::move(*targets), path);
  else
    framework.targets = Fact<std::vector<std::string>>::absent(path);
}

// The names of the required set for this release; a release newer than the catalogue is taken like
// the newest row of the same CUDA major, and the framework says so.
std::optional<TensorFlowRelease> release_of(const Catalog& catalog, Framework& framework) {
  if (!framework.version.is_known()) return std::nullopt;
  if (auto release = catalog.tensorflow(*framework.version)) return release;
  auto newest = catalog.tensorflow(catalog.newest_tensorflow());
  // From 2.22 on build_info.py no longer tells the CUDA version.
  const bool same_cuda = newest && newest->cuda &&
                         (!framework.build_cuda.is_known() ||
                          newest->cuda->major_part() == framework.build_cuda->major_part());
  if (!same_cuda || *framework.version < newest->version) return std::nullopt;
  framework.notes.push_back(
      "TensorFlow " + framework.version->text() +
      " is newer than the catalogue: its required libraries are taken to be those of " +
      newest->version.text());
  return newest;
}

void trace_libraries(const FrameworkScene& scene, const std::string& package,
                     Framework& framework) {
  LibraryTrace trace(scene);
  std::string problem;
  if (!trace.start(problem)) {
    framework.import_problems.push_back({scene.program, problem});
    return;
  }
  // As `import tensorflow` maps them: the CPU guard first, then the C++ core.
  bool internal_seen = false;
  for (const auto* name :
       {"python/platform/_pywrap_cpu_feature_guard.so", "python/_pywrap_tensorflow_internal.so"}) {
    const auto path = path_join(package, name);
    if (!scene.system().status(path)) continue;
    internal_seen = true;
    if (auto failure = trace.load(path)) framework.import_problems.push_back(*failure);
  }
  if (!internal_seen)
    framework.notes.push_back("no extension module of TensorFlow found under " + package);

  const auto release = release_of(scene.input.catalog, framework);
  const auto opener = find_opener(scene.system(), package);
  if (!opener || !framework.import_problems.empty()) {
    if (!opener)
      framework.opener = Fact<std::string>::unknown(
          package, "no object defines the function that opens libraries");
    framework.libraries = trace.take();
    return;
  }
  framework.opener = Fact<std::string>::known(*opener, *opener);
  const auto caller = trace.find(scene.system().resolve(*opener).value_or(*opener));
  if (!caller) {
    framework.opener = Fact<std::string>::unknown(*opener, "is not mapped by the import");
    framework.libraries = trace.take();
    return;
  }
  framework.opener_tag = search_tag(trace, *caller);
  framework.needs_nvml = release
                             ? Fact<bool>::known(release->needs_nvml,
                                                 "catalogue, TensorFlow " + release->version.text())
                             : Fact<bool>::unknown("catalogue", "no row for this release");
  if (framework.build.is("cuda")) {
    if (!release)
      framework.notes.push_back(
          "the libraries that this release requires are not in the catalogue");
    const std::vector<std::string> required =
        release ? release->sonames : std::vector<std::string>();
    if (!required.empty()) trace.open(required.front(), caller, "required");
    trace.at("query");
    trace.open("libcuda.so.1", caller, "driver");
    trace.at("device");
    // With NVML came the description of a device, which asks for cuDNN's version.
    const bool described = framework.needs_nvml.is(true);
    trace_nvml(trace, *caller, framework);
    for (std::size_t i = 1; i < required.size(); ++i) trace.open(required[i], caller, "required");
    if (described) trace_cudnn_version(trace, scene.python());
    trace.at("use");
    trace_cudnn_parts(trace, scene.python());
  }
  framework.libraries = trace.take();
}

}  // namespace

Framework examine_tensorflow(const FrameworkScene& scene, const std::string& site) {
  // 1.15 to 2.1 keep everything in tensorflow_core/ behind a thin tensorflow/.
  const auto core = path_join(site, "tensorflow_core");
  const bool thin = scene.system().status(path_join(core, "__init__.py")).has_value();
  const auto package = thin ? core : path_join(site, "tensorflow");
  Framework framework;
  framework.name = "tensorflow";
  framework.location = package;
  const auto owners = owners_at(scene, site, kOwnerNames);
  for (const auto& owner : owners) framework.owners.push_back(owner.name);
  if (!owners.empty()) {
    framework.distribution = owners.front().name;
    framework.version = version_fact(owners.front().version, owners.front().name + " in " + site);
  } else {
    framework.version = Fact<Version>::unknown(site, "no installed distribution owns it");
  }
  read_build_info(scene.system(), package, framework);
  trace_libraries(scene, package, framework);
  if (framework.build.is("cuda")) find_compiler(scene.system(), site, framework);
  return framework;
}

}  // namespace gpuwright
