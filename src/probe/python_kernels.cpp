#include "probe/python_kernels.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "probe/cuda.h"
#include "probe/facts.h"
#include "probe/python_environments.h"
#include "probe/python_layout.h"

// A notebook runs what the kernel's kernel.json names, whatever environment the shell has
// activated. Where Jupyter looks (jupyter_core, jupyter_path): JUPYTER_PATH, the user's data
// directory, the environment, the system.

namespace gpuwright {
namespace {

constexpr std::size_t kMost = 50;
constexpr std::size_t kMostBytes = 1 << 16;

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  return printable(found->get_ref<const std::string&>());
}

std::vector<std::string> kernel_directories(const System& system,
                                            const EnvironmentBlock& environment,
                                            const std::string& prefix) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& data) { found.push_back(path_join(data, "kernels")); };
  const auto search = variable(environment, "JUPYTER_PATH");
  for (const auto element : split(search, ':'))
    if (element.starts_with('/')) add(std::string(element));
  const auto own = variable(environment, "JUPYTER_DATA_DIR");
  const auto home = home_directory(system, environment);
  add(own.starts_with('/') ? own : path_join(home, ".local/share/jupyter"));
  if (!prefix.empty()) add(path_join(prefix, "share/jupyter"));
  add("/usr/local/share/jupyter");
  add("/usr/share/jupyter");
  return found;
}

// A bare "python" is the interpreter of the server, which in an environment's own directory is that
// environment's.
Fact<std::string> prefix_of(const System& system, const EnvironmentBlock& environment,
                            const std::string& program, const std::string& file,
                            const Interpreter& chosen) {
  using Text = Fact<std::string>;
  if (!program.starts_with('/')) {
    if (!chosen.prefix.empty() && file.starts_with(path_join(chosen.prefix, "share/jupyter/")))
      return Text::known(chosen.prefix, file);
    return Text::unknown(file, "'" + program + "' is the Python that runs the server");
  }
  const auto status = system.status(program);
  if (!status) return Text::from_error(program, status.error());
  const auto layout = find_python_layout(system, environment, program);
  if (!layout) return Text::unknown(program, layout.error().message);
  return Text::known(layout->prefix, program);
}

std::optional<JupyterKernel> read_kernel(const System& system, const EnvironmentBlock& environment,
                                         const std::string& file, const std::string& name,
                                         const Interpreter& chosen) {
  const auto text = system.read(file, kMostBytes);
  if (!text) return std::nullopt;
  const auto spec = parse_kernel_spec(*text);
  if (!spec) return std::nullopt;
  JupyterKernel kernel;
  kernel.name = printable(name);
  kernel.path = file;
  kernel.title = spec->title;
  kernel.program = spec->program;
  kernel.prefix = prefix_of(system, environment, spec->program, file, chosen);
  kernel.variables = gpu_variables(spec->variables);
  if (kernel.prefix.is_known()) kernel.frameworks = frameworks_of_prefix(system, *kernel.prefix);
  return kernel;
}

}  // namespace

std::optional<KernelSpec> parse_kernel_spec(std::string_view json) {
  const auto spec = nlohmann::json::parse(json, nullptr, false);
  if (!spec.is_object()) return std::nullopt;
  const auto argv = spec.find("argv");
  if (argv == spec.end() || !argv->is_array() || argv->empty() || !argv->front().is_string())
    return std::nullopt;
  const auto language = lower(text_of(spec, "language"));
  if (!language.empty() && language != "python") return std::nullopt;
  KernelSpec found;
  found.title = text_of(spec, "display_name");
  found.program = printable(argv->front().get_ref<const std::string&>());
  const auto variables = spec.find("env");
  if (variables == spec.end() || !variables->is_object()) return found;
  for (const auto& [name, value] : variables->items())
    if (value.is_string() && found.variables.size() < 200)
      found.variables[printable(name)] = printable(value.get_ref<const std::string&>());
  return found;
}

Fact<std::vector<JupyterKernel>> find_kernels(const System& system,
                                              const EnvironmentBlock& environment,
                                              const Interpreter& chosen) {
  std::vector<JupyterKernel> found;
  bool any = false;
  for (const auto& directory : kernel_directories(system, environment, chosen.prefix)) {
    const auto entries = system.list(directory);
    if (!entries) continue;
    any = true;
    std::size_t looked = 0;
    for (const auto& entry : *entries) {
      if (found.size() >= kMost || ++looked > kMost) break;
      const auto file = path_join(path_join(directory, entry.name), "kernel.json");
      if (auto kernel = read_kernel(system, environment, file, entry.name, chosen))
        found.push_back(std::move(*kernel));
    }
  }
  const std::string source = "share/jupyter/kernels";
  if (!any) return Fact<std::vector<JupyterKernel>>::absent(source);
  return Fact<std::vector<JupyterKernel>>::known(std::move(found), source);
}

}  // namespace gpuwright
