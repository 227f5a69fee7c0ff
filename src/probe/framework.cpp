#include "probe/framework.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gpuwright {
namespace {

/// Which distributions bring a library, by the stem of its file name. Wheels of CUDA 13 have no
/// suffix, those of 11 and 12 "-cu11" and "-cu12", cuDNN and NCCL keep it (names as on the package
/// index, seen in the environments of tests/cases).
struct LibraryOwner {
  std::string_view stem;
  std::string_view wheel;  ///< Without "-cuNN".
  std::string_view conda;  ///< conda-forge's package.
};
constexpr std::array kOwners = {
    LibraryOwner{"libcudart", "nvidia-cuda-runtime", "cuda-cudart"},
    LibraryOwner{"libcublas", "nvidia-cublas", "libcublas"},
    LibraryOwner{"libcublasLt", "nvidia-cublas", "libcublas"},
    LibraryOwner{"libcufft", "nvidia-cufft", "libcufft"},
    LibraryOwner{"libcurand", "nvidia-curand", "libcurand"},
    LibraryOwner{"libcusolver", "nvidia-cusolver", "libcusolver"},
    LibraryOwner{"libcusparse", "nvidia-cusparse", "libcusparse"},
    LibraryOwner{"libcusparseLt", "nvidia-cusparselt", "cusparselt"},
    LibraryOwner{"libcudnn", "nvidia-cudnn", "cudnn"},
    LibraryOwner{"libnccl", "nvidia-nccl", "nccl"},
    LibraryOwner{"libnvrtc", "nvidia-cuda-nvrtc", "cuda-nvrtc"},
    LibraryOwner{"libnvrtc-builtins", "nvidia-cuda-nvrtc", "cuda-nvrtc"},
    LibraryOwner{"libnvJitLink", "nvidia-nvjitlink", "libnvjitlink"},
    LibraryOwner{"libcupti", "nvidia-cuda-cupti", "cuda-cupti"},
    LibraryOwner{"libnvshmem_host", "nvidia-nvshmem", "libnvshmem"},
    LibraryOwner{"libcufile", "nvidia-cufile", "libcufile"},
};

constexpr std::array<std::string_view, 5> kWithoutOwner = {
    "libcuda", "libnvidia-ml", "libstdc++", "libnvidia-ptxjitcompiler", "libnvToolsExt"};

// "libcudnn_graph" belongs to libcudnn, "libcudart-faf08d9a" (an auditwheel copy) to libcudart.
std::string_view stem_of(std::string_view file_name) {
  auto stem = file_name.substr(0, file_name.find('.'));
  if (stem.starts_with("libcudnn_")) return "libcudnn";
  const auto dash = stem.rfind('-');
  const bool hash = dash != std::string_view::npos && stem.size() - dash == 9 &&
                    stem.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos;
  return hash ? stem.substr(0, dash) : stem;
}

const LibraryOwner* owner_of(std::string_view file_name) {
  const auto stem = stem_of(file_name);
  const auto* const it = std::find_if(kOwners.begin(), kOwners.end(),
                                      [&](const auto& owner) { return owner.stem == stem; });
  return it == kOwners.end() ? nullptr : it;
}

// "nvidia-cudnn" owns as "nvidia-cudnn", "nvidia-cudnn-cu12".
bool is_wheel_of(std::string_view distribution, std::string_view wheel) {
  if (!distribution.starts_with(wheel)) return false;
  const auto rest = distribution.substr(wheel.size());
  return rest.empty() || rest.starts_with("-cu");
}

Fact<Version> version_of_file_name(const std::string& real_path) {
  const auto name = path_name(real_path);
  const auto at = name.find(".so.");
  if (at == std::string_view::npos) return {};
  const auto text = name.substr(at + 4);
  // "libcudnn.so.9" tells the ABI, not the version.
  if (std::count(text.begin(), text.end(), '.') < 1) return {};
  auto version = Version::parse(text);
  return version ? Fact<Version>::known(*version, real_path) : Fact<Version>();
}

// A search that came to nothing. What misses a dependency is there and cannot be loaded.
ResolvedLibrary failed_row(const loader::Outcome& outcome, const std::string& name,
                           const std::vector<loader::Candidate>& candidates) {
  using State = loader::Outcome::State;
  const bool dependency =
      !outcome.culprit.empty() && outcome.culprit != name && outcome.culprit != outcome.path;
  ResolvedLibrary row;
  row.name = name;
  row.rule = outcome.stage_detail;
  row.state = outcome.state == State::kUnknown                  ? "unknown"
              : outcome.state == State::kMissing && !dependency ? "missing"
                                                                : "unloadable";
  row.path = outcome.path;
  row.error = outcome.error;
  if (dependency) {
    row.error += " (needed by " + name + ")";
    if (!candidates.empty()) row.path = candidates.front().path;
  }
  return row;
}

}  // namespace

std::optional<std::string> find_on_sys_path(const FrameworkScene& scene, const std::string& file) {
  for (const auto& entry : scene.python().sys_path)
    if (entry.exists && scene.system().status(path_join(entry.path, file))) return entry.path;
  return std::nullopt;
}

std::vector<std::string> nvidia_portions(const FrameworkScene& scene) {
  std::vector<std::string> portions;
  for (const auto& entry : scene.python().sys_path) {
    const auto directory = path_join(entry.path, "nvidia");
    if (!entry.exists || !scene.system().status(directory)) continue;
    if (scene.system().status(path_join(directory, "__init__.py"))) return {directory};
    portions.push_back(directory);
  }
  return portions;
}

std::vector<Distribution> owners_at(const FrameworkScene& scene, const std::string& site,
                                    const std::vector<std::string>& names) {
  std::vector<Distribution> owners;
  for (const auto& distribution : scene.python().distributions)
    for (const auto& name : names)
      if (distribution.location == site && glob_match(name, distribution.name)) {
        owners.push_back(distribution);
        break;
      }
  return owners;
}

Fact<Version> version_fact(const std::string& text, const std::string& source) {
  const auto version = Version::parse(text);
  if (!version) return Fact<Version>::unknown(source, "'" + printable(text) + "' is not a version");
  return Fact<Version>::known(*version, source);
}

Fact<Version> library_version(const Python& python, const std::string& real_path) {
  if (auto version = version_of_file_name(real_path); version.is_known()) return version;
  const auto* const owner = owner_of(path_name(real_path));
  if (owner == nullptr) return Fact<Version>::unknown(real_path, "its name carries no version");
  std::vector<const Distribution*> claims;
  for (const auto& distribution : python.distributions) {
    const bool wheel = is_wheel_of(distribution.name, owner->wheel) &&
                       real_path.starts_with(path_join(distribution.location, "nvidia/"));
    const bool conda = distribution.name == owner->conda &&
                       path_name(distribution.location) == "conda-meta" &&
                       real_path.starts_with(path_directory(distribution.location) + "/");
    if (wheel || conda) claims.push_back(&distribution);
  }
  if (claims.empty()) return Fact<Version>::unknown(real_path, "no installed package owns it");
  if (claims.size() > 1)
    return Fact<Version>::unknown(
        claims[0]->location, claims[0]->name + " and " + claims[1]->name + " both write this file");
  return version_fact(claims[0]->version, claims[0]->name + " in " + claims[0]->location);
}

bool is_gpu_library(std::string_view file_name) {
  if (file_name.find(".so") == std::string_view::npos) return false;
  const auto stem = stem_of(file_name);
  return owner_of(file_name) != nullptr ||
         std::find(kWithoutOwner.begin(), kWithoutOwner.end(), stem) != kWithoutOwner.end();
}

std::vector<std::string> copies_in_wheels(const FrameworkScene& scene, const std::string& name) {
  std::vector<std::string> copies;
  for (const auto& portion : nvidia_portions(scene)) {
    const auto folders = scene.system().list(portion);
    if (!folders) continue;
    for (const auto& folder : *folders)
      if (auto real = scene.system().resolve(portion + "/" + folder.name + "/lib/" + name))
        copies.push_back(std::move(*real));
  }
  return copies;
}

// ------------------------------------------------------------------- LibraryTrace

LibraryTrace::LibraryTrace(const FrameworkScene& scene)
    : scene_(scene), process_(scene.system(), scene.config) {}

bool LibraryTrace::start(std::string& problem) {
  const auto outcome = process_.start(scene_.program);
  record_new(0, "dependency", scene_.program);
  if (outcome.state == loader::Outcome::State::kFound) return true;
  problem = outcome.error;
  return false;
}

ResolvedLibrary LibraryTrace::row_of(const loader::Mapped& object, const std::string& name,
                                     const std::string& role) const {
  ResolvedLibrary row;
  row.name = name;
  row.when = when_;
  row.role = role;
  row.rule = object.stage_detail.empty() ? loader::name_of(object.stage) : object.stage_detail;
  row.state = "found";
  row.path = object.path;
  row.real_path = object.real_path;
  row.version = library_version(scene_.python(), object.real_path);
  return row;
}

void LibraryTrace::record_new(std::size_t first, const std::string& role,
                              const std::string& opener) {
  const auto& objects = process_.objects();
  for (std::size_t i = first; i < objects.size(); ++i) {
    const auto& object = objects[i];
    if (!is_gpu_library(path_name(object.real_path))) continue;
    // Opened by path: the row is about the library, and the path stands in it anyway.
    const bool by_name =
        !object.names.empty() && object.names.front().find('/') == std::string::npos;
    const auto name = by_name ? object.names.front() : std::string(path_name(object.path));
    auto row = row_of(object, name, role);
    row.opener = object.loader ? objects[*object.loader].path : opener;
    rows_.push_back(std::move(row));
  }
}

bool LibraryTrace::open(const std::string& name, std::optional<std::size_t> caller,
                        const std::string& role) {
  using State = loader::Outcome::State;
  const std::size_t before = process_.objects().size();
  const std::string opener = caller ? process_.objects()[*caller].path : scene_.program;
  const auto candidates = process_.candidates(name, caller);
  const auto outcome = process_.dlopen(name, caller);
  ResolvedLibrary row;
  if (outcome.state == State::kFound) {
    const auto& object = process_.objects()[*outcome.object];
    row = row_of(object, name, role);
    if (!outcome.newly_mapped) {
      // The row that brought it keeps its place; asked again, it only gets the weightier role.
      const auto earlier = std::find_if(rows_.begin(), rows_.end(), [&](const auto& other) {
        return other.state == "found" && other.real_path == object.real_path;
      });
      if (earlier != rows_.end()) {
        if (earlier->role == "dependency" || earlier->role == "linked") earlier->role = role;
        return true;
      }
      row.rule = loader::name_of(outcome.stage);
    }
  } else {
    row = failed_row(outcome, name, candidates);
    row.when = when_;
    row.role = role;
    const auto asked_before = std::any_of(rows_.begin(), rows_.end(), [&](const auto& other) {
      return other.name == name && other.opener == opener && other.state == row.state;
    });
    if (asked_before) return false;
  }
  row.opener = opener;
  if (row.state == "missing") row.elsewhere = copies_in_wheels(scene_, name);
  for (const auto& candidate : candidates)
    if (candidate.real_path != row.real_path &&
        std::find(row.shadows.begin(), row.shadows.end(), candidate.real_path) == row.shadows.end())
      row.shadows.push_back(candidate.real_path);
  rows_.push_back(std::move(row));
  if (outcome.state == State::kFound)
    record_new(std::max(before + 1, *outcome.object + 1), "dependency", opener);
  return outcome.state == State::kFound;
}

std::optional<ImportProblem> LibraryTrace::load(const std::string& path) {
  const std::size_t before = process_.objects().size();
  const auto outcome = process_.dlopen(path);
  record_new(before, "linked", path);
  if (outcome.state == loader::Outcome::State::kFound) return std::nullopt;
  return ImportProblem{outcome.culprit.empty() ? path : outcome.culprit, outcome.error};
}

std::optional<std::size_t> LibraryTrace::find(const std::string& real_path_or_name) const {
  return real_path_or_name.starts_with('/') ? process_.find_path(real_path_or_name)
                                            : process_.find(real_path_or_name);
}

namespace {

std::optional<std::size_t> mapped_cudnn(const LibraryTrace& trace) {
  const auto nine = trace.find("libcudnn.so.9");
  return nine ? nine : trace.find("libcudnn.so.8");
}

// The endings that cuDNN tries on the name of a part, by the version it has itself: its three
// numbers, two, one. A wheel's fourth number is a build number.
std::vector<std::string> part_endings(const loader::Mapped& main, const Python& python) {
  const auto version = library_version(python, main.real_path);
  const std::string major = main.elf.soname == "libcudnn.so.8" ? "8" : "9";
  std::vector<std::string> endings;
  if (version.is_known() && std::to_string(version->major_part()) == major) {
    const auto minor = major + "." + std::to_string(version->part(1));
    endings = {".so." + minor + "." + std::to_string(version->part(2)), ".so." + minor};
  }
  endings.push_back(".so." + major);
  return endings;
}

void trace_part(LibraryTrace& trace, const Python& python, std::size_t main,
                const std::string& part) {
  const auto endings = part_endings(trace.process().objects()[main], python);
  for (const auto& ending : endings) {
    const std::string name = "libcudnn_" + part + ending;
    if (&ending != &endings.back() && trace.process().candidates(name, main).empty()) continue;
    trace.open(name, main, "sub-library");
    return;
  }
}

}  // namespace

void trace_cudnn_version(LibraryTrace& trace, const Python& python) {
  if (const auto main = trace.find("libcudnn.so.9")) trace_part(trace, python, *main, "graph");
}

void trace_cudnn_parts(LibraryTrace& trace, const Python& python) {
  constexpr std::array kParts9 = {
      "graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled", "engines_runtime_compiled"};
  constexpr std::array kParts8 = {"ops_infer", "cnn_infer", "adv_infer",
                                  "ops_train", "cnn_train", "adv_train"};
  const auto main = mapped_cudnn(trace);
  if (!main) return;
  if (trace.process().objects()[*main].elf.soname == "libcudnn.so.8")
    for (const auto* part : kParts8) trace_part(trace, python, *main, part);
  else
    for (const auto* part : kParts9) trace_part(trace, python, *main, part);
}

void trace_nvml(LibraryTrace& trace, std::size_t caller, const Framework& framework) {
  if (framework.needs_nvml.is(false)) return;
  trace.open("libnvidia-ml.so.1", caller, framework.needs_nvml.is(true) ? "nvml" : "optional");
}

Fact<std::string> search_tag(const LibraryTrace& trace, std::size_t object) {
  const auto& mapped = trace.process().objects()[object];
  if (mapped.elf.runpath) return Fact<std::string>::known("DT_RUNPATH", mapped.path);
  if (mapped.elf.rpath) return Fact<std::string>::known("DT_RPATH", mapped.path);
  return Fact<std::string>::absent(mapped.path);
}

// ------------------------------------------------------------------------- probe

Fill probe_frameworks(const ProbeInput& input) {
  struct Package {
    const char* name;
    const char* file;
    Framework (*examine)(const FrameworkScene&, const std::string&);
  };
  constexpr std::array kPackages = {
      Package{"tensorflow", "tensorflow/__init__.py", examine_tensorflow},
      Package{"torch", "torch/__init__.py", examine_torch},
      Package{"jax", "jax/__init__.py", examine_jax},
  };
  const auto& interpreter = input.machine.python.interpreter;
  if (!interpreter.is_known()) return [](Machine&) {};
  const auto environment =
      input.system.environment().value_or(std::map<std::string, std::string>());
  auto config = loader::make_config(input.system, interpreter->real_path, environment);
  std::vector<Framework> found;
  for (const auto& package : kPackages) {
    if (!input.options.framework.empty() && input.options.framework != package.name) continue;
    FrameworkScene scene{input, config.value_or(loader::Config{}), interpreter->real_path};
    const auto site = find_on_sys_path(scene, package.file);
    if (!site) continue;
    Framework framework = package.examine(scene, *site);
    describe_origin(scene, framework);
    if (!config)
      framework.notes.push_back("the interpreter cannot be read: " + config.error().text());
    found.push_back(std::move(framework));
  }
  return [found = std::move(found)](Machine& machine) mutable {
    machine.frameworks = std::move(found);
  };
}

}  // namespace gpuwright
