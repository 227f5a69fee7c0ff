#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuwright {

/// What a piece of text means to the eye. Colour repeats what the words say and never adds to it.
enum class Tint { kPlain, kBold, kGood, kBad, kDoubt, kFaint };

/// Columns that `text` takes: code points, which is exact for what we print.
std::size_t columns(std::string_view text);

/// `text` with blanks up to `width` columns; longer text stays whole.
std::string pad(std::string_view text, std::size_t width);

/// Collects a report line by line. Every text that enters goes through printable(), so nothing read
/// from a hostile file can steer the terminal.
class Page {
 public:
  /// `width` in columns; 0 never breaks a line.
  Page(bool color, int width) : color_(color), width_(width) {}

  /// One empty line, unless the page is empty or already ends with one.
  void gap();

  /// `lead` as it stands, then `text` broken at blanks, later lines indented to where the text
  /// began. A word longer than the line (a path) stays whole.
  void paragraph(std::string_view lead, std::string_view text, Tint lead_tint = Tint::kPlain,
                 Tint text_tint = Tint::kPlain);

  /// A line that is never broken: a command to paste, a path.
  void verbatim(std::string_view indent, std::string_view text, Tint tint = Tint::kPlain);

  const std::string& text() const { return text_; }

 private:
  void put(std::string_view text, Tint tint);

  bool color_;
  int width_;
  std::string text_;
};

}  // namespace gpuwright
