#include "base/embedded.h"
#include "cli/command.h"

namespace gpuwright {
extern const EmbeddedFile k_finding_pages[];
}

namespace gpuwright::cli {
namespace {

std::string names_of(std::span<const Option> options) {
  std::string out;
  for (const auto& option : options) out += std::string(option.name) + " ";
  return out;
}

// `--format) COMPREPLY=(...); return ;;` for options with choices; file names for the others.
std::string value_cases() {
  std::string out;
  for (const auto& command : commands())
    for (const auto& option : command.options) {
      if (*option.value == '\0') continue;
      const std::string words =
          *option.choices == '\0' ? std::string("-f") : "-W '" + std::string(option.choices) + "'";
      out += std::string("    ") + command.name + option.name + ") COMPREPLY=($(compgen " + words +
             " -- \"$current\")); return ;;\n";
    }
  return out;
}

std::string word_cases() {
  std::string out;
  for (const auto& command : commands()) {
    std::string words = names_of(command.options) + names_of(common_options());
    if (command.run == run_help)
      for (const auto* page = k_finding_pages; page->name != nullptr; ++page)
        words += std::string(page->name) + " ";
    if (command.run == run_completion) words += "bash ";
    out += std::string("    ") + command.name + ") words='" + words + "' ;;\n";
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
         "  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words\n"
         "  local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  case $command$previous in\n" +
         value_cases() +
         "  esac\n"
         "  case $command in\n" +
         word_cases() + "    *) words='" + command_names() +
         "' ;;\n"
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -F _gpuwright gpuwright\n";
}

}  // namespace

Result<int> run_completion(const Arguments& arguments, Output& output) {
  if (arguments.operands() != std::vector<std::string>{"bash"})
    return fail("give the shell's name; bash is the one there is");
  output.data(bash_script());
  return kAllRight;
}

}  // namespace gpuwright::cli
