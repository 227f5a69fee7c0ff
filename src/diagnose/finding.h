#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gpuwright {

/// The rungs of the ladder, lowest first. Lower rungs are judged first.
enum class Rung {
  kHost,
  kHardware,
  kDriver,
  kCuda,
  kLibraries,
  kPython,
  kFramework,
  kWork,
  kSpeed
};

enum class Severity {
  kError,    ///< GPU work does not work.
  kWarning,  ///< It works, badly, or will stop working.
  kInfo,     ///< By design, worth knowing.
};

enum class Certainty {
  kProven,    ///< Follows from what was read.
  kLikely,    ///< The symptom is seen, the cause inferred.
  kPossible,  ///< One of several causes that fit.
};

/// A value and where it was read.
struct Evidence {
  std::string text;    ///< "libcuda.so.1 -> libcuda.so.550.54.14"
  std::string source;  ///< "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

/// One step of a fix. A command can be pasted as it stands; a step that is no command (a BIOS
/// setting) leaves `command` empty and says it in `text`.
struct FixStep {
  std::string command{};
  std::string text{};  ///< What it is for, in a few words; may be empty.
  bool needs_root = false;
  std::string changes{};  ///< What it changes.
  std::string undo{};     ///< How to undo it.
  friend bool operator==(const FixStep&, const FixStep&) = default;
};

struct Finding {
  std::string id{};         ///< "driver.version-mismatch"; filled from the rule's row.
  Rung rung = Rung::kHost;  ///< Filled from the rule's row.
  Severity severity = Severity::kError;
  std::string subject{};    ///< "tensorflow 2.21.0", "0000:3b:00.0"; empty for all of the machine.
  std::string statement{};  ///< One line: what is wrong, both sides compared.
  std::vector<Evidence> evidence{};
  std::string cause{};  ///< How a machine gets into this state.
  std::vector<FixStep> fix{};
  Certainty certainty = Certainty::kProven;
  friend bool operator==(const Finding&, const Finding&) = default;
};

const char* name_of(Rung rung);
const char* name_of(Severity severity);
const char* name_of(Certainty certainty);

}  // namespace gpuwright
