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

std::string title(const Framework& framework) {
  const std::string name = framework.name == "tensorflow" ? "TensorFlow"
                           : framework.name == "torch"    ? "PyTorch"
                                                          : "JAX";
  return framework.version.is_known() ? name + " " + framework.version->text() : name;
}

}  // namespace gpuwright
