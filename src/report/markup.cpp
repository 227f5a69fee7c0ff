#include "report/markup.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {

std::string markup_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string markup_lines(std::string_view text) {
  std::string out;
  for (const auto line : lines(text)) out += markup_text(line) + "\n";
  return out;
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_{}[]<>#|~").find(c) != std::string_view::npos) out += '\\';
    // A blank of no width keeps a name from being notified.
    out += c == '@' ? std::string("@\u200b") : std::string(1, c);
  }
  return out;
}

std::size_t longest_run(std::string_view text, char c) {
  std::size_t longest = 0, run = 0;
  for (const char one : text) {
    run = one == c ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// A span is closed by as many backticks as opened it, so it takes more than it holds.
std::string markdown_code(std::string_view text) {
  const std::string clean = printable(text);
  if (clean.empty()) return "";
  const std::string ticks(longest_run(clean, '`') + 1, '`');
  const std::string gap = clean.front() == '`' || clean.back() == '`' ? " " : "";
  return ticks + gap + clean + gap + ticks;
}

}  // namespace gpuwright
