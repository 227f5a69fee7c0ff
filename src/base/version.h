#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gpuwright {

/// A version as the world writes them: "580.159.04", "12.5.1", "2.21.0rc1", "2.11.0+cu130".
///
/// Order: numbers place by place, a missing place counting as 0 (12.5 == 12.5.0, 580.82.07 ==
/// 580.82.7); then a pre-release (dev, a, b, rc) before the release before a post-release; what
/// follows '+' (PEP 440 local part) takes no part. This comment and tests/base/version_test.cpp
/// are the two places where the order is written down.
class Version {
 public:
  Version() = default;

  /// The version at the start of `text`, which has to begin with a digit (one leading 'v' is
  /// passed over) and hold nothing else but a suffix as above.
  [[nodiscard]] static Result<Version> parse(std::string_view text);

  /// For literals in code and tests; a text that is no version is a bug there.
  static Version of(std::string_view text);

  /// As it was written, local part included.
  const std::string& text() const { return text_; }

  /// The number at `place` (0 is the major version); 0 when it is not there.
  std::uint64_t part(std::size_t place) const { return place < parts_.size() ? parts_[place] : 0; }
  std::size_t size() const { return parts_.size(); }
  std::uint64_t major_part() const { return part(0); }
  std::uint64_t minor_part() const { return part(1); }

  /// True when the first `places` numbers agree.
  bool same_series(const Version& other, std::size_t places) const;

  friend std::strong_ordering operator<=>(const Version& a, const Version& b);
  friend bool operator==(const Version& a, const Version& b) { return (a <=> b) == 0; }

 private:
  std::string text_;
  std::vector<std::uint64_t> parts_;
  std::string suffix_;  ///< "rc1", "post1", "" — between the numbers and '+'.
};

}  // namespace gpuwright
