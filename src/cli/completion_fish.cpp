#include "base/text.h"
#include "cli/completion_words.h"

// complete(1) of fish. In its single quotes a backslash keeps a quote or a backslash.

namespace gpuwright::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string source_of(const Words& words) {
  if (!words.words.empty() && words.list)
    return " -x -a " + quoted("(__fish_append , " + join(words.words, " ") + ")");
  if (!words.words.empty()) return " -x -a " + quoted(join(words.words, " "));
  if (words.directories) return " -x -a '(__fish_complete_directories)'";
  return words.files ? " -r -F" : " -x";
}

std::string line_of(const std::string& condition, const Option& option) {
  std::string out =
      "complete -c gpuwright -n " + quoted(condition) + " -l " + std::string(option.name + 2);
  if (*option.letter != '\0') out += std::string(" -s ") + (option.letter + 1);
  if (*option.value != '\0') out += source_of(words_of_value(option));
  return out + " -d " + quoted(option.help) + "\n";
}

std::string lines_of(const Command& command) {
  const std::string condition = std::string("__fish_seen_subcommand_from ") + command.name;
  std::string out = std::string("complete -c gpuwright -n __fish_use_subcommand -a ") +
                    command.name + " -d " + quoted(command.summary) + "\n";
  for (const auto& option : command.options) out += line_of(condition, option);
  for (const auto& option : common_options()) out += line_of(condition, option);
  const Words operand = words_of_operand(command);
  const std::string head = "complete -c gpuwright -n " + quoted(condition);
  if (!operand.words.empty()) out += head + " -a " + quoted(join(operand.words, " ")) + "\n";
  if (operand.files || operand.directories) out += head + " -F\n";
  return out;
}

}  // namespace

std::string fish_script() {
  std::string out = "complete -c gpuwright -f\n";
  for (const auto& command : commands()) out += lines_of(command);
  return out;
}

}  // namespace gpuwright::cli
