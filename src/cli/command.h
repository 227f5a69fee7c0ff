#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output.h"

// A command is a record, and so is an option. The parser, --help, the list of commands, usage
// errors and the shell completion all come from these records. To add a command: a file
// cli/<name>.cpp and a row in cli/commands.cpp.

namespace gpuwright::cli {

/// One option of a command.
struct Option {
  const char* name;     ///< "--root"
  const char* letter;   ///< "-o", or "" for none.
  const char* value;    ///< What follows, "DIR"; "ID,..." adds up; "" for a switch.
  const char* choices;  ///< The only values, "text json"; "" where all are allowed.
  const char* help;     ///< One line, without a full stop.
};

/// A command line that works as it stands, and what it is for. A test runs each.
struct Example {
  const char* line;
  const char* purpose;
};

/// What was typed, sorted out but not yet opened.
class Arguments {
 public:
  bool has(const std::string& option) const { return values_.contains(option); }
  /// Empty when the option was not given.
  std::string value(const std::string& option) const {
    const auto found = values_.find(option);
    return found == values_.end() ? std::string() : found->second;
  }
  const std::vector<std::string>& operands() const { return operands_; }

  void set(const std::string& option, std::string value) { values_[option] = std::move(value); }
  void add_operand(std::string text) { operands_.push_back(std::move(text)); }

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> operands_;
};

struct Command {
  const char* name;
  const char* summary;  ///< One line for the list of commands.
  const char* operand;  ///< "ID", "[ID]"; "" when it takes none.
  const char* details;  ///< Further lines of --help; may be empty.
  Example examples[2];
  std::span<const Option> options;
  /// The exit status, or the Error that goes to standard error as one line with status 2.
  Result<int> (*run)(const Arguments&, Output&);
};

/// In the order of the list that `gpuwright help` prints.
std::span<const Command> commands();

/// Options that every command has beside its own.
std::span<const Option> common_options();

const Command* find_command(std::string_view name);

/// "gpuwright check --help"
std::string help_text(const Command& command);
/// "gpuwright help": what the program is, its commands, where to go on.
std::string overview_text();

/// Sorts out what follows the command's name.
[[nodiscard]] Result<Arguments> parse_arguments(const Command& command,
                                                const std::vector<std::string>& words);

/// Exit statuses, the same for every command; docs/exit-status.md.
inline constexpr int kAllRight = 0;
inline constexpr int kProblemsFound = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kCouldNotDecide = 3;
inline constexpr int kInterrupted = 130;

Result<int> run_check(const Arguments& arguments, Output& output);
Result<int> run_explain(const Arguments& arguments, Output& output);
Result<int> run_snapshot(const Arguments& arguments, Output& output);
Result<int> run_help(const Arguments& arguments, Output& output);
Result<int> run_version(const Arguments& arguments, Output& output);
Result<int> run_completion(const Arguments& arguments, Output& output);
Result<int> run_man(const Arguments& arguments, Output& output);
Result<int> run_diff(const Arguments& arguments, Output& output);
Result<int> run_fleet(const Arguments& arguments, Output& output);

std::string version_line();

}  // namespace gpuwright::cli
