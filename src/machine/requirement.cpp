#include "machine/requirement.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// "[epy,enp] >=1.0" without the extras, "(>=1.0)" without the parentheses of old metadata.
std::string_view bare_range(std::string_view text) {
  text = trim(text);
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    text = close == std::string_view::npos ? std::string_view("[") : trim(text.substr(close + 1));
  }
  if (text.size() >= 2 && text.front() == '(' && text.back() == ')')
    text = trim(text.substr(1, text.size() - 2));
  return text;
}

using Maybe = std::optional<bool>;

Maybe both(Maybe a, Maybe b) {
  if (a == false || b == false) return false;
  return a && b ? Maybe(true) : std::nullopt;
}

Maybe either(Maybe a, Maybe b) {
  if (a == true || b == true) return true;
  return a && b ? Maybe(false) : std::nullopt;
}

// One side of a comparison: a quoted text, or a name that stands for one.
struct Operand {
  std::string text;
  bool is_name = false;
  bool is_known = false;
};

// The grammar of markers by descent. A file that nests deeper than any real one is not followed.
class MarkerReader {
 public:
  MarkerReader(std::string_view text, const MarkerEnvironment& environment)
      : rest_(text), environment_(environment) {}

  Maybe whole() {
    const auto value = alternatives(0);
    skip();
    return failed_ || !rest_.empty() ? std::nullopt : value;
  }

 private:
  static constexpr int kDeepest = 16;

  Maybe alternatives(int depth) {
    auto value = conjunction(depth);
    while (word("or")) value = either(value, conjunction(depth));
    return value;
  }

  Maybe conjunction(int depth) {
    auto value = term(depth);
    while (word("and")) value = both(value, term(depth));
    return value;
  }

  Maybe term(int depth) {
    skip();
    if (!rest_.starts_with('(')) return comparison();
    if (depth >= kDeepest) return give_up();
    rest_.remove_prefix(1);
    const auto value = alternatives(depth + 1);
    skip();
    if (!rest_.starts_with(')')) return give_up();
    rest_.remove_prefix(1);
    return value;
  }

  Maybe comparison() {
    const auto left = operand();
    const auto sign = comparison_sign();
    const auto right = operand();
    if (failed_) return std::nullopt;
    if (!left.is_known || !right.is_known) return std::nullopt;
    if (sign == "in") return right.text.find(left.text) != std::string::npos;
    if (sign == "not in") return right.text.find(left.text) == std::string::npos;
    return compare(left, sign, right);
  }

  // Versions where both sides are versions, texts otherwise.
  static Maybe compare(const Operand& left, const std::string& sign, const Operand& right) {
    const bool flipped = !left.is_name;
    const auto version = Version::parse(flipped ? right.text : left.text);
    const auto range = VersionRange::parse(sign + (flipped ? left.text : right.text));
    if (version && range) {
      if (!flipped || sign == "==" || sign == "!=") return range->contains(*version);
      const auto reversed = VersionRange::parse(mirrored(sign) + left.text);
      return reversed ? Maybe(reversed->contains(*version)) : std::nullopt;
    }
    if (sign == "==" || sign == "===") return left.text == right.text;
    if (sign == "!=") return left.text != right.text;
    return std::nullopt;
  }

  static std::string mirrored(std::string sign) {
    if (sign.starts_with('<')) return ">" + sign.substr(1);
    if (sign.starts_with('>')) return "<" + sign.substr(1);
    return sign;
  }

  Operand operand() {
    skip();
    if (rest_.starts_with('"') || rest_.starts_with('\'')) {
      const auto close = rest_.find(rest_.front(), 1);
      if (close == std::string_view::npos) return give_up(), Operand{};
      Operand text{std::string(rest_.substr(1, close - 1)), false, true};
      rest_.remove_prefix(close + 1);
      return text;
    }
    std::size_t end = 0;
    while (end < rest_.size() && is_name_character(rest_[end])) ++end;
    const auto name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (name.empty()) give_up();
    return value_of(name);
  }

  Operand value_of(std::string_view name) const {
    const auto known = [](std::string text) { return Operand{std::move(text), true, true}; };
    if (name == "sys_platform") return known("linux");
    if (name == "platform_system") return known("Linux");
    if (name == "os_name") return known("posix");
    if (name == "implementation_name") return known("cpython");
    if (name == "platform_python_implementation") return known("CPython");
    if (name == "extra") return known("");
    if (name == "platform_machine" && !environment_.machine.empty())
      return known(environment_.machine);
    if (name == "python_version" || name == "python_full_version") return python(name);
    return Operand{{}, true, false};
  }

  // python_version is "3.12" for 3.12.3; the full version is known only with all its numbers.
  Operand python(std::string_view name) const {
    const auto version = Version::parse(environment_.python);
    if (!version || version->size() < 2) return Operand{{}, true, false};
    if (name == "python_full_version")
      return Operand{environment_.python, true, version->size() > 2};
    return Operand{std::to_string(version->part(0)) + "." + std::to_string(version->part(1)), true,
                   true};
  }

  std::string comparison_sign() {
    skip();
    for (const auto* sign : {"===", "==", "!=", "<=", ">=", "~=", "<", ">"})
      if (rest_.starts_with(sign)) {
        rest_.remove_prefix(std::string_view(sign).size());
        return sign;
      }
    if (word("in")) return "in";
    if (word("not") && word("in")) return "not in";
    give_up();
    return {};
  }

  // A word of the grammar, not the beginning of a longer one.
  bool word(std::string_view text) {
    skip();
    if (!rest_.starts_with(text)) return false;
    if (rest_.size() > text.size() && is_name_character(rest_[text.size()])) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  void skip() {
    while (rest_.starts_with(' ') || rest_.starts_with('\t')) rest_.remove_prefix(1);
  }

  Maybe give_up() {
    failed_ = true;
    return std::nullopt;
  }

  std::string_view rest_;
  const MarkerEnvironment& environment_;
  bool failed_ = false;
};

}  // namespace

std::string normalised_name(std::string_view name) {
  std::string out;
  for (const char c : lower(name)) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator)
      out += c;
    else if (out.empty() || out.back() != '-')
      out += '-';
  }
  return out;
}

Result<Requirement> Requirement::parse(std::string_view line) {
  const auto semicolon = line.find(';');
  const auto head = trim(line.substr(0, semicolon));
  const auto* const end = std::ranges::find_if_not(head, is_name_character);
  const auto name = head.substr(0, static_cast<std::size_t>(end - head.begin()));
  if (name.empty()) return fail("names no package", printable(line.substr(0, 80)));
  const auto rest = bare_range(head.substr(name.size()));
  if (rest.starts_with('@')) return fail("names an address", printable(line.substr(0, 80)));
  return VersionRange::parse(rest).transform([&](VersionRange range) {
    Requirement requirement{normalised_name(name), std::move(range), {}};
    if (semicolon != std::string_view::npos)
      requirement.marker = std::string(trim(line.substr(semicolon + 1)));
    return requirement;
  });
}

std::optional<bool> marker_holds(std::string_view marker, const MarkerEnvironment& environment) {
  if (trim(marker).empty()) return true;
  return MarkerReader(marker, environment).whole();
}

}  // namespace gpuwright
