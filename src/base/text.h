#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuwright {

/// `text` without leading and trailing blanks, tabs, carriage returns and newlines.
std::string_view trim(std::string_view text);

/// The pieces between separators, empty ones included; an empty text gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The runs of characters that are not blank, tab or newline.
std::vector<std::string_view> words(std::string_view text);

/// The lines without their ends ("\n" or "\r\n"); a final line end opens no further line.
std::vector<std::string_view> lines(std::string_view text);

/// What follows `key` in the first line that begins with it, trimmed; nothing when no line does.
std::optional<std::string_view> value_after(std::string_view text, std::string_view key);

/// `text` in lower case, ASCII only.
std::string lower(std::string_view text);

/// All of `text` as a number; nothing when it is empty, has another character, or is too large.
std::optional<std::uint64_t> parse_unsigned(std::string_view text, int base = 10);

/// The pieces with `separator` between them.
std::string join(const std::vector<std::string>& pieces, std::string_view separator);

/// True when `text` matches a shell pattern of `*`, `?` and `[a-z]` as a whole.
bool glob_match(std::string_view pattern, std::string_view text);

/// "a/b" from "a" and "b", with exactly one slash between.
std::string path_join(std::string_view directory, std::string_view name);

/// The part before the last slash: "/" for "/a", "." for "a".
std::string path_directory(std::string_view path);

/// The part after the last slash.
std::string_view path_name(std::string_view path);

/// `text` with control characters and invalid UTF-8 replaced by '?', so that what a hostile file
/// says cannot steer a terminal or break JSON.
std::string printable(std::string_view text);

}  // namespace gpuwright
