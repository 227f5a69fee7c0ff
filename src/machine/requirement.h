#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/version_range.h"

// One line of Requires-Dist: "numpy<2.0.0,>=1.26.0 ; python_version >= '3.12'" (PEP 508).

namespace gpuwright {

/// PEP 503: lower case, runs of '-', '_' and '.' as one '-'.
std::string normalised_name(std::string_view name);

/// What markers ask about, for a Linux machine with CPython.
struct MarkerEnvironment {
  std::string python;   ///< "3.12" or "3.12.3"; empty when not known.
  std::string machine;  ///< "x86_64"; empty when not known.
};

struct Requirement {
  std::string name;  ///< Normalised.
  VersionRange range;
  std::string marker;  ///< What follows ';', trimmed; empty when there is none.

  /// Fails for a line that is no requirement and for one that names an address instead of a range.
  [[nodiscard]] static Result<Requirement> parse(std::string_view line);
};

/// Whether a marker holds without any extra; nothing when that hangs on what is not known. An empty
/// marker holds.
std::optional<bool> marker_holds(std::string_view marker, const MarkerEnvironment& environment);

}  // namespace gpuwright
