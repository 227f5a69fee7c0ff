#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace gpuwright {

/// A line of a log or of a command's output that means something.
struct Event {
  std::string id;      ///< Kind of line, "<who speaks>.<what>": "nvml.init-failed", "kernel.xid".
  std::string text;    ///< The line without colours and control characters, at most 1,000 bytes.
  std::string source;  ///< "train.log:12", of the first line of its kind with these values.
  std::uint64_t count = 1;                    ///< How often it stood there.
  std::map<std::string, std::string> values;  ///< What the line says: "code" = "79".
  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace gpuwright
