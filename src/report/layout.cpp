#include "report/layout.h"

#include "base/text.h"

namespace gpuwright {
namespace {

const char* escape_of(Tint tint) {
  switch (tint) {
    case Tint::kBold:
      return "\x1b[1m";
    case Tint::kGood:
      return "\x1b[32m";
    case Tint::kBad:
      return "\x1b[1;31m";
    case Tint::kDoubt:
      return "\x1b[33m";
    case Tint::kFaint:
      return "\x1b[2m";
    case Tint::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text)
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++count;
  return count;
}

std::string pad(std::string_view text, std::size_t width) {
  std::string out(text);
  const std::size_t taken = columns(text);
  if (taken < width) out.append(width - taken, ' ');
  return out;
}

void Page::put(std::string_view text, Tint tint) {
  const bool painted = color_ && tint != Tint::kPlain && !trim(text).empty();
  if (painted) text_ += escape_of(tint);
  text_ += text;
  if (painted) text_ += "\x1b[0m";
}

void Page::gap() {
  if (!text_.empty() && !text_.ends_with("\n\n")) text_ += '\n';
}

void Page::paragraph(std::string_view lead, std::string_view text, Tint lead_tint, Tint text_tint) {
  const std::string clean = printable(text);
  std::string clean_lead = printable(lead);
  while (clean.empty() && clean_lead.ends_with(' ')) clean_lead.pop_back();
  const std::size_t indent = columns(clean_lead);
  put(clean_lead, lead_tint);
  std::string line;
  const auto end_line = [&] {
    put(line, text_tint);
    line.clear();
  };
  for (const auto word : words(clean)) {
    const bool fits =
        width_ == 0 || line.empty() ||
        indent + columns(line) + 1 + columns(word) <= static_cast<std::size_t>(width_);
    if (!fits) {
      end_line();
      text_ += '\n' + std::string(indent, ' ');
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  end_line();
  text_ += '\n';
}

void Page::verbatim(std::string_view indent, std::string_view text, Tint tint) {
  text_ += indent;
  put(printable(text), tint);
  text_ += '\n';
}

}  // namespace gpuwright
