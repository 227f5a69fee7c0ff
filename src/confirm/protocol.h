#pragma once

#include <string>
#include <string_view>

#include "machine/run.h"

// How a child tells what it saw. It writes lines to standard output:
//
//   MARKER call NAME    before each call that may hang or crash
//   MARKER json {...}   everything seen so far; a later line replaces an earlier one
//
// MARKER is random, so that what libraries print is not taken for an answer. The last complete line
// of each kind counts: a child that dies half-way has still said how far it came.

namespace gpuwright {

/// The child's side. Lines go out at once, past all buffers.
class Speaker {
 public:
  explicit Speaker(std::string marker) : marker_(std::move(marker)) {}
  void call(const std::string& name) const;
  void tell(const Run& run) const;

 private:
  std::string marker_;
};

/// What the parent makes of the child's output, which may be any text.
struct Told {
  std::string last_call;  ///< Empty when it came to none; printable, at most 200 bytes.
  std::string json;       ///< Empty when it told nothing.
};
Told parse_told(std::string_view out, std::string_view marker);

/// The JSON of Speaker::tell. An error when it is anything else.
[[nodiscard]] Result<Run> run_from_json(const std::string& json);

/// One framework's run as a Python child tells it: the fields of FrameworkRun.
[[nodiscard]] Result<FrameworkRun> framework_run_from_json(const std::string& json);

}  // namespace gpuwright
