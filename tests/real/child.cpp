#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace gpuwright::real {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

[[noreturn]] void become(std::vector<std::string> arguments, const Environment& environment,
                         const std::string& directory, const std::string& out,
                         const std::string& err) {
  std::vector<std::string> block;
  for (const auto& [name, value] : environment) block.push_back(name + "=" + value);
  setpgid(0, 0);
  const int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out_file, STDOUT_FILENO);
  dup2(err_file, STDERR_FILENO);
  if (chdir(directory.c_str()) == 0) {
    execve(arguments[0].c_str(), pointers(arguments).data(), pointers(block).data());
  }
  dprintf(STDERR_FILENO, "%s: %s\n", arguments[0].c_str(), std::strerror(errno));
  _exit(127);
}

int exit_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, const Environment& environment,
                      const std::string& directory, std::chrono::seconds limit) {
  const ScratchDirectory scratch;
  const std::string out = scratch.path() + "/out";
  const std::string err = scratch.path() + "/err";
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(arguments, environment, directory, out, err);

  ChildResult result;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      result.timed_out = true;
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  result.exit_status = exit_status(status);
  result.out = read_text(out);
  result.err = read_text(err);
  return result;
}

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (const auto equals = text.find('='); equals != std::string::npos)
      environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

ScratchDirectory::ScratchDirectory(const std::string& parent) {
  const auto base =
      parent.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(parent);
  path_ = (base / "gpuwright-real-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr)
    throw std::runtime_error("mkdtemp " + path_ + ": " + std::strerror(errno));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace gpuwright::real
