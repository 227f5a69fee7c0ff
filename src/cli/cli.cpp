#include "cli/cli.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/text.h"
#include "cli/command.h"
#include "confirm/child.h"

namespace gpuwright {
namespace cli {
namespace {

// _exit is async-signal-safe, and there is nothing to clean up: what is written to disk is written
// with the signal blocked.
void on_interrupt(int) {
  kill_running_child();
  ::_exit(kInterrupted);
}

void prepare_signals() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe comes back as EPIPE, see Output::flush
}

Result<int> run_command(const Command& command, const std::vector<std::string>& words,
                        Output& output) {
  const auto arguments = parse_arguments(command, words);
  if (!arguments)
    return fail(arguments.error().text() + "; see gpuwright " + command.name + " --help");
  if (arguments->has("--help")) {
    output.data(help_text(command));
    return kAllRight;
  }
  if (arguments->has("--version")) {
    output.data(version_line());
    return kAllRight;
  }
  return command.run(*arguments, output);
}

int report_error(const std::string& who, const Error& error, Output& output) {
  output.note(who + ": " + error.text());
  return kWrongUsage;
}

int dispatch(const std::vector<std::string>& words, Output& output) {
  if (words.empty()) {
    output.note(
        "gpuwright: no command given; gpuwright help lists them, gpuwright check is the first");
    return kWrongUsage;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    output.data(overview_text());
    return kAllRight;
  }
  if (words[0] == "--version") {
    output.data(version_line());
    return kAllRight;
  }
  if (words[0] == kChildCommand) return run_as_child({words.begin() + 1, words.end()});
  const Command* command = find_command(words[0]);
  if (command == nullptr) {
    output.note("gpuwright: no command '" + words[0] + "'; gpuwright help lists them");
    return kWrongUsage;
  }
  const std::string who = std::string("gpuwright ") + command->name;
  const auto status = run_command(*command, {words.begin() + 1, words.end()}, output);
  return status ? *status : report_error(who, status.error(), output);
}

// The only catch of the program: whatever arrives here was promised not to.
int guarded_dispatch(const std::vector<std::string>& words, Output& output) {
  std::string what = "an exception of unknown type";
  try {
    const int status = dispatch(words, output);
    const auto written = output.flush();
    return written ? status : report_error("gpuwright", written.error(), output);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the sentence below says it
  }
  output.note("gpuwright: this is a bug in gpuwright (" + what +
              "); please report it with the output of gpuwright version and the command line");
  return kCouldNotDecide;
}

}  // namespace
}  // namespace cli

int run_command_line(int argc, char** argv) {
  cli::prepare_signals();
  cli::Output output;
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const int status = cli::guarded_dispatch(words, output);
  // A probe past its deadline may still use what destructors would take away.
  if (output.threads_left_behind()) std::quick_exit(status);
  return status;
}

}  // namespace gpuwright
