// Redaction, of free text in each place that is treated in a way of its own.

#include "machine/redact.h"

#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)
using Json = nlohmann::ordered_json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const PrivateNames names{{"/data/people/alice"}, {"alice"}, {"node7.example.org", "node7"}};
  const std::string text = text_of(data, size);
  const auto [name, value] = first_line_and_rest(text);
  const Json document{{"text", text},
                      {"path", value},
                      {"uuid", value},
                      {"kernel_log", {text, value}},
                      {"variables", {{name, value}}}};
  const Json once = redact(document, names);
  require(redact(once, names) == once, "redacting twice changes nothing more");
  const auto shown = once["text"].get<std::string>();
  require(shown.find("/data/people/alice/") == std::string::npos, "a home has no owner");
  return 0;
}
