#include "base/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

// Real children. No test passes or fails by the clock: limits are either far longer than any
// machine needs, or cut short a child that would never end.

namespace gpuwright {
namespace {

using Kind = ChildEnd::Kind;
using std::chrono::milliseconds;
constexpr milliseconds kForever{600'000};
constexpr milliseconds kShort{2000};

ChildCommand shell(const std::string& script) {
  ChildCommand command;
  command.arguments = {"/bin/sh", "-c", script};
  command.environment = {{"PATH", "/usr/bin:/bin"}, {"COLOUR", "blue"}};
  command.limit = kForever;
  return command;
}

bool has_no_child() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(ChildProcess, GivesBothStreamsAndTheExitStatus) {
  const ChildEnd end = run_child(shell("echo seen; echo said >&2; exit 7"));
  EXPECT_EQ(end.kind, Kind::kExited);
  EXPECT_EQ(end.code, 7);
  EXPECT_EQ(end.out, "seen\n");
  EXPECT_EQ(end.err, "said\n");
  EXPECT_FALSE(end.out_cut || end.err_cut || end.left_behind);
}

TEST(ChildProcess, HasTheGivenEnvironmentAndDirectoryAndNothingElse) {
  ::setenv("GPUWRIGHT_TEST_LEAK", "1", 1);
  ChildCommand command = shell("echo $COLOUR ${GPUWRIGHT_TEST_LEAK-none}; pwd; cat");
  command.directory = "/usr";
  EXPECT_EQ(run_child(command).out, "blue none\n/usr\n");  // and cat found an empty input
}

TEST(ChildProcess, ACrashIsASignalByName) {
  const ChildEnd end = run_child(shell("echo before; kill -SEGV $$"));
  EXPECT_EQ(end.kind, Kind::kSignalled);
  EXPECT_EQ(signal_name(end.code), "SIGSEGV");
  EXPECT_EQ(end.out, "before\n");
  EXPECT_EQ(signal_name(64), "signal 64");
}

TEST(ChildProcess, WhatCannotBeStartedHasItsErrno) {
  ChildCommand command = shell("");
  command.arguments = {"/nowhere/program"};
  EXPECT_EQ(run_child(command).kind, Kind::kNotStarted);
  EXPECT_EQ(run_child(command).code, ENOENT);
  command.arguments = {"/usr"};
  EXPECT_EQ(run_child(command).code, EACCES);
  command = shell("exit 0");
  command.directory = "/nowhere";
  EXPECT_EQ(run_child(command).code, ENOENT);
  command.arguments.clear();
  EXPECT_EQ(run_child(command).kind, Kind::kNotStarted);
}

TEST(ChildProcess, AnExitStatusOf127IsNoFailedStart) {
  const ChildEnd end = run_child(shell("exit 127"));
  EXPECT_EQ(end.kind, Kind::kExited);
  EXPECT_EQ(end.code, 127);
}

TEST(ChildProcess, HugeOutputIsReadToItsEndAndCut) {
  ChildCommand command = shell("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 3");
  command.out_limit = 1000;
  command.err_limit = 10;
  const ChildEnd end = run_child(command);
  EXPECT_EQ(end.kind, Kind::kExited);
  EXPECT_EQ(end.code, 3) << "it could write all";
  EXPECT_EQ(end.out, std::string(1000, '\0'));
  EXPECT_EQ(end.err.size(), 10u);
  EXPECT_TRUE(end.out_cut && end.err_cut);
}

TEST(ChildProcess, OutputWithoutEndIsEndedByTheLimit) {
  ChildCommand command = shell("exec yes");
  command.limit = kShort;
  const ChildEnd end = run_child(command);
  EXPECT_EQ(end.kind, Kind::kNoAnswer);
  EXPECT_TRUE(end.out.starts_with("y\ny\n"));
  EXPECT_FALSE(end.left_behind);
  EXPECT_TRUE(has_no_child());
}

TEST(ChildProcess, PastItsLimitTheWholeGroupIsGone) {
  ChildCommand command = shell("sleep 100000 & echo $!; wait");
  command.limit = kShort;
  const ChildEnd end = run_child(command);
  EXPECT_EQ(end.kind, Kind::kNoAnswer);
  EXPECT_TRUE(has_no_child());
  ASSERT_FALSE(end.out.empty());
  const pid_t grandchild = std::stoi(end.out);
  // The grandchild is init's now, which takes its status when it likes: a zombie is gone enough.
  for (;;) {
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    std::string number, name, state;
    if (!(stat >> number >> name >> state) || state == "Z" || state == "X") break;
    std::this_thread::yield();
  }
}

TEST(ChildProcess, WhoIgnoresSigtermIsKilled) {
  ChildCommand command = shell("trap '' TERM; echo ready; while :; do sleep 1000; done");
  command.limit = kShort;
  command.grace = kShort;
  const ChildEnd end = run_child(command);
  EXPECT_EQ(end.kind, Kind::kNoAnswer);
  EXPECT_FALSE(end.left_behind);
  EXPECT_TRUE(has_no_child());
}

TEST(ChildProcess, AGrandchildThatKeepsThePipesOpenIsNotWaitedFor) {
  const ChildEnd end = run_child(shell("sleep 100000 & echo done"));
  EXPECT_EQ(end.kind, Kind::kExited);
  EXPECT_EQ(end.out, "done\n");
}

TEST(ChildProcess, LeavesNoDescriptorAndNoZombie) {
  const auto before = open_descriptors();
  ChildCommand missing = shell("");
  missing.arguments = {"/nowhere/program"};
  for (int i = 0; i < 5; ++i) {
    run_child(shell("echo x"));
    run_child(missing);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(has_no_child());
}

TEST(ChildProcess, InheritsNoDescriptor) {
  const int open = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  const ChildEnd end = run_child(shell("ls /proc/self/fd | wc -l"));
  ::close(open);
  EXPECT_EQ(std::stoi(end.out), 4) << "0, 1, 2 and the directory that ls reads";
}

// In a child of the test, whose standard streams can be closed.
TEST(ChildProcess, WorksWhenStandardStreamsAreClosed) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (const int descriptor : {0, 1, 2}) ::close(descriptor);
    const ChildEnd end = run_child(shell("cat; echo out; echo err >&2"));
    ::_exit(end.out == "out\n" && end.err == "err\n" && end.kind == Kind::kExited ? 42 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(ChildProcess, KeepsTheStatusWhereSigchldIsIgnored) {
  ::signal(SIGCHLD, SIG_IGN);
  const ChildEnd end = run_child(shell("exit 9"));
  ::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(end.code, 9);
}

TEST(ChildProcess, SignalsOfTheParentDoNotDisturbTheWait) {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // without SA_RESTART: calls end with EINTR
  ::sigaction(SIGUSR1, &action, nullptr);
  ChildCommand command = shell(
      "i=0; while [ $i -lt 200 ]; do kill -USR1 $PARENT; i=$((i+1)); done; "
      "echo all");
  command.environment["PARENT"] = std::to_string(::getpid());
  const ChildEnd end = run_child(command);
  ::signal(SIGUSR1, SIG_DFL);
  EXPECT_EQ(end.kind, Kind::kExited);
  EXPECT_EQ(end.out, "all\n");
}

// A child that not even SIGKILL gives back, as one in state D: its tracer holds its status. The
// tracer is a grandchild in a session of its own, so that killing the group misses it.
[[noreturn]] void be_held_by_a_tracer() {
  const pid_t held = ::getpid();
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  int ready[2];
  if (::pipe(ready) != 0) ::_exit(1);
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    ::setsid();
    if (::ptrace(PTRACE_SEIZE, held, nullptr, nullptr) != 0) ::_exit(1);
    static_cast<void>(!::write(ready[1], "y", 1));
    ::alarm(60);  // what the test leaves behind goes away
    for (;;) ::pause();
  }
  ::close(ready[1]);
  char mark = 'n';
  if (::read(ready[0], &mark, 1) != 1) ::_exit(1);  // ptrace is not allowed here
  const std::string text = "held by " + std::to_string(tracer) + "\n";
  static_cast<void>(!::write(1, text.data(), text.size()));
  for (;;) ::pause();
}

TEST(ChildProcess, AChildThatCannotBeKilledIsLeftBehind) {
  if (std::getenv("GPUWRIGHT_TEST_HELD") != nullptr) be_held_by_a_tracer();
  ChildCommand command;
  command.arguments = {"/proc/self/exe",
                       "--gtest_filter=ChildProcess.AChildThatCannotBeKilledIsLeftBehind"};
  command.environment = {{"GPUWRIGHT_TEST_HELD", "1"}};
  command.limit = milliseconds(3000);
  command.grace = kShort;
  const ChildEnd end = run_child(command);
  const auto place = end.out.find("held by ");
  if (place == std::string::npos) GTEST_SKIP() << "ptrace is not allowed here, or slow";
  EXPECT_EQ(end.kind, Kind::kNoAnswer);
  EXPECT_TRUE(end.left_behind);
  EXPECT_GT(end.pid, 0);
  ::kill(std::stoi(end.out.substr(place + 8)), SIGKILL);
  ::waitpid(end.pid, nullptr, 0);
}

// The child holds the write end of a pipe as its standard error: its end of file is the child's
// end.
TEST(ChildProcess, DiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    // /proc/PARENT/fd/N is opened by the child itself, since it inherits nothing.
    ChildCommand command =
        shell("exec 2>/proc/$PARENT/fd/$END; kill -KILL $PARENT; exec sleep 100000");
    command.environment["PARENT"] = std::to_string(::getpid());
    command.environment["END"] = std::to_string(ends[1]);
    run_child(command);
    ::_exit(1);
  }
  ::close(ends[1]);
  int status = 0;
  ::waitpid(parent, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  char nothing;
  EXPECT_EQ(::read(ends[0], &nothing, 1), 0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace gpuwright
