#include "base/text.h"
#include "cli/command.h"
#include "cli/completion_words.h"

namespace gpuwright::cli {
namespace {

std::string names_of(std::span<const Option> options) {
  std::string out;
  for (const auto& option : options) out += std::string(option.name) + " ";
  return out;
}

// Of a list the last piece is completed, and what stands before it stays.
std::string bash_reply(const Words& words) {
  const std::string source = !words.words.empty() ? "-W '" + join(words.words, " ") + "'"
                             : words.directories  ? "-d"
                             : words.files        ? "-f"
                                                  : "-W ''";
  if (!words.list) return "COMPREPLY=($(compgen " + source + " -- \"$current\"))";
  return "COMPREPLY=($(compgen -P \"${current%\"${current##*,}\"}\" " + source +
         " -- \"${current##*,}\"))";
}

// `check--format) COMPREPLY=(...); return ;;`
std::string value_cases() {
  std::string out;
  for (const auto& command : commands())
    for (const auto& option : command.options) {
      if (*option.value == '\0') continue;
      std::string pattern = std::string(command.name) + option.name;
      if (*option.letter != '\0') pattern += std::string("|") + command.name + option.letter;
      out += "    " + pattern + ") " + bash_reply(words_of_value(option)) + "; return ;;\n";
    }
  return out;
}

std::string word_cases() {
  std::string out;
  for (const auto& command : commands()) {
    const Words operand = words_of_operand(command);
    out += std::string("    ") + command.name + ") words='" + names_of(command.options) +
           names_of(common_options()) + join(operand.words, " ") + "'" +
           (operand.files || operand.directories ? " files=-f" : "") + " ;;\n";
  }
  return out;
}

std::string command_names() {
  std::string out;
  for (const auto& command : commands()) out += std::string(command.name) + " ";
  return out;
}

std::string bash_script() {
  return "_gpuwright() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words files=\n"
         "  local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  case $command$previous in\n" +
         value_cases() +
         "  esac\n"
         "  [ \"$COMP_CWORD\" -gt 1 ] || command=\n"
         "  case $command in\n" +
         word_cases() + "    *) words='" + command_names() +
         "' ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen $files -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -F _gpuwright gpuwright\n";
}

}  // namespace

Result<int> run_completion(const Arguments& arguments, Output& output) {
  const auto& shells = arguments.operands();
  if (shells.size() != 1) return fail("give one shell's name: bash, zsh or fish");
  if (shells[0] == "bash") {
    output.data(bash_script());
  } else if (shells[0] == "zsh") {
    output.data(zsh_script());
  } else if (shells[0] == "fish") {
    output.data(fish_script());
  } else {
    return fail("'" + shells[0] + "' is none of bash, zsh, fish");
  }
  return kAllRight;
}

}  // namespace gpuwright::cli
