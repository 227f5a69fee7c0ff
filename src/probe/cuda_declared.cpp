#include "probe/cuda_declared.h"

#include <algorithm>

#include "base/text.h"
#include "probe/facts.h"
#include "probe/probe.h"

namespace gpuwright {
namespace {

constexpr std::string_view kNames[] = {
    "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH",
    "CUDA_ROOT",       "LD_PRELOAD",           "XLA_FLAGS", "CUDNN_PATH",
    "JAX_PLATFORMS"};
constexpr std::size_t kMostDeclared = 100;

/// A start-up file and who reads it. The first column is below the home directory when it does not
/// begin with a slash.
struct StartFile {
  const char* path;
  const char* scope;
};
constexpr StartFile kFiles[] = {
    {".bashrc", "interactive shell"},
    {".zshrc", "interactive shell"},
    {".profile", "login shell"},
    {".bash_profile", "login shell"},
    {".zprofile", "login shell"},
    {"/etc/profile", "login shell"},
    {"/etc/bash.bashrc", "interactive shell"},
    {"/etc/bashrc", "interactive shell"},
    {"/etc/environment", "every session"},
};

std::string unquoted(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
      value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  return printable(value);
}

// The statement up to a ';', '&' or '#' that stands outside quotes.
std::string_view statement_of(std::string_view line) {
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == ';' || c == '&' || (c == '#' && (i == 0 || line[i - 1] == ' '))) {
      return trim(line.substr(0, i));
    }
  }
  return trim(line);
}

void read_file(const System& system, const std::string& path, const char* scope,
               std::vector<DeclaredVariable>& declared) {
  const auto text = system.read(path, 256 << 10);
  if (!text) return;
  for (auto& one : parse_declared(*text, path, scope))
    if (declared.size() < kMostDeclared) declared.push_back(std::move(one));
}

void read_directory(const System& system, const std::string& path, const char* scope,
                    std::vector<DeclaredVariable>& declared) {
  const auto listed = system.list(path);
  if (!listed) return;
  std::size_t read = 0;
  for (const auto& entry : *listed)
    if (entry.name.ends_with(".sh") && read++ < 100)
      read_file(system, path_join(path, entry.name), scope, declared);
}

}  // namespace

std::vector<DeclaredVariable> parse_declared(std::string_view text, const std::string& file,
                                             const std::string& scope) {
  std::vector<DeclaredVariable> declared;
  for (const auto line : lines(text)) {
    auto statement = statement_of(trim(line));
    if (statement.starts_with("export ")) statement = trim(statement.substr(7));
    const auto equals = statement.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = statement.substr(0, equals);
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) continue;
    declared.push_back({std::string(name), unquoted(statement.substr(equals + 1)), file, scope});
  }
  return declared;
}

// Sources: the start-up files of the user's shells, /etc/profile and /etc/profile.d,
// environment(5), conda's activation scripts. HOME of sudo is root's: then the files of SUDO_USER's
// home are read.
Fill probe_declared(const ProbeInput& input) {
  const System& system = input.system;
  std::vector<DeclaredVariable> declared;
  const auto sudo_user = input.machine.host.sudo_user.value_or("");
  const auto home = sudo_user.empty() || sudo_user.find('/') != std::string::npos
                        ? variable_fact(system, "HOME").value_or("")
                        : "/home/" + sudo_user;
  for (const auto& file : kFiles) {
    const std::string path = file.path;
    if (path.starts_with('/'))
      read_file(system, path, file.scope, declared);
    else if (home.starts_with('/'))
      read_file(system, path_join(home, path), file.scope, declared);
  }
  read_directory(system, "/etc/profile.d", "login shell", declared);
  const auto conda = variable_fact(system, "CONDA_PREFIX");
  if (conda.is_known())
    read_directory(system, path_join(*conda, "etc/conda/activate.d"), "conda activation", declared);
  return [declared = std::move(declared)](Machine& machine) {
    machine.cuda.declared =
        Fact<std::vector<DeclaredVariable>>::known(declared, "start-up files of shells");
  };
}

}  // namespace gpuwright
