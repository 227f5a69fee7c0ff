#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

// What may stand in a place of the command line, taken from the records, for every shell.

namespace gpuwright::cli {

/// What follows an option, or what a command takes.
struct Words {
  std::vector<std::string> words;  ///< All that may stand there; empty when it is free.
  bool files = false;
  bool directories = false;
  bool list = false;  ///< Several, with commas between them.
};

Words words_of_value(const Option& option);
Words words_of_operand(const Command& command);

std::string zsh_script();
std::string fish_script();

/// `text` for the inside of single quotes of a POSIX shell.
std::string in_single_quotes(const std::string& text);

}  // namespace gpuwright::cli
