// Command lines: the command, then its arguments, NUL or newline between.

#include "cli/command.h"
#include "fuzz/fuzz.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [name, rest] = first_line_and_rest(text_of(data, size));
  const cli::Command* command = cli::find_command(name);
  if (command == nullptr) command = &cli::commands().front();
  std::vector<std::string> typed;
  for (const auto word : split(rest, '\n')) typed.emplace_back(word);
  const auto arguments = cli::parse_arguments(*command, typed);
  if (!arguments) {
    require(!arguments.error().text().empty(), "a refusal says why");
    require(arguments.error().text().find('\0') == std::string::npos ||
                rest.find('\0') != std::string::npos,
            "it says what was typed");
    return 0;
  }
  for (const auto& option : command->options) {
    if (*option.value == '\0' || !arguments->has(option.name)) continue;
    const auto value = arguments->value(option.name);
    require(!value.empty(), "a value that was given is not empty");
    const auto choices = words(option.choices);
    bool allowed = choices.empty();
    for (const auto choice : choices) allowed = allowed || choice == value;
    require(allowed, "a value is one of the choices");
  }
  return 0;
}
