#include "probe/cuda.h"

#include <algorithm>

#include "base/text.h"
#include "probe/cuda_toolkits.h"
#include "probe/driver_libraries.h"
#include "probe/facts.h"
#include "probe/probe.h"

namespace gpuwright {

std::vector<std::string> split_search_path(std::string_view value) {
  std::vector<std::string> elements;
  for (const auto part : split(value, ':'))
    for (const auto element : split(part, ';')) elements.emplace_back(element);
  return elements;
}

std::vector<std::string> parse_preload(std::string_view text) {
  std::vector<std::string> names;
  for (const auto line : lines(text))
    for (const auto word : words(line.substr(0, line.find('#'))))
      for (const auto name : split(word, ':'))
        if (!name.empty()) names.push_back(printable(name));
  return names;
}

bool is_gpu_library_name(std::string_view file_name) {
  constexpr std::string_view kStems[] = {
      "libcuda",       "libcudart",      "libcublas",   "libcublasLt",  "libcufft",
      "libcurand",     "libcusolver",    "libcusparse", "libcudnn",     "libnccl",
      "libnvrtc",      "libnvJitLink",   "libcupti",    "libnvidia-ml", "libnvinfer",
      "libcusparseLt", "libnvshmem_host"};
  const auto at = file_name.find(".so.");
  if (at == std::string_view::npos) return false;
  if (std::find(std::begin(kStems), std::end(kStems), file_name.substr(0, at)) == std::end(kStems))
    return false;
  // One number, or two up to CUDA 11 (libcudart.so.11.0); a full version has three.
  const auto numbers = split(file_name.substr(at + 4), '.');
  return numbers.size() <= 2 && std::all_of(numbers.begin(), numbers.end(), [](auto number) {
           return parse_unsigned(number).has_value();
         });
}

namespace {

bool is_driver_library_name(std::string_view name) {
  return name.starts_with("libcuda.so") || name.starts_with("libnvidia-ml.so");
}

// "libcudnn.so.9, libcuda.so.1 (stub)". Stubs have the name of the development link, and are worth
// a mention under that as well: a link or copy away, they are found as libcuda.so.1.
std::string gpu_libraries_in(const System& system, const std::string& directory) {
  std::vector<std::string> found;
  for (const auto& entry : system.list(directory).value_or(std::vector<DirectoryEntry>{})) {
    const bool development_link = entry.name == "libcuda.so" || entry.name == "libnvidia-ml.so";
    if (!development_link && !is_gpu_library_name(entry.name)) continue;
    std::string note;
    if (is_driver_library_name(entry.name)) {
      const auto library = examine_driver_library(system, path_join(directory, entry.name));
      if (!library) continue;
      if (library->kind != "driver") note = " (" + library->kind + ")";
    }
    if (development_link && note != " (stub)") continue;
    found.push_back(printable(entry.name) + note);
  }
  return join(found, ", ");
}

PathElement examine_element(const System& system, const std::string& text) {
  PathElement element;
  element.text = printable(text);
  const auto here = system.working_directory().value_or("/");
  const auto directory = text.starts_with('/') ? text : path_join(here, text.empty() ? "." : text);
  const auto status = system.status(directory);
  element.exists = status && status->kind == FileKind::kDirectory;
  if (element.exists) element.holds = gpu_libraries_in(system, directory);
  return element;
}

Fact<std::vector<PathElement>> read_library_path(const System& system) {
  using Elements = std::vector<PathElement>;
  const auto value = variable_fact(system, "LD_LIBRARY_PATH");
  if (value.is_absent()) return Fact<Elements>::absent(value.source());
  if (value.is_unknown()) return Fact<Elements>::unknown(value.source(), value.reason());
  Elements elements;
  for (const auto& text : split_search_path(*value))
    elements.push_back(examine_element(system, text));
  return Fact<Elements>::known(std::move(elements), value.source());
}

// Sources in the loader's order: LD_PRELOAD; /etc/ld.so.preload, which concerns every program.
Fact<std::vector<std::string>> read_preload(const System& system) {
  using Names = std::vector<std::string>;
  const std::string path = "/etc/ld.so.preload";
  const auto variable = variable_fact(system, "LD_PRELOAD");
  if (variable.is_unknown()) return Fact<Names>::unknown(variable.source(), variable.reason());
  const auto file = system.read(path);
  if (!file && !is_not_there(file.error())) return Fact<Names>::unknown(path, file.error().message);
  auto names = parse_preload(variable.value_or(""));
  const bool by_variable = !names.empty();
  for (auto& name : parse_preload(file.value_or(""))) names.push_back(std::move(name));
  if (names.empty()) return Fact<Names>::absent("LD_PRELOAD, " + path);
  return Fact<Names>::known(std::move(names), by_variable ? "LD_PRELOAD, " + path : path);
}

}  // namespace

// Sources: the environment block; PATH and the usual directories for toolkits; LD_LIBRARY_PATH's
// directories; /etc/ld.so.preload.
Fill probe_cuda(const ProbeInput& input) {
  const System& system = input.system;
  Cuda cuda;
  const auto environment = system.environment();
  cuda.environment = environment ? Fact<bool>::known(true, "environment")
                                 : Fact<bool>::unknown("environment", environment.error().message);
  cuda.variables = gpu_variables(environment.value_or(Environment{}));
  cuda.nvcc_on_path = read_nvcc_on_path(system);
  cuda.toolkits = read_toolkits(system, cuda.nvcc_on_path);
  cuda.library_path = read_library_path(system);
  cuda.preload = read_preload(system);
  return [cuda = std::move(cuda)](Machine& machine) { machine.cuda = cuda; };
}

}  // namespace gpuwright
