#include "report/markup.h"

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

}  // namespace gpuwright
