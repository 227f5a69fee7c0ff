#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "probe/probe.h"
#include "python_tree.h"
#include "support/elf_writer.h"

// The shape of the frameworks' wheels, written into a tree in memory: sonames, dynamic tags and
// needed names as read from the wheels on the package index (docs/testing.md), without their code.

namespace gpuwright {

inline constexpr const char* kSystemLibraries = "/usr/lib/x86_64-linux-gnu";

/// Debian 12 with a driver, and a virtual environment whose site-packages is filled by the test.
class WheelTree {
 public:
  WheelTree() {
    system.environment_block = {{"HOME", "/home/u"}, {"PATH", "/usr/bin"}};
    system.add_file("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
    system.add_file("/lib64/ld-linux-x86-64.so.2", write_elf({.soname = "ld-linux-x86-64.so.2"}));
    system.add_link("/lib", "usr/lib");
    object(std::string(kSystemLibraries) + "/libc.so.6",
           {.version_definitions = {"GLIBC_2.2.5", "GLIBC_2.36"}});
    for (const auto* name : {"libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1"})
      object(std::string(kSystemLibraries) + "/" + name);
    add_python(system, "/usr", "3.12");
    system.add_file("/usr/bin/python3.12",
                    write_elf({.interpreter = "/lib64/ld-linux-x86-64.so.2",
                               .needed = {"libm.so.6", "libz.so.1", "libc.so.6"},
                               .flags_1 = 0x8000000}),
                    0755);
    add_venv(system, "/env", "/usr", "3.12", kClosed);
    add_driver();
  }

  static std::string in_site(const std::string& below) {
    return "/env/lib/python3.12/site-packages/" + below;
  }
  /// nvidia/<folder>/lib/<name>
  static std::string wheel(const std::string& folder, const std::string& name) {
    return in_site("nvidia/" + folder + "/lib/" + name);
  }

  /// The file's name is the SONAME unless the spec has one.
  void object(const std::string& path, ElfSpec spec = {}) {
    if (spec.soname.empty()) spec.soname = std::string(path_name(path));
    system.add_file(path, write_elf(spec));
  }
  void text(const std::string& path, const std::string& content = "") {
    system.add_file(path, content);
  }
  void distribution(const std::string& name, const std::string& version) {
    system.add_file(in_site(name + "-" + version + ".dist-info/METADATA"), "");
  }
  void variable(const std::string& name, const std::string& value) {
    system.environment_block[name] = value;
  }

  /// libcuda and libnvidia-ml of driver 580.95.05 in the distribution's directory.
  void add_driver() {
    for (const auto* name : {"libcuda.so", "libnvidia-ml.so"}) {
      const auto path = std::string(kSystemLibraries) + "/" + name;
      object(path + ".580.95.05", {.soname = name + std::string(".1")});
      system.add_link(path + ".1", name + std::string(".580.95.05"));
    }
  }
  void remove_driver() {
    for (const auto* name : {"libcuda.so.1", "libnvidia-ml.so.1"})
      system.remove(std::string(kSystemLibraries) + "/" + name);
  }

  /// What the probes make of `framework`.
  Framework examine(const std::string& framework, const std::string& python = "/env") const {
    ProbeOptions options;
    options.python = python;
    Machine machine;
    probe_python({system, machine, Catalog::built_in(), options})(machine);
    probe_frameworks({system, machine, Catalog::built_in(), options})(machine);
    for (const auto& found : machine.frameworks)
      if (found.name == framework) return found;
    throw std::runtime_error("no " + framework + " in this tree");
  }

  MemorySystem system;
};

// ----------------------------------------------------------------- libraries of CUDA

/// CUDA 12.5 wheels with cuDNN 9.3, as TensorFlow 2.18 to 2.20 pin them.
inline void add_cuda12_wheels(WheelTree& tree) {
  const auto add = [&](const std::string& folder, const std::string& name, ElfSpec spec) {
    tree.object(WheelTree::wheel(folder, name), std::move(spec));
  };
  add("cuda_runtime", "libcudart.so.12", {});
  add("cublas", "libcublas.so.12", {.needed = {"libcublasLt.so.12"}, .runpath = "$ORIGIN"});
  add("cublas", "libcublasLt.so.12", {.runpath = "$ORIGIN"});
  add("cufft", "libcufft.so.11", {.runpath = "$ORIGIN:$ORIGIN/../../nvjitlink/lib"});
  add("curand", "libcurand.so.10", {.runpath = "$ORIGIN"});
  add("cusolver", "libcusolver.so.11",
      {.needed = {"libnvJitLink.so.12", "libcusparse.so.12", "libcublas.so.12",
                  "libcublasLt.so.12"},
       .runpath = "$ORIGIN:$ORIGIN/../../cublas/lib:$ORIGIN/../../nvjitlink/lib:"
                  "$ORIGIN/../../cusparse/lib"});
  add("cusparse", "libcusparse.so.12",
      {.needed = {"libnvJitLink.so.12"}, .runpath = "$ORIGIN/../../nvjitlink/lib:$ORIGIN"});
  add("nvjitlink", "libnvJitLink.so.12", {});
  add("cuda_cupti", "libcupti.so.12", {});
  add("cuda_nvrtc", "libnvrtc.so.12", {.runpath = "$ORIGIN"});
  add("cuda_nvrtc", "libnvrtc-builtins.so.12.5", {});
  add("nccl", "libnccl.so.2", {});
  add("nvtx", "libnvToolsExt.so.1", {});
  add("cudnn", "libcudnn.so.9", {.runpath = "$ORIGIN"});
  const std::string parts = "$ORIGIN:$ORIGIN/../../cublas/lib:$ORIGIN/../../nvrtc/lib";
  add("cudnn", "libcudnn_graph.so.9", {.needed = {"libz.so.1"}, .runpath = parts});
  add("cudnn", "libcudnn_ops.so.9", {.needed = {"libcudnn_graph.so.9"}, .runpath = parts});
  for (const auto* name : {"libcudnn_cnn.so.9", "libcudnn_adv.so.9"})
    add("cudnn", name, {.needed = {"libcudnn_ops.so.9", "libcudnn_graph.so.9"}, .runpath = parts});
  for (const auto* name : {"libcudnn_heuristic.so.9", "libcudnn_engines_precompiled.so.9",
                           "libcudnn_engines_runtime_compiled.so.9"})
    add("cudnn", name, {.needed = {"libcudnn_graph.so.9"}, .runpath = parts});
  tree.distribution("nvidia_cudnn_cu12", "9.3.0.75");
  tree.distribution("nvidia_cublas_cu12", "12.5.3.2");
}

/// CUDA 13.0 wheels with cuDNN 9.19, as PyTorch 2.11 pins them: all but four in nvidia/cu13.
inline void add_cuda13_wheels(WheelTree& tree) {
  const auto add = [&](const std::string& folder, const std::string& name, ElfSpec spec) {
    tree.object(WheelTree::wheel(folder, name), std::move(spec));
  };
  const auto origin = [](std::vector<std::string> needed = {}) {
    return ElfSpec{.needed = std::move(needed), .runpath = "$ORIGIN"};
  };
  for (const auto* name : {"libcudart.so.13", "libcupti.so.13", "libnvJitLink.so.13",
                           "libnvrtc.so.13", "libnvrtc-builtins.so.13.0"})
    add("cu13", name, {});
  for (const auto* name :
       {"libcublasLt.so.13", "libcufft.so.12", "libcurand.so.10", "libcufile.so.0"})
    add("cu13", name, origin());
  add("cu13", "libcublas.so.13", origin({"libcublasLt.so.13"}));
  add("cu13", "libcusparse.so.12", origin({"libnvJitLink.so.13"}));
  add("cu13", "libcusolver.so.12",
      origin({"libcublas.so.13", "libcublasLt.so.13", "libcusparse.so.12", "libnvJitLink.so.13"}));
  add("cusparselt", "libcusparseLt.so.0", {});
  add("nccl", "libnccl.so.2", {});
  add("nvshmem", "libnvshmem_host.so.3", {});
  add("cudnn", "libcudnn.so.9", origin());
  for (const auto* part : {"graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled",
                           "engines_runtime_compiled"})
    add("cudnn", std::string("libcudnn_") + part + ".so.9",
        {.runpath = "$ORIGIN:$ORIGIN/../../cu13/lib"});
  tree.distribution("nvidia_cudnn_cu13", "9.19.0.56");
  tree.distribution("nvidia_cublas", "13.1.0.3");
}

// ------------------------------------------------------------------- TensorFlow

inline std::string cuda_build_info(const std::string& cuda, const std::string& cudnn) {
  return "import collections\n\nbuild_info = collections.OrderedDict([('cpu_compiler', 'clang'), "
         "('cuda_compute_capabilities', ['sm_60', 'sm_90', 'compute_90']), ('cuda_version', '" +
         cuda + "'), ('cudnn_version', '" + cudnn +
         "'), ('is_cuda_build', True), ('is_rocm_build', False)])\n";
}

/// nvidia/<folder>/lib from two depths, as TensorFlow's and JAX's objects name it.
inline std::string wheel_path(const std::vector<std::string>& folders) {
  std::string path;
  for (const auto& folder : folders)
    path += (path.empty() ? "" : ":") + ("$ORIGIN/../../nvidia/" + folder) +
            "/lib:$ORIGIN/../nvidia/" + folder + "/lib";
  return path;
}

/// One release: where its opener looks.
struct TensorFlowShape {
  std::string version;
  std::string cuda, cudnn;
  std::string opener_runpath;
};

inline void add_tensorflow(WheelTree& tree, const TensorFlowShape& shape) {
  const auto in_package = [](const std::string& below) {
    return WheelTree::in_site("tensorflow/" + below);
  };
  tree.distribution("tensorflow", shape.version);
  tree.text(in_package("__init__.py"));
  tree.text(in_package("python/platform/build_info.py"), cuda_build_info(shape.cuda, shape.cudnn));
  const std::vector<std::string> standard = {"libm.so.6", "libstdc++.so.6", "libc.so.6"};
  tree.object(in_package("libtensorflow_framework.so.2"),
              {.needed = standard,
               .runpath = shape.opener_runpath,
               .defines = {"_ZN3tsl8internal18LoadDynamicLibraryEPKcPPv"}});
  tree.object(in_package("libtensorflow_cc.so.2"),
              {.needed = {"libtensorflow_framework.so.2"}, .runpath = "$ORIGIN/"});
  tree.object(in_package("python/_pywrap_tensorflow_internal.so"),
              {.needed = {"libtensorflow_cc.so.2", "libtensorflow_framework.so.2"},
               .runpath = "$ORIGIN/:$ORIGIN/.."});
  tree.object(in_package("python/platform/_pywrap_cpu_feature_guard.so"),
              {.needed = {"libtensorflow_framework.so.2", "_pywrap_tensorflow_internal.so"},
               .runpath = "$ORIGIN/../..:$ORIGIN/.."});
}

// ---------------------------------------------------------------------- PyTorch

struct TorchShape {
  std::string version;              ///< "2.11.0+cu130"
  std::string cuda;                 ///< "13.0"
  std::string init;                 ///< Text of __init__.py.
  std::vector<std::string> wheels;  ///< Folders in DT_RPATH: "cudnn", "cu13".
  std::vector<std::string> global_deps, cpu, cuda_needed, linalg;
};

inline void add_torch(WheelTree& tree, const TorchShape& shape) {
  const auto in_package = [](const std::string& below) {
    return WheelTree::in_site("torch/" + below);
  };
  tree.text(in_package("__init__.py"), shape.init);
  tree.text(in_package("version.py"), "from typing import Optional\n\n__version__ = '" +
                                          shape.version + "'\ncuda: Optional[str] = '" +
                                          shape.cuda + "'\nhip: Optional[str] = None\n");
  tree.distribution("torch", shape.version);
  std::string rpath;
  for (const auto& folder : shape.wheels) rpath += "$ORIGIN/../../nvidia/" + folder + "/lib:";
  rpath += "$ORIGIN";
  const auto add = [&](const std::string& name, std::vector<std::string> needed) {
    tree.object(in_package("lib/" + name), {.needed = std::move(needed), .rpath = rpath});
  };
  const auto and_then = [](std::vector<std::string> first, const std::vector<std::string>& more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
  };
  add("libtorch_global_deps.so", shape.global_deps);
  add("libtorch_cpu.so", and_then(shape.cpu, {"libstdc++.so.6"}));
  add("libc10_cuda.so", {shape.global_deps.front()});
  add("libtorch_cuda.so", and_then(shape.cuda_needed, {"libtorch_cpu.so", "libc10_cuda.so"}));
  add("libtorch_cuda_linalg.so", shape.linalg);
  add("libtorch_python.so", {"libtorch_cuda.so", "libtorch_cpu.so"});
  tree.object(in_package("_C.cpython-312-x86_64-linux-gnu.so"),
              {.needed = {"libtorch_python.so"}, .rpath = "$ORIGIN:$ORIGIN/lib"});
}

// -------------------------------------------------------------------------- JAX

/// The preload of jax_plugins/xla_cuda1x/__init__.py since 0.7.0.
inline constexpr const char* kJaxPlugin = R"(
def _load(module, libraries):
  pass

def _load_nvidia_libraries():
  _load("cuda_runtime", ["libcudart.so.12"])
  _load("cu13", ["libcudart.so.13"])
  _load("cublas", ["libcublas.so.12", "libcublasLt.so.12"])
  _load("cu13", ["libcublas.so.13", "libcublasLt.so.13"])
  _load("nccl", ["libnccl.so.2"])
  _load("cuda_cupti", ["libcupti.so.12"])
  _load("cu13", ["libcupti.so.13"])
  _load("cusparse", ["libcusparse.so.12"])
  _load("cu13", ["libcusparse.so.12"])
  _load("cusolver", ["libcusolver.so.11"])
  _load("cu13", ["libcusolver.so.12"])
  _load("cufft", ["libcufft.so.11"])
  _load("cu13", ["libcufft.so.12"])
  _load("cudnn", ["libcudnn.so.9"])

def _check_cuda_versions():
  pass
)";

inline void add_jax(WheelTree& tree, const std::string& version, const std::string& cuda_major,
                    const std::string& plugin_version) {
  const auto plugin = "jax_cuda" + cuda_major + "_plugin";
  const auto backend = "jax_plugins/xla_cuda" + cuda_major;
  tree.distribution("jax", version);
  tree.distribution("jaxlib", version);
  tree.distribution(plugin, plugin_version);
  tree.text(WheelTree::in_site("jax/__init__.py"));
  tree.text(WheelTree::in_site("jaxlib/__init__.py"));
  tree.text(WheelTree::in_site(plugin + "/__init__.py"));
  tree.text(WheelTree::in_site(backend + "/__init__.py"), kJaxPlugin);
  tree.object(WheelTree::in_site("jaxlib/_jax.so"), {.needed = {"libstdc++.so.6"}});
  const bool thirteen = cuda_major == "13";
  const auto kernels = thirteen ? wheel_path({"cu13", "cudnn"})
                                : wheel_path({"cublas", "cuda_runtime", "cudnn", "cufft",
                                              "cuda_cupti", "cusolver", "cusparse"});
  const auto client = thirteen ? wheel_path({"cu13", "cudnn", "nccl"})
                               : wheel_path({"cuda_cupti", "cublas", "cuda_runtime", "cudnn",
                                             "cufft", "cusparse", "nccl"});
  tree.object(WheelTree::in_site(plugin + "/_versions.so"), {.rpath = kernels});
  tree.object(WheelTree::in_site(plugin + "/_solver.so"), {.rpath = kernels});
  tree.object(WheelTree::in_site(backend + "/xla_cuda_plugin.so"), {.rpath = client});
}

}  // namespace gpuwright
