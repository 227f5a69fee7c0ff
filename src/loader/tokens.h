#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuwright::loader {

/// What $ORIGIN, $LIB and $PLATFORM stand for, and whether the process is trusted with them.
struct Tokens {
  std::string origin;  ///< Empty when unknown: an element that uses it is dropped.
  std::string lib;
  std::string platform;
  bool secure = false;      ///< AT_SECURE.
  bool of_program = false;  ///< The text stands in the main executable.
  const std::vector<std::string>* trusted_directories = nullptr;  ///< The default directories.
};

/// `text` with its tokens replaced; empty when the loader would drop it: a token without a value,
/// or, in a secure process, $ORIGIN anywhere but in front or leading out of the default
/// directories.
std::string expand_tokens(std::string_view text, const Tokens& tokens);

/// True when `text` holds a token that the loader knows.
bool has_tokens(std::string_view text);

}  // namespace gpuwright::loader
