#include <algorithm>

#include "base/text.h"
#include "cli/command.h"

namespace gpuwright::cli {
namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// "-o, --output FILE"
std::string spelling(const Option& option) {
  std::string text = *option.letter == '\0' ? "    " : std::string(option.letter) + ", ";
  text += option.name;
  if (*option.value != '\0') text += std::string(" ") + option.value;
  return text;
}

std::string option_lines(std::span<const Option> options) {
  constexpr std::size_t kHelpColumn = 24;
  std::string out;
  for (const auto& option : options) {
    out += "  " + padded(spelling(option), kHelpColumn) + "  " + option.help + "\n";
    if (*option.choices == '\0') continue;
    out += std::string(kHelpColumn + 4, ' ') + "one of: " + option.choices + "\n";
  }
  return out;
}

}  // namespace

std::string help_text(const Command& command) {
  std::string out = "Examples:\n";
  for (const auto& example : command.examples)
    out += std::string("  ") + example.line + "\n      " + example.purpose + "\n";
  out += std::string("\nUsage: gpuwright ") + command.name + " [options]";
  if (*command.operand != '\0') out += std::string(" ") + command.operand;
  out += std::string("\n\n") + command.name + ": " + command.summary + ".\n" + command.details;
  if (!command.options.empty()) out += "\nOptions:\n" + option_lines(command.options);
  return out + "\nOf every command:\n" + option_lines(common_options());
}

std::string overview_text() {
  std::string out =
      "gpuwright tells the truth about a machine for GPU deep learning, from the PCI bus to the\n"
      "framework: what is broken, why, with evidence, and what to type.\n\nCommands:\n";
  std::size_t width = 0;
  for (const auto& command : commands()) width = std::max(width, std::string(command.name).size());
  for (const auto& command : commands())
    out += "  " + padded(command.name, width + 2) + command.summary + "\n";
  return out + "\ngpuwright COMMAND --help tells more.\n";
}

}  // namespace gpuwright::cli
