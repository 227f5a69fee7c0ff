#include "base/text.h"
#include "cli/completion_words.h"

// zshcompsys(1), _arguments: '--name=[what it does]:value:action'. Brackets and colons end a part
// unless a backslash stands before them.

namespace gpuwright::cli {
namespace {

std::string part(const std::string& text) {
  std::string out;
  for (const char c : in_single_quotes(text)) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string action(const Words& words) {
  if (!words.words.empty() && words.list) return "_sequence compadd - " + join(words.words, " ");
  if (!words.words.empty()) return "(" + join(words.words, " ") + ")";
  if (words.directories) return "_files -/";
  return words.files ? "_files" : " ";
}

std::string specification(const Option& option) {
  const bool has_value = *option.value != '\0';
  const std::string rest =
      "[" + part(option.help) + "]" +
      (has_value ? ":" + part(option.value) + ":" + action(words_of_value(option)) : "");
  const std::string name = std::string(option.name) + (has_value ? "=" : "");
  if (*option.letter == '\0') return "'" + name + rest + "'";
  return "'(" + std::string(option.letter) + " " + option.name + ")'{" + option.letter + "," +
         name + "}'" + rest + "'";
}

std::string command_case(const Command& command) {
  std::string out = std::string("    ") + command.name + ")\n      _arguments";
  for (const auto& option : command.options) out += " \\\n        " + specification(option);
  for (const auto& option : common_options()) out += " \\\n        " + specification(option);
  if (*command.operand != '\0')
    out +=
        " \\\n        '*:" + part(command.operand) + ":" + action(words_of_operand(command)) + "'";
  return out + "\n      ;;\n";
}

}  // namespace

std::string zsh_script() {
  std::string out =
      "#compdef gpuwright\n"
      "_gpuwright() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const auto& command : commands())
    out += std::string("    '") + command.name + ":" + part(command.summary) + "'\n";
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in\n";
  for (const auto& command : commands()) out += command_case(command);
  return out +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _gpuwright ]; then\n"
         "  _gpuwright \"$@\"\n"
         "else\n"
         "  compdef _gpuwright gpuwright\n"
         "fi\n";
}

}  // namespace gpuwright::cli
