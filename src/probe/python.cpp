#include "probe/python.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "probe/probe.h"
#include "probe/python_distributions.h"
#include "probe/python_environments.h"
#include "probe/python_interpreter.h"
#include "probe/python_kernels.h"
#include "probe/python_launchers.h"
#include "probe/python_path.h"
#include "probe/python_shadows.h"

namespace gpuwright {
namespace {

void fill_environment(const System& system, const EnvironmentBlock& environment,
                      const ChosenPython& chosen, Python& python) {
  auto search = find_search_path(system, environment, chosen.layout);
  const auto interpreter = describe_interpreter(system, environment, chosen, search.user_site);
  python.interpreter = Fact<Interpreter>::known(interpreter, chosen.source);
  python.sys_path = std::move(search.entries);
  std::move(search.unknowns.begin(), search.unknowns.end(),
            std::back_inserter(python.path_unknowns));
  python.distributions = find_distributions(system, python.sys_path);
  read_metadata(system, python.distributions);
  auto packages = find_conda_packages(system, interpreter.prefix, python.distributions);
  std::move(packages.begin(), packages.end(), std::back_inserter(python.distributions));
  python.shadows = Fact<std::vector<ModuleShadow>>::known(find_shadows(system, python.sys_path),
                                                          "working directory, sys.path");
}

// What a command typed here would reach, beside the interpreter that was chosen.
void fill_commands(const System& system, const EnvironmentBlock& environment, Python& python) {
  python.launchers =
      Fact<std::vector<Launcher>>::known(find_launchers(system, environment), "PATH");
  python.kernels = find_kernels(system, environment, python.interpreter.value_or(Interpreter{}));
}

std::string source_of_choice(const std::string& wanted) {
  return wanted.empty() ? "VIRTUAL_ENV, CONDA_PREFIX, PATH" : "--python " + wanted;
}

}  // namespace

Result<Interpreter> choose_interpreter(const System& system, const EnvironmentBlock& environment,
                                       const std::string& wanted) {
  return choose_python(system, environment, wanted).transform([&](const ChosenPython& chosen) {
    const auto search = find_search_path(system, environment, chosen.layout);
    return describe_interpreter(system, environment, chosen, search.user_site);
  });
}

Fill probe_python(const ProbeInput& input) {
  const auto& system = input.system;
  const auto& wanted = input.options.python;
  Python python;
  const auto block = system.environment();
  if (!block)
    python.path_unknowns.push_back("the environment block is not known (" + block.error().text() +
                                   "), PYTHONPATH and PYTHONHOME are taken as unset");
  const auto environment = block.value_or(EnvironmentBlock{});
  const auto chosen = choose_python(system, environment, wanted);
  if (chosen) {
    fill_environment(system, environment, *chosen, python);
  } else if (is_not_there(chosen.error())) {
    python.interpreter = Fact<Interpreter>::absent(source_of_choice(wanted));
  } else {
    python.interpreter =
        Fact<Interpreter>::unknown(source_of_choice(wanted), chosen.error().text());
  }
  if (block) fill_commands(system, environment, python);
  python.others =
      find_other_environments(system, environment, python.interpreter.value_or(Interpreter{}));
  return [python = std::move(python)](Machine& machine) { machine.python = python; };
}

}  // namespace gpuwright
