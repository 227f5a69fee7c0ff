#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

// What the tests need that hold the model to the real loader: a child process with an environment
// of its own, and a directory on disk.

namespace gpuwright::loader {

using Environment = std::map<std::string, std::string>;

/// A directory of its own for one test, removed at its end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "gpuwright-loader-XXXXXX";
    path_ = std::filesystem::canonical(::mkdtemp(name.data()));
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What a command left.
struct Finished {
  std::string out;
  std::string err;
  int status = -1;  ///< As waitpid gives it; -1 when nothing was started.
};

/// Both pipes to their ends, whichever fills first.
inline void drain(const std::array<int, 2>& pipes, Finished& finished) {
  std::array<pollfd, 2> wait{pollfd{pipes[0], POLLIN, 0}, pollfd{pipes[1], POLLIN, 0}};
  std::array<char, 16384> buffer;
  for (int open = 2; open > 0 && ::poll(wait.data(), wait.size(), -1) > 0;)
    for (std::size_t i = 0; i < wait.size(); ++i) {
      if (wait[i].revents == 0) continue;
      const auto got = ::read(wait[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        (i == 0 ? finished.out : finished.err).append(buffer.data(), static_cast<std::size_t>(got));
        continue;
      }
      ::close(wait[i].fd);
      wait[i].fd = -1;
      --open;
    }
}

/// Runs `command` in `directory` with exactly this environment.
inline Finished run(const std::vector<std::string>& command, const Environment& environment,
                    const std::string& directory) {
  Finished finished;
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return finished;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  std::vector<std::string> words = command;
  std::vector<std::string> block;
  for (const auto& [name, value] : environment) block.push_back(name + "=" + value);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (auto& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  };
  pid_t child = -1;
  const int error = ::posix_spawn(&child, command[0].c_str(), &actions, nullptr,
                                  pointers(words).data(), pointers(block).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  drain({out[0], err[0]}, finished);
  if (error == 0) ::waitpid(child, &finished.status, 0);
  return finished;
}

}  // namespace gpuwright::loader
