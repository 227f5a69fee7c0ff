// The steps that all parsers share.

#include "base/text.h"

#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  const std::string shown = printable(text);
  require(printable(shown) == shown, "what can be shown stays as it is");
  use(nlohmann::json(shown).dump());  // throws on what is not UTF-8
  std::vector<std::string> pieces;
  for (const auto piece : split(text, ':')) pieces.emplace_back(piece);
  require(join(pieces, ":") == text, "splitting and joining are inverse");
  require(lower(lower(text)) == lower(text), "lower case stays lower");
  const auto number = parse_unsigned(text);
  if (number) require(parse_unsigned(std::to_string(*number)) == number, "a number is its digits");
  const auto [pattern, name] = first_line_and_rest(text);
  const bool matches = glob_match(pattern, name);
  if (pattern == "*") require(matches, "a star matches all");
  if (pattern.find_first_of("*?[\\") == std::string::npos)
    require(matches == (pattern == name), "a plain pattern matches itself alone");
  require(path_name(path_join("/x", "y")) == "y", "a path ends in its name");
  use(path_directory(text));
  use(value_after(text, "Version:"));
  return 0;
}
