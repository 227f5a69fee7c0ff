#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/version.h"

namespace gpuwright {

/// Which versions a requirement accepts, as PEP 440 writes it: ">=1.23.5,<2.0.0,!=1.24.*",
/// "~=1.19.2", "==2.11.0", "" for all. A local part ("+cu126") of what is installed takes no part
/// unless the requirement names one.
class VersionRange {
 public:
  VersionRange() = default;

  /// Fails for what PEP 440 has no meaning for, and for epochs ("1!2.0"), which no package of GPU
  /// work uses.
  [[nodiscard]] static Result<VersionRange> parse(std::string_view text);

  /// For literals in code and tests; a text that is no range is a bug there.
  static VersionRange of(std::string_view text);

  bool contains(const Version& version) const;
  bool accepts_all() const { return clauses_.empty(); }

  /// What `version` is on the wrong side of: true when it is older than the range asks for, so that
  /// an upgrade helps.
  bool is_above(const Version& version) const;

  /// As it was written, without blanks.
  const std::string& text() const { return text_; }

 private:
  enum class Kind {
    kEqual,
    kSeries,
    kNotEqual,
    kNotSeries,
    kCompatible,
    kLess,
    kAtMost,
    kMore,
    kAtLeast
  };
  struct Clause {
    Kind kind;
    Version version;
  };
  static bool holds(const Clause& clause, const Version& version);
  static Result<Clause> parse_clause(std::string_view text);

  std::string text_;
  std::vector<Clause> clauses_;
};

}  // namespace gpuwright
