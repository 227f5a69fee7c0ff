#include "base/version.h"

#include <cassert>

#include "base/text.h"

namespace gpuwright {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Below 0 before the release, 0 the release itself, 1 after it. A development release comes before
// the alphas (PEP 440).
int suffix_rank(std::string_view suffix) {
  if (suffix.empty()) return 0;
  if (suffix.starts_with("dev")) return -2;
  for (const auto* before : {"a", "b", "c", "rc", "alpha", "beta", "pre"})
    if (suffix.starts_with(before)) return -1;
  return 1;
}

// "rc10" after "rc9": the letters first, then the number behind them.
std::strong_ordering compare_suffix(std::string_view a, std::string_view b) {
  if (const auto rank = suffix_rank(a) <=> suffix_rank(b); rank != 0) return rank;
  const auto letters = [](std::string_view s) {
    return s.substr(0, s.find_first_of("0123456789"));
  };
  const auto number = [](std::string_view s) {
    const auto at = s.find_first_of("0123456789");
    return at == std::string_view::npos ? 0 : parse_unsigned(s.substr(at)).value_or(0);
  };
  if (const auto order = letters(a).compare(letters(b)); order != 0) return order <=> 0;
  return number(a) <=> number(b);
}

}  // namespace

Result<Version> Version::parse(std::string_view text) {
  text = trim(text);
  Version version;
  version.text_ = std::string(text);
  std::string_view rest = text;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  for (;;) {
    std::size_t digits = 0;
    while (digits < rest.size() && is_digit(rest[digits])) ++digits;
    const auto number = parse_unsigned(rest.substr(0, digits));
    if (!number) return fail("is not a version", printable(text.substr(0, 80)));
    version.parts_.push_back(*number);
    rest.remove_prefix(digits);
    if (rest.size() < 2 || rest[0] != '.' || !is_digit(rest[1])) break;
    rest.remove_prefix(1);
  }
  auto suffix = rest.substr(0, rest.find('+'));
  while (!suffix.empty() && (suffix[0] == '.' || suffix[0] == '-' || suffix[0] == '_'))
    suffix.remove_prefix(1);
  for (const char c : rest)
    if (c <= ' ' || c == '/') return fail("is not a version", printable(text.substr(0, 80)));
  version.suffix_ = std::string(suffix);
  return version;
}

Version Version::of(std::string_view text) {
  auto version = parse(text);
  assert(version.has_value());
  return version.value_or(Version{});
}

bool Version::same_series(const Version& other, std::size_t places) const {
  for (std::size_t i = 0; i < places; ++i)
    if (part(i) != other.part(i)) return false;
  return true;
}

std::strong_ordering operator<=>(const Version& a, const Version& b) {
  const std::size_t places = std::max(a.parts_.size(), b.parts_.size());
  for (std::size_t i = 0; i < places; ++i)
    if (const auto order = a.part(i) <=> b.part(i); order != 0) return order;
  return compare_suffix(a.suffix_, b.suffix_);
}

}  // namespace gpuwright
