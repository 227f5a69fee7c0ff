#pragma once

#include <string>
#include <utility>
#include <vector>

// torch/__init__.py by release: only the functions that load libraries, in the form that each
// release gives them. Written for these tests after reading the wheels.

namespace gpuwright {

using FolderAndLibrary = std::pair<std::string, std::string>;

inline std::vector<FolderAndLibrary> eleven_libraries() {
  return {{"cublas", "cublas"},       {"cudnn", "cudnn"},       {"cuda_nvrtc", "nvrtc"},
          {"cuda_runtime", "cudart"}, {"cuda_cupti", "cupti"},  {"cufft", "cufft"},
          {"curand", "curand"},       {"cusolver", "cusolver"}, {"cusparse", "cusparse"},
          {"nccl", "nccl"},           {"nvtx", "nvToolsExt"}};
}

inline std::vector<FolderAndLibrary> libraries_of_2_10() {
  return {{"cublas", "cublas"},
          {"cudnn", "cudnn"},
          {"cuda_nvrtc", "nvrtc"},
          {"cuda_nvrtc", "nvrtc-builtins"},
          {"cuda_runtime", "cudart"},
          {"cuda_cupti", "cupti"},
          {"cufft", "cufft"},
          {"curand", "curand"},
          {"nvjitlink", "nvJitLink"},
          {"cusparse", "cusparse"},
          {"cusparselt", "cusparseLt"},
          {"cusolver", "cusolver"},
          {"nccl", "nccl"},
          {"nvshmem", "nvshmem_host"},
          {"cufile", "cufile"}};
}

inline std::string library_lines(const std::vector<FolderAndLibrary>& libraries,
                                 const std::string& before, const std::string& between,
                                 const std::string& after) {
  std::string text;
  for (const auto& [folder, library] : libraries)
    text +=
        before + "\"" + folder + "\"" + between + "\"lib" + library + ".so.*[0-9]\"" + after + "\n";
  return text;
}

/// 2.0 to 2.4: nothing after success, a dict after a failure.
inline std::string torch_init_2_4() {
  return R"(
def _preload_cuda_deps(lib_folder, lib_name):
    """Finds one library in the wheels of NVIDIA."""
    for path in sys.path:
        nvidia_path = os.path.join(path, "nvidia")
        candidates = glob.glob(os.path.join(nvidia_path, lib_folder, "lib", lib_name))
    ctypes.CDLL(lib_path)

def _load_global_deps():
    lib_name = "libtorch_global_deps" + (".dylib" if platform.system() == "Darwin" else ".so")
    try:
        ctypes.CDLL(lib_path, mode=ctypes.RTLD_GLOBAL)
    except OSError as err:
        cuda_libs: Dict[str, str] = {
)" + library_lines(eleven_libraries(), "            ", ": ", ",") +
         R"(        }
        is_cuda_lib_err = [lib for lib in cuda_libs.values() if lib.split(".")[0] in err.args[0]]
        if not is_cuda_lib_err:
            raise err
        for lib_folder, lib_name in cuda_libs.items():
            _preload_cuda_deps(lib_folder, lib_name)
        ctypes.CDLL(lib_path, mode=ctypes.RTLD_GLOBAL)

if USE_GLOBAL_DEPS:
    _load_global_deps()
)";
}

/// 2.6 to 2.8: two libraries after success, when cudart is that of the wheel.
inline std::string torch_init_2_6() {
  return R"(
def _preload_cuda_deps(lib_folder: str, lib_name: str) -> None:
    for path in sys.path:
        candidates = glob.glob(os.path.join(nvidia_path, lib_folder, "lib", lib_name))
        # if path/nvidia/lib_folder/ is not found look in path/lib_folder/
        if not candidates:
            candidates = glob.glob(os.path.join(path, lib_folder, "lib", lib_name))
    ctypes.CDLL(lib_path)

def _load_global_deps() -> None:
    try:
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)
        try:
            # it's there when a wheel brought it
            if "nvidia/cuda_runtime/lib/libcudart.so" not in _maps:
                return
            _preload_cuda_deps("cuda_nvrtc", "libnvrtc.so.*[0-9]")
            _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
        except Exception:
            pass

    except OSError as err:
        cuda_libs: _Dict[str, str] = {
)" + library_lines(eleven_libraries(), "            ", ": ", ",") +
         R"(        }
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)

_load_global_deps()
)";
}

/// 2.9: the layout of CUDA 13 is known, and an optional library stands in a call of its own.
inline std::string torch_init_2_9() {
  return R"(
def _get_cuda_dep_paths(path: str, lib_folder: str, lib_name: str) -> list[str]:
    nvidia_lib_paths = glob.glob(os.path.join(path, "nvidia", lib_folder, "lib", lib_name))
    nvidia_lib_paths += glob.glob(os.path.join(path, "nvidia", f"cu{maj}", "lib", lib_name))
    lib_paths = glob.glob(os.path.join(path, lib_folder, "lib", lib_name))
    return nvidia_lib_paths + lib_paths

def _preload_cuda_deps(lib_folder: str, lib_name: str, required: bool = True) -> None:
    for path in sys.path:
        candidates = _get_cuda_dep_paths(path, lib_folder, lib_name)

def _load_global_deps() -> None:
    try:
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)
        try:
            if "libcudart.so" not in _maps:
                return
            _preload_cuda_deps("cuda_nvrtc", "libnvrtc.so.*[0-9]")
            _preload_cuda_deps("cuda_nvrtc", "libnvrtc-builtins.so.*[0-9]")
            _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
        except Exception:
            pass

    except OSError as err:
        cuda_libs: dict[str, str] = {
            "cublas": "libcublas.so.*[0-9]",
            "cufile": "libcufile.so.*[0-9]",
        }
        _preload_cuda_deps("nvtx", "libnvToolsExt.so.*[0-9]", required=False)
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)

_load_global_deps()
)";
}

/// 2.10 and newer: one list for both sides. `arguments` of the call after success: "" up to 2.13,
/// "required=False" since 2.14.
inline std::string torch_init_2_10(std::vector<FolderAndLibrary> libraries,
                                   const std::string& arguments) {
  return R"(
def _get_cuda_dep_paths(path: str, lib_folder: str, lib_name: str) -> list[str]:
    nvidia_lib_paths = glob.glob(os.path.join(path, "nvidia", lib_folder, "lib", lib_name))
    nvidia_lib_paths += glob.glob(os.path.join(path, "nvidia", f"cu{maj}", "lib", lib_name))
    return nvidia_lib_paths + glob.glob(os.path.join(path, lib_folder, "lib", lib_name))

def _preload_cuda_lib(lib_folder: str, lib_name: str, required: bool = True) -> None:
    ctypes.CDLL(lib_path)

def _preload_cuda_deps(err: OSError | None = None, required: bool = True) -> None:
    cuda_libs: list[tuple[str, str]] = [
)" + library_lines(libraries, "        (", ", ", "),") +
         R"(    ]
    for lib_folder, lib_name in cuda_libs:
        _preload_cuda_lib(lib_folder, lib_name, required=required)
    _preload_cuda_lib("nvtx", "libnvToolsExt.so.*[0-9]", required=False)

def _load_global_deps() -> None:
    lib_ext = ".dylib" if platform.system() == "Darwin" else ".so"
    try:
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)
        try:
            if "libcudart.so" not in _maps:
                return
            _preload_cuda_deps()" +
         arguments + R"()
        except Exception:
            pass

    except OSError as err:
        _preload_cuda_deps(err)
        ctypes.CDLL(global_deps_lib_path, mode=ctypes.RTLD_GLOBAL)

_load_global_deps()
)";
}

/// 2.11: cuBLASLt before cuBLAS.
inline std::string torch_init_2_11() {
  auto libraries = libraries_of_2_10();
  libraries.insert(libraries.begin(), {"cublas", "cublasLt"});
  return torch_init_2_10(libraries, "");
}

/// 2.15: without cuRAND, and a gap ends nothing.
inline std::string torch_init_2_15() {
  auto libraries = libraries_of_2_10();
  libraries.insert(libraries.begin(), {"cublas", "cublasLt"});
  std::erase_if(libraries, [](const auto& library) { return library.first == "curand"; });
  return torch_init_2_10(libraries, "required=False");
}

}  // namespace gpuwright
