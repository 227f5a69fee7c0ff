#include <algorithm>

#include "base/text.h"
#include "loader/fatbin.h"
#include "probe/framework.h"
#include "probe/python_literal.h"

// PyTorch links its GPU libraries: a missing one is an ImportError, never a quiet CPU. `import
// torch` opens libtorch_global_deps.so, then may preload the wheels' libraries by absolute path
// (which list, and whether also after success, changed by release and stands as text in
// torch/__init__.py), then the extension torch._C brings the rest. libcuda.so.1 is mapped by the
// constructor of libcublasLt, long before cuInit.

namespace gpuwright {
namespace {

// One call of _preload_cuda_lib: where below site-packages, and which file.
struct Preload {
  std::string folder;   // "cublas"
  std::string pattern;  // "libcublas.so.*[0-9]"
};

struct PreloadPlan {
  std::vector<Preload> on_failure;  // before the retry of libtorch_global_deps
  std::vector<Preload> on_success;  // after it loaded; empty in releases that do not
  std::string success_needs;        // text that /proc/self/maps must hold for on_success
  bool stops_at_gap = false;        // the first library without a wheel ends on_success
};

std::vector<Preload> pairs_of(std::string_view text) {
  const auto texts = quoted_texts(text);
  std::vector<Preload> pairs;
  for (std::size_t i = 0; i + 1 < texts.size(); ++i)
    if (texts[i + 1].starts_with("lib") && texts[i + 1].find(".so") != std::string::npos) {
      pairs.push_back({texts[i], texts[i + 1]});
      ++i;
    }
  return pairs;
}

// Reads the plan out of torch/__init__.py, whose text decides.
PreloadPlan preload_plan(std::string_view source) {
  PreloadPlan plan;
  plan.on_failure = pairs_of(function_body(source, "_preload_cuda_deps"));
  const auto body = function_body(source, "_load_global_deps");
  const auto loaded = body.find("ctypes.CDLL(global_deps_lib_path");
  const auto failed = body.find("except OSError");
  if (loaded == std::string_view::npos || failed == std::string_view::npos || failed < loaded)
    return plan;
  const auto success = body.substr(loaded, failed - loaded);
  const auto condition = success.find("not in _maps");
  if (condition != std::string_view::npos) {
    // The quoted text nearest before "not in _maps".
    const auto before = quoted_texts(
        success.substr(success.rfind('\n', condition), condition - success.rfind('\n', condition)));
    if (!before.empty()) plan.success_needs = before.back();
  }
  if (success.find("_preload_cuda_deps(") != std::string_view::npos) {
    plan.on_success = plan.on_failure;
    plan.stops_at_gap = success.find("required=False") == std::string_view::npos;
  } else {
    plan.on_success = pairs_of(success.substr(std::min(condition, success.size())));
    plan.stops_at_gap = true;
  }
  return plan;
}

// glob.glob(directory/pattern)[0]; the real one takes directory order, we the first by name.
std::optional<std::string> first_match(const System& system, const std::string& directory,
                                       const std::string& pattern) {
  const auto entries = system.list(directory);
  if (!entries) return std::nullopt;
  for (const auto& entry : *entries)
    if (glob_match(pattern, entry.name)) return path_join(directory, entry.name);
  return std::nullopt;
}

std::optional<std::string> preload_path(const FrameworkScene& scene, const Preload& preload,
                                        std::uint64_t cuda_major) {
  for (const auto& entry : scene.python().sys_path) {
    if (!entry.exists) continue;
    const std::string shared = "nvidia/cu" + std::to_string(cuda_major) + "/lib";
    for (const auto& below : {"nvidia/" + preload.folder + "/lib", shared, preload.folder + "/lib"})
      if (auto hit = first_match(scene.system(), path_join(entry.path, below), preload.pattern))
        return hit;
  }
  return std::nullopt;
}

void preload_all(const FrameworkScene& scene, LibraryTrace& trace, const std::vector<Preload>& list,
                 std::uint64_t cuda_major, bool stops_at_gap) {
  for (const auto& preload : list) {
    const auto path = preload_path(scene, preload, cuda_major);
    const bool optional = preload.folder == "nvtx";
    if (!path && stops_at_gap && !optional) return;
    if (path) trace.load(*path);
  }
}

bool maps_hold(const LibraryTrace& trace, const std::string& text) {
  const auto& objects = trace.process().objects();
  return std::any_of(objects.begin(), objects.end(), [&](const auto& object) {
    return object.real_path.find(text) != std::string::npos;
  });
}

void read_version_file(const System& system, const std::string& package, Framework& framework) {
  const auto path = path_join(package, "version.py");
  const auto text = system.read(path, 1 << 16);
  if (!text) {
    framework.version = Fact<Version>::from_error(path, text.error());
    framework.build = Fact<std::string>::unknown(path, text.error().message);
    return;
  }
  const auto version = assigned_value(*text, "__version__");
  framework.version =
      version ? version_fact(*version, path) : Fact<Version>::unknown(path, "has no __version__");
  const auto set = [&](const char* name) {
    const auto value = assigned_value(*text, name);
    return value && *value != "None" ? value : std::nullopt;
  };
  const auto cuda = set("cuda");
  framework.build_cuda = cuda ? version_fact(*cuda, path) : Fact<Version>::absent(path);
  framework.build = Fact<std::string>::known(cuda                        ? "cuda"
                                             : set("hip") || set("rocm") ? "rocm"
                                             : set("xpu")                ? "xpu"
                                                                         : "cpu",
                                             path);
}

void read_targets(const System& system, const std::string& package, Framework& framework) {
  for (const auto* name : {"lib/libtorch_cuda.so", "lib/libtorch_cuda_cu.so"}) {
    const auto path = path_join(package, name);
    const auto file = system.open(path);
    if (!file) continue;
    auto targets = loader::fat_binary_targets(**file);
    framework.targets =
        targets ? Fact<std::vector<std::string>>::known(*targets, path)
                : Fact<std::vector<std::string>>::unknown(path, targets.error().message);
    if (targets && !targets->empty()) return;
  }
}

// python's name for the extension: _C.cpython-312-x86_64-linux-gnu.so, _C.so.
std::optional<std::string> extension_module(const System& system, const std::string& package) {
  for (const auto* pattern : {"_C.cpython-*.so", "_C.abi3.so", "_C.so"})
    if (auto hit = first_match(system, package, pattern)) return hit;
  return std::nullopt;
}

void trace_libraries(const FrameworkScene& scene, const std::string& package,
                     Framework& framework) {
  LibraryTrace trace(scene);
  std::string problem;
  if (!trace.start(problem)) {
    framework.import_problems.push_back({scene.program, problem});
    return;
  }
  const auto source = scene.system().read(path_join(package, "__init__.py"), 1 << 20);
  const auto plan = preload_plan(source.value_or(""));
  const std::uint64_t cuda_major =
      framework.build_cuda.is_known() ? framework.build_cuda->major_part() : 0;
  const auto global_deps = path_join(package, "lib/libtorch_global_deps.so");
  if (scene.system().status(global_deps)) {
    if (!trace.load(global_deps)) {
      if (!plan.on_success.empty() && maps_hold(trace, plan.success_needs))
        preload_all(scene, trace, plan.on_success, cuda_major, plan.stops_at_gap);
    } else {
      preload_all(scene, trace, plan.on_failure, cuda_major, false);
      if (auto again = trace.load(global_deps)) framework.import_problems.push_back(*again);
    }
  }
  if (const auto extension = extension_module(scene.system(), package)) {
    framework.opener = Fact<std::string>::known(*extension, *extension);
    if (framework.import_problems.empty())
      if (auto failure = trace.load(*extension)) framework.import_problems.push_back(*failure);
  } else {
    framework.opener = Fact<std::string>::unknown(package, "no extension module torch._C found");
  }
  // The constructor of libcublasLt opens the driver; builds without it leave that to libcudart.
  auto driver_opener = trace.find("libcublasLt.so." + std::to_string(cuda_major));
  if (!driver_opener) driver_opener = trace.find("libcudart.so." + std::to_string(cuda_major));
  const bool early =
      driver_opener &&
      trace.process().objects()[*driver_opener].elf.soname.starts_with("libcublasLt");
  if (framework.build.is("cuda") && framework.import_problems.empty()) {
    if (!early) trace.at("device");
    trace.open("libcuda.so.1", driver_opener, "driver");
    trace.at("device");
    trace.open("libnvidia-ml.so.1", trace.find("libc10_cuda.so"), "optional");
    trace.at("use");
    trace_cudnn_parts(trace, scene.python());
  }
  framework.libraries = trace.take();
}

}  // namespace

Framework examine_torch(const FrameworkScene& scene, const std::string& site) {
  const auto package = path_join(site, "torch");
  Framework framework;
  framework.name = "torch";
  framework.location = package;
  for (const auto& owner : owners_at(scene, site, {"torch", "torch-nightly", "pytorch"}))
    framework.owners.push_back(owner.name);
  if (!framework.owners.empty()) framework.distribution = framework.owners.front();
  read_version_file(scene.system(), package, framework);
  if (framework.build.is("cuda")) read_targets(scene.system(), package, framework);
  if (framework.build.is("cuda") &&
      !scene.system().status(path_join(package, "lib/libtorch_cuda.so")) &&
      !scene.system().status(path_join(package, "lib/libtorch_cuda_cu.so")))
    framework.notes.push_back("version.py names CUDA " + framework.build_cuda->text() +
                              " but lib/libtorch_cuda.so is not there");
  framework.needs_nvml = Fact<bool>::known(false, "PyTorch initialises CUDA without NVML");
  trace_libraries(scene, package, framework);
  return framework;
}

}  // namespace gpuwright
