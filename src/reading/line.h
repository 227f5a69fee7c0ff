#pragma once

#include <string>
#include <string_view>

namespace gpuwright {

/// A line as a person saw it: without colour codes and other escape sequences, of a line that a
/// progress bar wrote over and over only what remained, without control characters, trailing blanks
/// and what lies beyond 16 KiB.
std::string clean_line(std::string_view raw);

/// The line with every number replaced by '#', at most 200 bytes: lines that differ in time stamps,
/// addresses and counters alone become equal.
std::string shape_of(std::string_view line);

/// A terminal or a mail program breaks long lines at its width. When `text` has such a width (many
/// lines are exactly that long, none longer), the lines are joined again, each followed by as many
/// empty lines as it has swallowed, so that the numbers of the others stay.
std::string unwrap(std::string_view text);

}  // namespace gpuwright
