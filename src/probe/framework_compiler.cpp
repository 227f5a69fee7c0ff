#include "probe/framework_compiler.h"

#include "base/text.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

constexpr std::string_view kDataDirectory = "--xla_gpu_cuda_data_dir=";

std::string named_by_flag(std::string_view flags) {
  for (auto word : words(flags))
    if (word.starts_with(kDataDirectory)) return std::string(word.substr(kDataDirectory.size()));
  return {};
}

Fact<std::string> first_of(const System& system, const std::vector<std::string>& paths,
                           const std::string& source) {
  for (const auto& path : paths) {
    const auto status = system.status(path);
    if (status && status->kind == FileKind::kRegular) return Fact<std::string>::known(path, path);
    if (!status && !is_not_there(status.error()))
      return Fact<std::string>::unknown(path, status.error().message);
  }
  return Fact<std::string>::absent(source);
}

}  // namespace

std::vector<std::string> cuda_roots(const System& system, const std::string& site,
                                    const std::string& xla_flags) {
  std::vector<std::string> roots;
  const auto add = [&](const std::string& root) {
    if (!root.empty()) roots.push_back(root);
  };
  const auto here = system.working_directory().value_or("/");
  const auto named = named_by_flag(xla_flags);
  add(named.empty() || named.starts_with('/') ? named : path_join(here, named));
  add(path_join(here, "cuda_sdk_lib"));
  add(variable_fact(system, "CUDA_HOME").value_or(""));
  for (const auto& entry :
       system.list("/usr/local")
           .value_or(std::vector<DirectoryEntry>{}))  // The one it was built with.
    if (entry.name.starts_with("cuda-")) add("/usr/local/" + entry.name);
  add("/usr/local/cuda");
  add("/opt/cuda");
  for (const auto* wheel : {"nvidia/cuda_nvcc", "nvidia/cu12", "nvidia/cu13", "tensorflow/cuda"})
    add(path_join(site, wheel));
  // conda: <prefix>/lib/python3.12/site-packages
  const auto prefix = path_directory(path_directory(path_directory(site)));
  add(prefix);
  add(path_join(prefix, "targets/x86_64-linux"));
  add("/usr/lib/cuda");
  add("/usr/lib/nvidia-cuda-toolkit");
  return roots;
}

void find_compiler(const System& system, const std::string& site, Framework& framework) {
  const auto roots = cuda_roots(system, site, variable_fact(system, "XLA_FLAGS").value_or(""));
  std::vector<std::string> devices, compilers;
  const auto path = variable_fact(system, "PATH").value_or("");
  for (const auto directory : split(path, ':'))
    if (directory.starts_with('/')) compilers.push_back(path_join(directory, "ptxas"));
  for (const auto& root : roots) {
    devices.push_back(path_join(root, "nvvm/libdevice/libdevice.10.bc"));
    devices.push_back(path_join(root, "libdevice/libdevice.10.bc"));
    compilers.push_back(path_join(root, "bin/ptxas"));
  }
  framework.libdevice = first_of(system, devices, "directories that XLA searches");
  framework.ptxas = first_of(system, compilers, "PATH, directories that XLA searches");
}

}  // namespace gpuwright
