#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

namespace gpuwright {
namespace {

using Clock = std::chrono::steady_clock;

// Group of the child in hand, for the handler of SIGINT; 0 when there is none.
std::atomic<pid_t> running_group{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// A descriptor, closed with the value.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

// Away from 0, 1 and 2: where those are closed, a new descriptor takes their place, and the child's
// dup2 would write over it.
Descriptor lifted(int number) {
  Descriptor low(number);
  return Descriptor(::fcntl(number, F_DUPFD_CLOEXEC, 3));
}

struct Pipe {
  Descriptor read_end, write_end;
};

// 0, or the errno.
int open_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  pipe.read_end = lifted(ends[0]);
  pipe.write_end = lifted(ends[1]);
  if (!pipe.read_end.is_open() || !pipe.write_end.is_open()) return errno;
  return ::fcntl(pipe.read_end.number(), F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

/// What the child needs between fork and exec, made before: there only system calls are allowed,
/// since other threads may have held locks.
struct Prepared {
  std::vector<std::string> variables;
  std::vector<char*> arguments, environment;
  const char* directory = nullptr;
  Descriptor null;
  Pipe out, err, failure;
};

int prepare(const ChildCommand& command, Prepared& prepared) {
  if (command.arguments.empty()) return EINVAL;
  for (const auto& argument : command.arguments)
    prepared.arguments.push_back(const_cast<char*>(argument.c_str()));
  prepared.arguments.push_back(nullptr);
  for (const auto& [name, value] : command.environment)
    prepared.variables.push_back(name + "=" + value);
  for (auto& variable : prepared.variables) prepared.environment.push_back(variable.data());
  prepared.environment.push_back(nullptr);
  prepared.directory = command.directory.c_str();
  prepared.null = lifted(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!prepared.null.is_open()) return errno;
  for (auto* pipe : {&prepared.out, &prepared.err, &prepared.failure})
    if (const int error = open_pipe(*pipe); error != 0) return error;
  return 0;
}

// Signals as a shell would hand them on. Handlers vanish with exec; what is ignored would stay.
void reset_signals() {
  for (const int signal : {SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Descriptors that whoever started us left open are none of the child's business.
void hide_descriptors() {
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC, Linux 5.11
  static_cast<void>(::syscall(SYS_close_range, 3U, ~0U, kCloseOnExec));
#endif
}

[[noreturn]] void become_program(const Prepared& prepared, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before prctl
  reset_signals();
  hide_descriptors();
  const bool placed =
      ::dup2(prepared.null.number(), 0) == 0 && ::dup2(prepared.out.write_end.number(), 1) == 1 &&
      ::dup2(prepared.err.write_end.number(), 2) == 2 && ::chdir(prepared.directory) == 0;
  if (placed)
    ::execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  const int error = errno;
  static_cast<void>(!::write(prepared.failure.write_end.number(), &error, sizeof error));
  ::_exit(127);
}

/// One stream of the child: what is kept of it.
struct Stream {
  Descriptor& from;
  std::string& into;
  bool& cut;
  std::size_t limit;
};

// Takes what is there now; closes the descriptor at its end.
void drain(Stream& stream) {
  char block[1 << 14];
  // A child that writes without end must not hold us here past its limit.
  for (int rounds = 0; rounds < 64 && stream.from.is_open(); ++rounds) {
    const ssize_t got = ::read(stream.from.number(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return stream.from.close();
    const auto size = static_cast<std::size_t>(got);
    const std::size_t room = stream.limit - std::min(stream.limit, stream.into.size());
    stream.into.append(block, std::min(room, size));
    if (size > room) stream.cut = true;
  }
}

/// A child that was started.
class Running {
 public:
  Running(pid_t pid, Prepared& prepared, const ChildCommand& command, ChildEnd& end)
      : pid_(pid),
        end_(end),
        out_{prepared.out.read_end, end.out, end.out_cut, command.out_limit},
        err_{prepared.err.read_end, end.err, end.err_cut, command.err_limit} {
    running_group = pid;
  }
  ~Running() { running_group = 0; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Reads until the child has ended or `until` has come. True when it has ended.
  bool wait(Clock::time_point until) {
    for (;;) {
      if (has_ended()) return true;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
      if (left <= 0) return false;
      look(std::min<long>(left, tick_ms()));
    }
  }

  void signal_group(int signal) const {
    // The child makes itself the leader of its group, which it may not have done yet.
    if (::kill(-pid_, signal) != 0) ::kill(pid_, signal);
  }

  // Takes the ended child's status. Before that its number stays taken, so that the group that is
  // killed is its own: whatever it left running.
  int take_status() {
    signal_group(SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    drain(out_);
    drain(err_);
    return status;
  }

 private:
  bool has_ended() const {
    siginfo_t info{};
    const int result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return result == 0 && info.si_pid == pid_;
  }

  // With its pipes closed, the child's end is near; while they are open poll wakes us.
  long tick_ms() const { return out_.from.is_open() || err_.from.is_open() ? 20 : 2; }

  void look(long wait_ms) {
    pollfd polled[2];
    nfds_t count = 0;
    for (const auto* stream : {&out_, &err_})
      if (stream->from.is_open()) polled[count++] = {stream->from.number(), POLLIN, 0};
    if (::poll(polled, count, static_cast<int>(wait_ms)) <= 0) return;
    drain(out_);
    drain(err_);
  }

  pid_t pid_;
  ChildEnd& end_;
  Stream out_, err_;
};

// SIGTERM, then SIGKILL, then no more: a child in state D ends when the kernel lets it.
bool end_by_force(Running& running, std::chrono::milliseconds grace) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    running.signal_group(signal);
    if (running.wait(Clock::now() + grace)) return true;
  }
  return false;
}

// The errno of what failed before the program ran; 0 when it ran. Asked when the child has ended.
int exec_failure(const Prepared& prepared) {
  int error = 0;
  if (::read(prepared.failure.read_end.number(), &error, sizeof error) != sizeof error) return 0;
  return error;
}

void set_end(ChildEnd& end, int status) {
  end.kind = WIFSIGNALED(status) ? ChildEnd::Kind::kSignalled : ChildEnd::Kind::kExited;
  end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

void follow(pid_t pid, Prepared& prepared, const ChildCommand& command, ChildEnd& end) {
  for (auto* pipe : {&prepared.out, &prepared.err, &prepared.failure}) pipe->write_end.close();
  prepared.null.close();
  end.pid = pid;
  Running running(pid, prepared, command, end);
  const bool in_time = running.wait(Clock::now() + command.limit);
  if (!in_time && !end_by_force(running, command.grace)) {
    end.left_behind = true;
  } else {
    set_end(end, running.take_status());
  }
  if (!in_time) {
    end.kind = ChildEnd::Kind::kNoAnswer;
    end.code = 0;
  } else if (const int error = exec_failure(prepared); error != 0) {
    end.kind = ChildEnd::Kind::kNotStarted;
    end.code = error;
  }
}

struct SignalName {
  int number;
  const char* name;
};
constexpr SignalName kSignalNames[] = {
    {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
    {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
    {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
    {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
};

// Whoever started us may ignore SIGCHLD, and then the kernel throws the child's status away.
void keep_child_status() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
    ::signal(SIGCHLD, SIG_DFL);
}

}  // namespace

ChildEnd run_child(const ChildCommand& command) {
  ChildEnd end;
  Prepared prepared;
  end.code = prepare(command, prepared);
  if (end.code != 0) return end;
  keep_child_status();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_program(prepared, parent);
  if (pid < 0) {
    end.code = errno;
    return end;
  }
  ::setpgid(pid, pid);  // whoever comes first; the other fails without harm
  follow(pid, prepared, command, end);
  return end;
}

std::string signal_name(int signal) {
  for (const auto& row : kSignalNames)
    if (row.number == signal) return row.name;
  return "signal " + std::to_string(signal);
}

void kill_running_child() {
  const pid_t group = running_group;
  if (group > 0) ::kill(-group, SIGKILL);
}

}  // namespace gpuwright
