#include "probe/python_launchers.h"

#include "base/text.h"
#include "probe/python_layout.h"
#include "probe/python_shim.h"

// `pip` is a script that names its Python in the first line, so which environment it installs into
// depends on the script that PATH finds and not on the `python` next to it on the command line.

namespace gpuwright {
namespace {

constexpr const char* kCommands[] = {"pip", "pip3", "python", "python3", "jupyter", "ipython"};
constexpr std::size_t kHeadBytes = 4096;

// "/usr/bin/env -S python3 -E": the first word that is neither an option nor an assignment.
std::string command_of_env(const std::vector<std::string_view>& words) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!words[i].starts_with('-') && words[i].find('=') == std::string_view::npos)
      return std::string(words[i]);
  return {};
}

// '''exec' "/a very/long path/bin/python" "$0" "$@"
std::string interpreter_of_exec(std::string_view script) {
  const auto rest = value_after(script, "'''exec' ");
  if (!rest || rest->empty()) return {};
  if (rest->front() != '"') return std::string(rest->substr(0, rest->find(' ')));
  const auto close = rest->find('"', 1);
  return close == std::string_view::npos ? std::string() : std::string(rest->substr(1, close - 1));
}

bool is_python(std::string_view program) {
  const auto name = path_name(program);
  return name.starts_with("python") || name.starts_with("pypy");
}

Fact<std::string> interpreter_of(const System& system, const EnvironmentBlock& environment,
                                 const std::string& program) {
  using Text = Fact<std::string>;
  const auto followed = follow_shim(system, environment, program);
  const std::string path = followed ? followed->path : program;
  if (is_python(program)) return Text::known(path, program);
  const auto text = system.read(path, kHeadBytes);
  if (!text) return Text::unknown(path, text.error().message);
  const auto named = parse_script_interpreter(*text);
  if (named.empty()) return Text::unknown(path, "its first line names no Python");
  if (named.starts_with('/')) return Text::known(named, path);
  const auto found = find_on_path(system, environment, named);
  if (found.empty()) return Text::unknown(path, printable(named) + " is not on PATH");
  return Text::known(found, path);
}

Launcher describe(const System& system, const EnvironmentBlock& environment,
                  const std::string& command, const std::string& path) {
  Launcher launcher;
  launcher.command = command;
  launcher.path = path;
  const auto interpreter = interpreter_of(system, environment, path);
  launcher.interpreter = launcher.prefix = interpreter;
  if (!interpreter.is_known()) return launcher;
  const auto layout = find_python_layout(system, environment, *interpreter);
  if (!layout) {
    launcher.prefix = Fact<std::string>::unknown(*interpreter, layout.error().message);
    return launcher;
  }
  launcher.interpreter = Fact<std::string>::known(layout->real_executable, interpreter.source());
  launcher.prefix = Fact<std::string>::known(layout->prefix, *interpreter);
  return launcher;
}

}  // namespace

std::string parse_script_interpreter(std::string_view script) {
  if (!script.starts_with("#!")) return {};
  const auto first = script.substr(2, script.find('\n') - 2);
  const auto parts = words(first);
  if (parts.empty()) return {};
  const auto name = path_name(parts[0]);
  if (name == "env") {
    const auto command = command_of_env(parts);
    return is_python(command) ? command : std::string();
  }
  if (name == "sh") return interpreter_of_exec(script);
  return is_python(parts[0]) ? std::string(parts[0]) : std::string();
}

std::vector<Launcher> find_launchers(const System& system, const EnvironmentBlock& environment) {
  std::vector<Launcher> found;
  for (const std::string command : kCommands) {
    const auto path = find_on_path(system, environment, command);
    if (!path.empty()) found.push_back(describe(system, environment, command, path));
  }
  return found;
}

}  // namespace gpuwright
