#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

// Text and logs -> events and facts of a partly known machine. The text is streamed: memory does
// not grow with it, and lines in which no pattern's literal stands are passed over by one
// multi-pattern scan.

namespace gpuwright {

/// A harmless line that looks like trouble.
struct NoiseLine {
  std::string source;  ///< "train.log:12", of the first of its kind.
  std::string text;
  std::string why;
  std::uint64_t count = 1;
};

/// A line that looks like trouble and that no pattern knows.
struct UnplacedLine {
  std::string source;
  std::string text;
  std::uint64_t count = 1;  ///< Lines that differ in numbers alone count as one.
};

struct Reading {
  Machine machine;  ///< Facts that the text tells, and `events`; the rest is "not looked at".
  std::vector<NoiseLine> noise;
  std::vector<UnplacedLine> unplaced;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  bool binary = false;  ///< Bytes that no text has (NUL) were seen.
};

class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Begins a file or a pipe; `name` stands in front of line numbers.
  void begin(const std::string& name);
  /// The next bytes of it, in pieces of any size.
  void feed(std::string_view bytes);
  /// Ends it: the last line may lack its line end.
  void end();
  /// All that was read so far.
  Reading take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The whole of a text that is in memory.
Reading read_text(std::string_view text, const std::string& name);

}  // namespace gpuwright
