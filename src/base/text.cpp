#include "base/text.h"

#include <charconv>

namespace gpuwright {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const auto at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  std::vector<std::string_view> found;
  for (auto at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const auto end = text.find_first_of(kBlank, at);
    found.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return found;
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const auto at = text.find('\n');
    auto line = text.substr(0, at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    found.push_back(line);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  return found;
}

std::optional<std::string_view> value_after(std::string_view text, std::string_view key) {
  for (const auto line : lines(text))
    if (line.starts_with(key)) return trim(line.substr(key.size()));
  return std::nullopt;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string out;
  for (const auto& piece : pieces) {
    if (!out.empty() || &piece != &pieces.front()) out += separator;
    out += piece;
  }
  return out;
}

namespace {

// Characters of `pattern` that the one-character matcher at `at` takes when it accepts `c`: 1 for a
// letter or '?', the length of a "[0-9]" class; 0 when it does not accept.
std::size_t accepts(std::string_view pattern, std::size_t at, char c) {
  if (at >= pattern.size()) return 0;
  const auto close = pattern[at] == '[' ? pattern.find(']', at + 2) : std::string_view::npos;
  if (close == std::string_view::npos) return pattern[at] == '?' || pattern[at] == c ? 1 : 0;
  bool hit = false;
  for (std::size_t i = at + 1; i < close; ++i) {
    const bool range = i + 2 < close && pattern[i + 1] == '-';
    hit = hit || (range ? pattern[i] <= c && c <= pattern[i + 2] : pattern[i] == c);
    if (range) i += 2;
  }
  return hit ? close + 1 - at : 0;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  // The usual two-finger walk: remember the last star and give it one more
  // character on every mismatch. Linear in practice, no recursion to blow up.
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    const std::size_t taken = accepts(pattern, p, text[t]);
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (taken > 0) {
      p += taken;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string path_join(std::string_view directory, std::string_view name) {
  std::string out(directory);
  if (out.empty() || out.back() != '/') out += '/';
  while (name.starts_with('/')) name.remove_prefix(1);
  out += name;
  return out;
}

std::string path_directory(std::string_view path) {
  const auto at = path.rfind('/');
  if (at == std::string_view::npos) return ".";
  return at == 0 ? "/" : std::string(path.substr(0, at));
}

std::string_view path_name(std::string_view path) {
  const auto at = path.rfind('/');
  return at == std::string_view::npos ? path : path.substr(at + 1);
}

namespace {

// Length of the valid UTF-8 sequence at the start of `text`, 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf5   ? 0
                             : lead >= 0xf0 ? 4
                             : lead >= 0xe0 ? 3
                             : lead >= 0xc2 ? 2
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || beyond ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    // C1 controls (U+0080..U+009F, "\xc2\x80".."\xc2\x9f") act like ESC on some terminals.
    const bool c1 = length == 2 && lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || (length == 1 && (lead < 0x20 || lead == 0x7f)) || c1) {
      out += '?';
      text.remove_prefix(length == 0 ? 1 : length);
      continue;
    }
    out.append(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace gpuwright
