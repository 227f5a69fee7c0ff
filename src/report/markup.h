#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuwright {

/// `text` for XML and HTML, between tags and in quoted attributes. Control characters and invalid
/// UTF-8 become '?', which XML 1.0 could not hold in any form.
std::string markup_text(std::string_view text);

/// The same line by line, line ends kept.
std::string markup_lines(std::string_view text);

/// `text` as a sentence of Markdown: no character has a meaning, and nobody is notified.
std::string markdown_text(std::string_view text);

/// `text` as a code span of Markdown; "" for an empty one.
std::string markdown_code(std::string_view text);

/// How many `c` follow each other at most: a code span or fence takes more backticks than it holds.
std::size_t longest_run(std::string_view text, char c);

}  // namespace gpuwright
