#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace gpuwright::cli {
namespace {

// write(2) until all is out; the errno of the call that failed, or 0.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void Output::note(std::string_view line) {
  // Standard error may be closed; there is nobody left to tell.
  static_cast<void>(write_all(STDERR_FILENO, printable(line) + "\n"));
}

void Output::progress(std::string_view text) {
  if (::isatty(STDERR_FILENO) != 1) return;
  const std::string line = text.empty() ? "" : "gpuwright: " + printable(text) + " ...";
  constexpr std::string_view kClearLine = "\r\x1b[K";
  static_cast<void>(write_all(STDERR_FILENO, std::string(kClearLine) + line));
}

Result<void> Output::flush() {
  const int error = write_all(STDOUT_FILENO, data_);
  data_.clear();
  if (error == 0 || error == EPIPE) return {};
  return fail(std::strerror(error), "standard output", error);
}

bool Output::may_color() const {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (term == nullptr || std::strcmp(term, "dumb") == 0) return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

int Output::width() const {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1) return 0;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  // Below 40 columns wrapping costs more than it gives; beyond 120 lines are hard to follow.
  return std::clamp<int>(size.ws_col, 40, 120);
}

}  // namespace gpuwright::cli
