#pragma once

#include <string>
#include <string_view>

namespace gpuwright {

/// `text` for XML and HTML, between tags and in quoted attributes. Control characters and invalid
/// UTF-8 become '?', which XML 1.0 could not hold in any form.
std::string markup_text(std::string_view text);

/// The same line by line, line ends kept.
std::string markup_lines(std::string_view text);

}  // namespace gpuwright
