#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace gpuwright {

/// Everything a run of the program gives back.
struct ProgramRun {
  int status = 0;  ///< Exit status, or 128 + signal.
  std::string out;
  std::string err;
};

inline std::string read_whole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A directory of its own, gone with the value.
class TempDirectory {
 public:
  /// Below `place`, the usual place for temporary files when it is empty.
  explicit TempDirectory(const std::filesystem::path& place = {}) {
    const auto parent = place.empty() ? std::filesystem::temp_directory_path() : place;
    std::string pattern = (parent / "gpuwright-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

 private:
  std::filesystem::path path_;
};

/// Runs `words` (the first is looked up on PATH) with a small environment of its own, so that the
/// result does not depend on who runs the tests. Standard streams are files: no pipe to fill.
inline ProgramRun run_words(const std::vector<std::string>& words, const std::string& input = {},
                            const std::vector<std::string>& environment = {},
                            const std::string& directory = "/") {
  const TempDirectory streams;
  streams.write("in", input);
  const std::string in = streams / "in", out = streams / "out", err = streams / "err";
  const auto bin = std::filesystem::path(GPUWRIGHT_PROGRAM).parent_path().string();
  const std::string path = "PATH=" + bin + ":/usr/bin:/bin";
  std::vector<const char*> arguments, block = {path.c_str()};
  for (const auto& word : words) arguments.push_back(word.c_str());
  for (const auto& item : environment) block.push_back(item.c_str());
  arguments.push_back(nullptr);
  block.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto put = [](const std::string& name, int flags, int descriptor) {
      const int opened = ::open(name.c_str(), flags, 0600);
      if (opened < 0 || ::dup2(opened, descriptor) < 0) ::_exit(126);
    };
    put(in, O_RDONLY, 0);
    put(out, O_WRONLY | O_CREAT | O_TRUNC, 1);
    put(err, O_WRONLY | O_CREAT | O_TRUNC, 2);
    if (::chdir(directory.c_str()) != 0) ::_exit(126);
    std::signal(SIGPIPE, SIG_DFL);
    ::execvpe(arguments[0], const_cast<char**>(arguments.data()), const_cast<char**>(block.data()));
    ::_exit(127);
  }
  int raw = 0;
  ::waitpid(child, &raw, 0);
  const int status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
  return {status, read_whole(out), read_whole(err)};
}

/// Runs the built program with these arguments.
inline ProgramRun run_program(std::vector<std::string> arguments, const std::string& input = {},
                              const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), GPUWRIGHT_PROGRAM);
  return run_words(arguments, input, environment);
}

}  // namespace gpuwright
