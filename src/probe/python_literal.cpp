#include "probe/python_literal.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {
namespace {

// What follows the first quoted `key` and one of , : = behind it; empty when the key is not there.
std::string_view behind_key(std::string_view source, std::string_view key) {
  for (std::size_t at = source.find(key); at != std::string_view::npos;
       at = source.find(key, at + 1)) {
    const std::size_t end = at + key.size();
    if (at == 0 || end >= source.size()) continue;
    const char quote = source[at - 1];
    if ((quote != '\'' && quote != '"') || source[end] != quote) continue;
    const auto rest = trim(source.substr(end + 1));
    if (!rest.empty() && (rest[0] == ',' || rest[0] == ':' || rest[0] == '='))
      return trim(rest.substr(1));
  }
  return {};
}

std::string bare_word(std::string_view text) {
  return std::string(trim(text.substr(0, text.find_first_of("#,)]}\n"))));
}

}  // namespace

std::optional<std::string> quoted_at(std::string_view text) {
  text = trim(text);
  if (text.empty() || (text[0] != '\'' && text[0] != '"')) return std::nullopt;
  const auto end = text.find(text[0], 1);
  if (end == std::string_view::npos) return std::nullopt;
  const auto inner = text.substr(1, end - 1);
  if (inner.find_first_of("\\\n") != std::string_view::npos) return std::nullopt;
  return std::string(inner);
}

std::optional<std::string> assigned_value(std::string_view source, std::string_view name) {
  for (const auto line : lines(source)) {
    if (!line.starts_with(name)) continue;
    const auto rest = trim(line.substr(name.size()));
    // An annotation may stand between: `cuda: Optional[str] = '13.0'`.
    const auto equals = rest.find('=');
    if (equals == std::string_view::npos || (rest[0] != '=' && rest[0] != ':')) continue;
    const auto value = trim(rest.substr(equals + 1));
    if (auto text = quoted_at(value)) return text;
    return bare_word(value);
  }
  return std::nullopt;
}

std::optional<std::string> keyed_value(std::string_view source, std::string_view key) {
  const auto rest = behind_key(source, key);
  if (rest.empty()) return std::nullopt;
  if (auto text = quoted_at(rest)) return text;
  return bare_word(rest);
}

std::optional<std::vector<std::string>> keyed_list(std::string_view source, std::string_view key) {
  const auto rest = behind_key(source, key);
  if (rest.empty() || (rest[0] != '[' && rest[0] != '(')) return std::nullopt;
  const auto end = rest.find(rest[0] == '[' ? ']' : ')');
  if (end == std::string_view::npos) return std::nullopt;
  return quoted_texts(rest.substr(0, end));
}

std::vector<std::string> quoted_texts(std::string_view source) {
  std::vector<std::string> found;
  for (std::size_t at = source.find_first_of("'\"#"); at != std::string_view::npos;
       at = source.find_first_of("'\"#", at)) {
    const std::size_t end =
        source[at] == '#' ? source.find('\n', at) : source.find(source[at], at + 1);
    if (end == std::string_view::npos) break;
    if (source[at] != '#') found.emplace_back(source.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return found;
}

std::string_view function_body(std::string_view source, std::string_view name) {
  const std::string head = "def " + std::string(name) + "(";
  std::size_t begin = 0;
  if (!source.starts_with(head)) {
    const auto line_end = source.find("\n" + head);
    if (line_end == std::string_view::npos) return {};
    begin = line_end + 1;
  }
  std::size_t end = source.find('\n', begin);
  while (end != std::string_view::npos && end + 1 < source.size()) {
    const char first = source[end + 1];
    if (std::string_view(" \t\n\r#)").find(first) == std::string_view::npos) break;
    end = source.find('\n', end + 1);
  }
  return source.substr(begin, end == std::string_view::npos ? end : end - begin);
}

}  // namespace gpuwright
