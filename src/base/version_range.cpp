#include "base/version_range.h"

#include <algorithm>
#include <cassert>

#include "base/text.h"

namespace gpuwright {
namespace {

std::string_view local_part(const Version& version) {
  const std::string_view text = version.text();
  const auto plus = text.find('+');
  return plus == std::string_view::npos ? std::string_view() : text.substr(plus);
}

/// The numbers alone: 2.0 for 2.0rc1 and 2.0.post1.
bool same_release(const Version& a, const Version& b) {
  return a.same_series(b, std::max(a.size(), b.size()));
}

/// "2.0" of 2.0rc1: the release itself, to tell what lies before and after it.
Version release_of(const Version& version) {
  std::string text;
  for (std::size_t i = 0; i < version.size(); ++i)
    text += (i == 0 ? "" : ".") + std::to_string(version.part(i));
  return Version::of(text);
}

bool is_before_release(const Version& version) { return version < release_of(version); }
bool is_after_release(const Version& version) { return version > release_of(version); }

}  // namespace

Result<VersionRange::Clause> VersionRange::parse_clause(std::string_view text) {
  struct Operator {
    std::string_view sign;
    Kind kind;
  };
  // The longer sign first.
  constexpr Operator kOperators[] = {
      {"===", Kind::kEqual},     {"==", Kind::kEqual},  {"!=", Kind::kNotEqual},
      {"~=", Kind::kCompatible}, {"<=", Kind::kAtMost}, {">=", Kind::kAtLeast},
      {"<", Kind::kLess},        {">", Kind::kMore},
  };
  const auto* const found = std::ranges::find_if(
      kOperators, [&](const auto& entry) { return text.starts_with(entry.sign); });
  if (found == std::end(kOperators))
    return fail("has no comparison", printable(text.substr(0, 80)));
  auto kind = found->kind;
  auto rest = trim(text.substr(found->sign.size()));
  const bool series = rest.ends_with(".*");
  if (series && kind != Kind::kEqual && kind != Kind::kNotEqual)
    return fail("has a '*' that only == and != may have", printable(text.substr(0, 80)));
  if (series) {
    rest.remove_suffix(2);
    kind = kind == Kind::kEqual ? Kind::kSeries : Kind::kNotSeries;
  }
  if (rest.find('!') != std::string_view::npos)
    return fail("has an epoch", printable(text.substr(0, 80)));
  return Version::parse(rest).and_then([&](const Version& version) -> Result<Clause> {
    if (kind == Kind::kCompatible && version.size() < 2)
      return fail("'~=' needs two numbers", printable(text.substr(0, 80)));
    return Clause{kind, version};
  });
}

Result<VersionRange> VersionRange::parse(std::string_view text) {
  VersionRange range;
  for (const char c : text)
    if (c != ' ' && c != '\t') range.text_ += c;
  const std::string_view whole = range.text_;
  if (whole.empty()) return range;
  for (const auto piece : split(whole, ',')) {
    if (piece.empty()) continue;  // a trailing comma is legal
    auto clause = parse_clause(piece);
    if (!clause) return tl::unexpected(clause.error());
    range.clauses_.push_back(*clause);
  }
  return range;
}

VersionRange VersionRange::of(std::string_view text) {
  auto range = parse(text);
  assert(range.has_value());
  return range.value_or(VersionRange{});
}

bool VersionRange::holds(const Clause& clause, const Version& version) {
  const Version& bound = clause.version;
  switch (clause.kind) {
    case Kind::kEqual:
      return version == bound &&
             (local_part(bound).empty() || local_part(bound) == local_part(version));
    case Kind::kNotEqual:
      return !(version == bound &&
               (local_part(bound).empty() || local_part(bound) == local_part(version)));
    case Kind::kSeries:
      return version.same_series(bound, bound.size());
    case Kind::kNotSeries:
      return !version.same_series(bound, bound.size());
    case Kind::kCompatible:
      return version >= bound && version.same_series(bound, bound.size() - 1);
    case Kind::kAtMost:
      return version <= bound;
    case Kind::kAtLeast:
      return version >= bound;
    case Kind::kLess:
      // "<2.0" leaves out 2.0rc1, unless the bound is a pre-release itself.
      return version < bound && (is_before_release(bound) || !same_release(version, bound) ||
                                 !is_before_release(version));
    case Kind::kMore:
      // ">2.0" leaves out 2.0.post1 likewise.
      return version > bound && (is_after_release(bound) || !same_release(version, bound) ||
                                 !is_after_release(version));
  }
  return false;
}

bool VersionRange::contains(const Version& version) const {
  return std::ranges::all_of(clauses_,
                             [&](const Clause& clause) { return holds(clause, version); });
}

bool VersionRange::is_above(const Version& version) const {
  return std::ranges::any_of(clauses_, [&](const Clause& clause) {
    const bool lower = clause.kind == Kind::kAtLeast || clause.kind == Kind::kMore ||
                       clause.kind == Kind::kEqual || clause.kind == Kind::kSeries ||
                       clause.kind == Kind::kCompatible;
    return lower && version < clause.version && !holds(clause, version);
  });
}

}  // namespace gpuwright
