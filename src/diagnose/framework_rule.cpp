#include "diagnose/framework_rule.h"

namespace gpuwright {

std::string pip(const Machine& machine) {
  const auto& python = machine.python.interpreter;
  return (python.is_known() ? python->path : std::string("python3")) + " -m pip";
}

bool in_conda(const Machine& machine) {
  return machine.python.interpreter.is_known() && machine.python.interpreter->kind == "conda";
}

FixStep environment_step(std::string command, std::string text) {
  return {.command = std::move(command),
          .text = std::move(text),
          .needs_root = false,
          .changes = "packages of this Python environment",
          .undo = "install the former version again"};
}

FixStep shell_step(std::string command, std::string text) {
  return {.command = std::move(command),
          .text = std::move(text),
          .needs_root = false,
          .changes = "this shell and what is started from it",
          .undo = "open a new shell"};
}

std::optional<std::string> variable(const Machine& machine, const char* name) {
  const auto it = machine.cuda.variables.find(name);
  return it == machine.cuda.variables.end() ? std::nullopt : std::optional(it->second);
}

// The build's own record comes first where it is of another major than the catalogue's row, which
// tells of the official wheel: NVIDIA's image of TensorFlow 2.15 was built with cuDNN 9.
std::optional<Version> cudnn_of_build(const Machine& machine, const Catalog& catalog,
                                      const Framework& framework) {
  const auto& own = framework.build_cudnn;
  const auto& version = framework.version;
  if (framework.name == "jax" && own.is_known()) return *own;
  if (!version.is_known()) return std::nullopt;
  if (framework.name == "torch") {
    const auto& text = version->text();
    const auto plus = text.find('+');
    if (plus == std::string::npos) return std::nullopt;  // conda's, with a cuDNN of its own
    const auto build = catalog.torch(*version, text.substr(plus + 1),
                                     machine.host.architecture.value_or("x86_64"));
    return build ? build->cudnn : std::nullopt;
  }
  const auto release = framework.name == "tensorflow" ? catalog.tensorflow(*version) : std::nullopt;
  if (!release || !release->cudnn) return std::nullopt;
  if (own.is_known() && own->major_part() != release->cudnn->major_part()) return *own;
  return release->cudnn;
}

std::string title(const Framework& framework) {
  const std::string name = framework.name == "tensorflow" ? "TensorFlow"
                           : framework.name == "torch"    ? "PyTorch"
                                                          : "JAX";
  return framework.version.is_known() ? name + " " + framework.version->text() : name;
}

}  // namespace gpuwright
