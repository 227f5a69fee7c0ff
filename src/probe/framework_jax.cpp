#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "probe/framework.h"
#include "probe/python_literal.h"

// JAX reaches the GPU through a plugin: jax_plugins/xla_cuda13/xla_cuda_plugin.so, used only when
// its version equals that of jaxlib. Before it opens the plugin it preloads the wheels' libraries
// by absolute path; the list stands as _load("module", ["lib..."]) in the plugin's __init__.py
// (0.6.2 and newer). The plugin's objects have DT_RPATH to the wheels, so LD_LIBRARY_PATH does not
// win.

namespace gpuwright {
namespace {

// What the plugin opens by bare name, per CUDA major. Where no wheel was preloaded these names go
// through the plugin's own search. `required`: _check_cuda_versions of the plugin raises without
// it.
struct PluginLibrary {
  const char* soname;
  bool required;
};
constexpr std::array kCuda12 = {
    PluginLibrary{"libcudart.so.12", true},    PluginLibrary{"libcublas.so.12", true},
    PluginLibrary{"libcublasLt.so.12", true},  PluginLibrary{"libcufft.so.11", true},
    PluginLibrary{"libcusolver.so.11", false}, PluginLibrary{"libcusparse.so.12", true},
    PluginLibrary{"libcudnn.so.9", true},      PluginLibrary{"libcupti.so.12", true},
    PluginLibrary{"libnccl.so.2", false}};
constexpr std::array kCuda13 = {
    PluginLibrary{"libcudart.so.13", true},    PluginLibrary{"libcublas.so.13", true},
    PluginLibrary{"libcublasLt.so.13", true},  PluginLibrary{"libcufft.so.12", true},
    PluginLibrary{"libcusolver.so.12", false}, PluginLibrary{"libcusparse.so.12", true},
    PluginLibrary{"libcudnn.so.9", true},      PluginLibrary{"libcupti.so.13", true},
    PluginLibrary{"libnccl.so.2", false}};

struct Plugin {
  std::string package;  // .../jax_plugins/xla_cuda13
  std::string site;
  std::uint64_t cuda_major = 0;
};

// jax_cuda13_plugin is tried before jax_cuda12_plugin, so that the kernels and the check of
// versions are those of CUDA 13 when both are there.
std::vector<Plugin> find_plugins(const FrameworkScene& scene) {
  std::vector<Plugin> plugins;
  for (const std::uint64_t major : {13, 12}) {
    const std::string below = "jax_plugins/xla_cuda" + std::to_string(major);
    if (const auto site = find_on_sys_path(scene, below + "/__init__.py"))
      plugins.push_back({path_join(*site, below), *site, major});
  }
  return plugins;
}

// `nvidia.<module>.__path__[0]`: the first portion of the nvidia package that has it, a regular
// package before a directory without __init__.py.
std::optional<std::string> module_directory(const FrameworkScene& scene,
                                            const std::string& module) {
  std::optional<std::string> first;
  for (const auto& portion : nvidia_portions(scene)) {
    const auto directory = path_join(portion, module);
    if (scene.system().status(path_join(directory, "__init__.py"))) return directory;
    if (!first && scene.system().status(directory)) first = directory;
  }
  return first;
}

// Every _load("module", ["lib", ...]) of the plugin's text: absolute paths, in order.
std::vector<std::string> preload_paths(const FrameworkScene& scene, std::string_view source) {
  std::vector<std::string> paths;
  const auto body = function_body(source, "_load_nvidia_libraries");
  for (std::size_t at = body.find("_load("); at != std::string_view::npos;
       at = body.find("_load(", at + 1)) {
    const auto call = body.substr(at, body.find(')', at) - at);
    auto texts = quoted_texts(call);
    if (texts.size() < 2) continue;
    const auto directory = module_directory(scene, texts[0]);
    for (std::size_t i = 1; directory && i < texts.size(); ++i)
      paths.push_back(path_join(path_join(*directory, "lib"), texts[i]));
  }
  return paths;
}

std::optional<Distribution> distribution(const FrameworkScene& scene, std::string_view name) {
  const auto& all = scene.python().distributions;
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const auto& d) { return d.name == name; });
  return it == all.end() ? std::nullopt : std::optional(*it);
}

void read_versions(const FrameworkScene& scene, const std::string& site, Framework& framework) {
  if (const auto jax = distribution(scene, "jax"))
    framework.version = version_fact(jax->version, "jax in " + jax->location);
  else if (const auto text = scene.system().read(path_join(site, "jax/version.py")))
    framework.version = version_fact(assigned_value(*text, "_version").value_or(""),
                                     path_join(site, "jax/version.py"));
  const auto jaxlib = distribution(scene, "jaxlib");
  framework.core_version = jaxlib ? version_fact(jaxlib->version, "jaxlib in " + jaxlib->location)
                                  : Fact<Version>::absent("sys.path");
}

void describe_no_plugin(const FrameworkScene& scene, Framework& framework) {
  constexpr const char* kPlace = "jax_plugins on sys.path";
  const bool rocm = find_on_sys_path(scene, "jax_plugins/xla_rocm60/__init__.py") ||
                    find_on_sys_path(scene, "jax_plugins/xla_rocm7/__init__.py");
  framework.plugin = Fact<std::string>::absent(kPlace);
  framework.plugin_version = Fact<Version>::absent(kPlace);
  framework.build = Fact<std::string>::known(rocm ? "rocm" : "cpu", kPlace);
}

void describe_plugin(const FrameworkScene& scene, const Plugin& plugin, Framework& framework) {
  const std::string name = "jax-cuda" + std::to_string(plugin.cuda_major) + "-plugin";
  framework.build = Fact<std::string>::known("cuda", plugin.package);
  framework.build_cuda = version_fact(std::to_string(plugin.cuda_major), plugin.package);
  const auto owner = distribution(scene, name);
  framework.plugin = Fact<std::string>::known(owner ? name + " " + owner->version : plugin.package,
                                              plugin.package);
  framework.plugin_version = owner ? version_fact(owner->version, name + " in " + owner->location)
                                   : Fact<Version>::absent("no distribution " + name);
}

void read_catalogue(const FrameworkScene& scene, const Plugin& plugin, Framework& framework) {
  if (framework.core_version.is_known())
    if (const auto row = scene.input.catalog.jax(*framework.core_version, plugin.cuda_major)) {
      std::vector<std::string> targets;
      const auto add = [&](const char* prefix, const std::vector<std::string>& list) {
        for (const auto& cc : list) {
          std::string digits = cc;
          std::erase(digits, '.');
          targets.push_back(prefix + digits);
        }
      };
      add("sm_", row->sm_sass);
      add("compute_", row->sm_ptx);
      framework.targets =
          Fact<std::vector<std::string>>::known(targets, "catalogue, JAX " + row->version.text());
      framework.needs_nvml =
          Fact<bool>::known(row->needs_nvml, "catalogue, JAX " + row->version.text());
      if (row->cuda)
        framework.build_cuda =
            Fact<Version>::known(*row->cuda, "catalogue, JAX " + row->version.text());
      if (row->cudnn)
        framework.build_cudnn =
            Fact<Version>::known(*row->cudnn, "catalogue, JAX " + row->version.text());
      return;
    }
  framework.targets =
      Fact<std::vector<std::string>>::unknown("catalogue", "no row for this release");
  framework.needs_nvml = Fact<bool>::unknown("catalogue", "no row for this release");
}

std::span<const PluginLibrary> libraries_of(const Plugin& plugin) {
  if (plugin.cuda_major == 13) return kCuda13;
  return kCuda12;
}

std::optional<std::size_t> mapped(const FrameworkScene& scene, const LibraryTrace& trace,
                                  const std::string& path) {
  return trace.find(scene.system().resolve(path).value_or(path));
}

// `import jax` maps jaxlib and the plugin's kernels (jax_cudaNN_plugin/_versions.so, ...), whose
// CUDA runtime stub opens libcudart. The object that later asks for the versions of all libraries.
std::optional<std::size_t> trace_import(const FrameworkScene& scene, const Plugin& plugin,
                                        LibraryTrace& trace, Framework& framework) {
  const auto jaxlib = find_on_sys_path(scene, "jaxlib/__init__.py").value_or(plugin.site);
  const auto kernels = "jax_cuda" + std::to_string(plugin.cuda_major) + "_plugin/";
  // jaxlib/_jax.so since 0.6, xla_extension.so before.
  for (const auto& path :
       {path_join(jaxlib, "jaxlib/_jax.so"), path_join(jaxlib, "jaxlib/xla_extension.so"),
        path_join(plugin.site, kernels + "_versions.so")})
    if (scene.system().status(path))
      if (auto failure = trace.load(path)) framework.import_problems.push_back(*failure);
  const auto versions = mapped(scene, trace, path_join(plugin.site, kernels + "_versions.so"));
  if (versions) trace.open(libraries_of(plugin).front().soname, versions, "required");
  return versions;
}

// The first device query: preload, the version check of the plugin's Python part (which initialises
// CUDA), and only then the plugin itself.
void trace_query(const FrameworkScene& scene, const Plugin& plugin,
                 std::optional<std::size_t> versions, LibraryTrace& trace, Framework& framework) {
  trace.at("query");
  const auto source = scene.system().read(path_join(plugin.package, "__init__.py"), 1 << 20);
  for (const auto& path : preload_paths(scene, source.value_or(""))) trace.load(path);
  const auto object = path_join(plugin.package, "xla_cuda_plugin.so");
  if (!versions) {
    if (auto failure = trace.load(object)) framework.import_problems.push_back(*failure);
    versions = mapped(scene, trace, object);
    if (!versions) return;
  }
  // The constructor of libcublasLt opens the driver first; without wheels it comes later, and then
  // the version check has opened it.
  const auto early = trace.find("libcublasLt.so." + std::to_string(plugin.cuda_major));
  trace.open("libcuda.so.1", early ? early : versions, "driver");
  for (const auto& library : libraries_of(plugin))
    if (library.required) trace.open(library.soname, versions, "required");
  trace_cudnn_version(trace, scene.python());
  trace.at("device");
  if (!mapped(scene, trace, object))
    if (auto failure = trace.load(object)) framework.import_problems.push_back(*failure);
  const auto caller = mapped(scene, trace, object);
  if (!caller) return;
  framework.opener = Fact<std::string>::known(object, object);
  framework.opener_tag = search_tag(trace, *caller);
  trace_nvml(trace, *caller, framework);
  trace.at("use");
  for (const auto& library : libraries_of(plugin))
    if (!library.required) trace.open(library.soname, caller, "optional");
  trace_cudnn_parts(trace, scene.python());
}

void trace_libraries(const FrameworkScene& scene, const Plugin& plugin, Framework& framework) {
  LibraryTrace trace(scene);
  std::string problem;
  if (!trace.start(problem)) {
    framework.import_problems.push_back({scene.program, problem});
    return;
  }
  const auto versions = trace_import(scene, plugin, trace, framework);
  trace_query(scene, plugin, versions, trace, framework);
  framework.libraries = trace.take();
}

}  // namespace

Framework examine_jax(const FrameworkScene& scene, const std::string& site) {
  Framework framework;
  framework.name = "jax";
  framework.location = path_join(site, "jax");
  for (const auto& owner : owners_at(scene, site, {"jax"})) framework.owners.push_back(owner.name);
  if (!framework.owners.empty()) framework.distribution = framework.owners.front();
  read_versions(scene, site, framework);
  const auto plugins = find_plugins(scene);
  if (plugins.empty()) {
    describe_no_plugin(scene, framework);
    return framework;
  }
  if (plugins.size() > 1)
    framework.notes.push_back(
        "the plugins of CUDA 13 and CUDA 12 are both installed, and JAX mixes them: the prediction "
        "is for CUDA 13");
  describe_plugin(scene, plugins.front(), framework);
  read_catalogue(scene, plugins.front(), framework);
  trace_libraries(scene, plugins.front(), framework);
  return framework;
}

}  // namespace gpuwright
