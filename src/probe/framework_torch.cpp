#include <algorithm>

#include "base/text.h"
#include "loader/fatbin.h"
#include "probe/framework.h"
#include "probe/python_literal.h"
#include "probe/torch_preload.h"

// PyTorch links its GPU libraries: a missing one is an ImportError, never a quiet CPU. `import
// torch` opens libtorch_global_deps.so, then may preload the wheels' libraries by absolute path
// (which list, and whether also after success, changed by release and stands as text in
// torch/__init__.py), then the extension torch._C brings the rest. libcuda.so.1 is mapped by the
// constructor of libcublasLt, long before cuInit.

namespace gpuwright {
namespace {

// glob.glob(directory/pattern)[0]; the real one takes directory order, we the first by name.
std::optional<std::string> first_match(const System& system, const std::string& directory,
                                       const std::string& pattern) {
  const auto entries = system.list(directory);
  if (!entries) return std::nullopt;
  for (const auto& entry : *entries)
    if (glob_match(pattern, entry.name)) return path_join(directory, entry.name);
  return std::nullopt;
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
  if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
  return text;
}

std::optional<std::string> wheel_file(const FrameworkScene& scene, const TorchPreloadPlan& plan,
                                      const TorchPreload& preload, std::uint64_t cuda_major) {
  for (const auto& entry : scene.python().sys_path) {
    if (!entry.exists) continue;
    for (const auto& place : plan.places) {
      auto below = replaced(place, "%F", preload.folder);
      below = replaced(below, "%M", std::to_string(cuda_major));
      if (auto hit = first_match(scene.system(), path_join(entry.path, below), preload.pattern))
        return hit;
    }
  }
  return std::nullopt;
}

// The list in order. The first error ends it, as an exception does.
std::optional<ImportProblem> preload_all(const FrameworkScene& scene, const TorchPreloadPlan& plan,
                                         const std::vector<TorchPreload>& list,
                                         std::uint64_t cuda_major, LibraryTrace& trace) {
  for (const auto& preload : list) {
    const auto path = wheel_file(scene, plan, preload, cuda_major);
    if (!path && preload.required)
      return ImportProblem{"torch/__init__.py", preload.pattern + " not found in the system path"};
    if (!path) continue;
    if (auto failure = trace.load(*path)) return failure;
  }
  return std::nullopt;
}

// True when the error is about a library of the list: "libcufft.so.11: cannot open ..." and
// "libcufft.so.*[0-9]". Others end the import at once.
bool names_one(const std::vector<TorchPreload>& list, const std::string& error) {
  return std::any_of(list.begin(), list.end(), [&](const auto& preload) {
    return error.find(preload.pattern.substr(0, preload.pattern.find('.'))) != std::string::npos;
  });
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

// _load_global_deps of torch/__init__.py.
std::optional<ImportProblem> load_global_deps(const FrameworkScene& scene,
                                              const std::string& package, std::uint64_t cuda_major,
                                              LibraryTrace& trace) {
  const auto object = path_join(package, "lib/libtorch_global_deps.so");
  if (!scene.system().status(object)) return std::nullopt;
  const auto source = scene.system().read(path_join(package, "__init__.py"), 1 << 20);
  const auto plan = parse_torch_preload(source.value_or(""));
  const auto failure = trace.load(object);
  if (!failure) {
    if (!plan.after_success.empty() && maps_hold(trace, plan.success_needs))
      preload_all(scene, plan, plan.after_success, cuda_major, trace);  // errors are passed over
    return std::nullopt;
  }
  if (!names_one(plan.after_failure, failure->error)) return failure;
  if (auto second = preload_all(scene, plan, plan.after_failure, cuda_major, trace)) return second;
  return trace.load(object);
}

// device_count() asks NVML, unless torch's own reading of CUDA_VISIBLE_DEVICES
// (_parse_visible_devices of torch/cuda/__init__.py) leaves nothing to count: empty, first element
// no number, a number twice.
bool counts_with_nvml(const FrameworkScene& scene) {
  const auto environment = scene.system().environment();
  if (!environment) return true;
  const auto it = environment->find("CUDA_VISIBLE_DEVICES");
  if (it == environment->end()) return true;
  const auto first = trim(it->second);
  if (first.starts_with("GPU-") || first.starts_with("MIG-")) return true;
  std::vector<std::uint64_t> seen;
  for (const auto element : split(it->second, ',')) {
    const auto text = trim(element);
    const auto number = parse_unsigned(text.substr(0, text.find_first_not_of("0123456789")));
    if (!number) break;
    if (std::find(seen.begin(), seen.end(), *number) != seen.end()) return false;
    seen.push_back(*number);
  }
  return !seen.empty();
}

void trace_libraries(const FrameworkScene& scene, const std::string& package,
                     Framework& framework) {
  LibraryTrace trace(scene);
  std::string problem;
  if (!trace.start(problem)) {
    framework.import_problems.push_back({scene.program, problem});
    return;
  }
  const std::uint64_t cuda_major =
      framework.build_cuda.is_known() ? framework.build_cuda->major_part() : 0;
  if (auto failure = load_global_deps(scene, package, cuda_major, trace))
    framework.import_problems.push_back(*failure);
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
    if (!early) trace.at("query");
    trace.open("libcuda.so.1", driver_opener, "driver");
    trace.at(counts_with_nvml(scene) ? "query" : "device");
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
