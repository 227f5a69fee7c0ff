#include "reading/line.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace gpuwright {
namespace {

constexpr std::size_t kLongest = 16 << 10;

// Length of the escape sequence at `at`: CSI up to its final byte, OSC up to BEL or ST, else two.
std::size_t escape_length(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size()) return text.size() - at;
  std::size_t end = at + 2;
  if (text[at + 1] == '[') {
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return std::min(end + 1, text.size()) - at;
  }
  if (text[at + 1] == ']') {
    while (end < text.size() && text[end] != '\a' && text[end] != '\x1b') ++end;
    if (end < text.size() && text[end] == '\x1b') ++end;
    return std::min(end + 1, text.size()) - at;
  }
  return 2;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string clean_line(std::string_view raw) {
  while (!raw.empty() && (raw.back() == '\r' || raw.back() == ' ')) raw.remove_suffix(1);
  const auto rewritten = raw.rfind('\r');
  if (rewritten != std::string_view::npos) raw.remove_prefix(rewritten + 1);
  std::string out;
  out.reserve(std::min(raw.size(), kLongest));
  for (std::size_t i = 0; i < raw.size() && out.size() < kLongest;) {
    if (raw[i] == '\x1b') {
      i += escape_length(raw, i);
      continue;
    }
    if (raw[i] == '\b' && !out.empty()) {
      out.pop_back();
    } else if (raw[i] == '\t') {
      out += '\t';
    } else if (!is_control(raw[i])) {
      out += raw[i];
    }
    ++i;
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\t')) out.pop_back();
  return out;
}

std::string shape_of(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size() && out.size() < 200; ++i) {
    const bool digit = line[i] >= '0' && line[i] <= '9';
    if (!digit) {
      out += line[i];
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

std::string unwrap(std::string_view text) {
  const auto all = lines(text);
  std::size_t width = 0;
  for (const auto line : all) width = std::max(width, line.size());
  if (width < 60 || width > 250) return std::string(text);
  const auto full = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](std::string_view line) { return line.size() == width; }));
  // A table has many lines of one length too, but those begin and end with its frame.
  const auto framed =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](std::string_view line) {
        return line.size() == width && (line.back() == '|' || line.back() == '+' ||
                                        line.back() == '-' || line.back() == '=');
      }));
  if (full < 2 || framed * 2 > full) return std::string(text);
  std::string out;
  std::size_t swallowed = 0;
  for (const auto line : all) {
    out += line;
    if (line.size() == width) {
      ++swallowed;
      continue;
    }
    out.append(swallowed + 1, '\n');
    swallowed = 0;
  }
  return out;
}

}  // namespace gpuwright
