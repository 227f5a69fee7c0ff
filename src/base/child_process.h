#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gpuwright {

/// A program to be started. Its standard input is /dev/null, it inherits no descriptor, and it
/// leads a process group of its own.
struct ChildCommand {
  std::vector<std::string> arguments;              ///< The first is the file, with a slash.
  std::map<std::string, std::string> environment;  ///< All of it.
  std::string directory = "/";
  std::chrono::milliseconds limit{5000};
  std::chrono::milliseconds grace{1000};  ///< Between SIGTERM and SIGKILL, and after that again.
  std::size_t out_limit = 1 << 20;  ///< Bytes of standard output that are kept: the first ones.
  std::size_t err_limit = 1 << 18;  ///< The same for standard error.
};

/// How a child ended, and what it said until then.
struct ChildEnd {
  enum class Kind {
    kExited,      ///< `code` is its exit status.
    kSignalled,   ///< `code` is the signal that ended it.
    kNoAnswer,    ///< Past its limit; its group was told to end, then killed.
    kNotStarted,  ///< `code` is the errno of the call that failed.
  } kind = Kind::kNotStarted;
  int code = 0;
  /// Past its limit and not even SIGKILL ended it: it sits in a call of the kernel (state D). It
  /// was left behind as `pid`.
  bool left_behind = false;
  int pid = 0;
  std::string out{}, err{};
  bool out_cut = false, err_cut = false;  ///< More came than the limit keeps.

  friend bool operator==(const ChildEnd&, const ChildEnd&) = default;
};

/// Runs the program to its end or its limit and always comes back: a child that cannot be killed is
/// left behind, and pipes that a grandchild keeps open are not waited for. What is left of the
/// child's group is killed. When this process dies, so does the child.
ChildEnd run_child(const ChildCommand& command);

/// "SIGSEGV"; "signal 64" for one without a name.
std::string signal_name(int signal);

/// Kills the group of the child that run_child waits for, if any. Safe in a signal handler.
void kill_running_child();

}  // namespace gpuwright
