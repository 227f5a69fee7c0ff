#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuwright::cli {

/// Standard output and standard error of a command. Data goes to the first, all else to the second.
class Output {
 public:
  /// Kept until flush(), so that a report is written whole.
  void data(std::string_view text) { data_ += text; }
  /// One line, at once.
  void note(std::string_view line);
  /// What is being done, in place, where standard error is a terminal; an empty text takes it away.
  void progress(std::string_view text);

  /// Writes what is kept. A reader that has gone away (`| head`) is no error; a full disk is.
  [[nodiscard]] Result<void> flush();

  /// True when standard output is a terminal that can show colour and nobody said no (NO_COLOR,
  /// TERM=dumb).
  bool may_color() const;
  /// Columns of the terminal, 0 when standard output is none.
  int width() const;

  /// Threads of probes that passed their deadline still run: end without destructors.
  void leave_threads_behind() { threads_left_behind_ = true; }
  bool threads_left_behind() const { return threads_left_behind_; }

 private:
  std::string data_;
  bool threads_left_behind_ = false;
};

}  // namespace gpuwright::cli
