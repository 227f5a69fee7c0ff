#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <deque>

#include "base/text.h"
#include "cli/command.h"

// The only file that includes CLI11, which costs more to compile than the rest of the room.

namespace gpuwright::cli {
namespace {

/// What CLI11 writes into; its addresses must not move while it parses.
struct Slot {
  const Option* option;
  std::string value;
  bool given = false;
};

// "ID,...": given twice, the values add up.
bool is_list(const Option& option) { return std::string_view(option.value).ends_with(",..."); }

void declare(CLI::App& app, std::span<const Option> options, std::deque<Slot>& slots) {
  for (const auto& option : options) {
    Slot& slot = slots.emplace_back(Slot{&option, {}, false});
    const std::string spelling =
        (*option.letter == '\0' ? "" : std::string(option.letter) + ",") + option.name;
    if (*option.value == '\0') {
      app.add_flag(spelling, slot.given);
    } else {
      auto* added = app.add_option(spelling, slot.value);
      if (is_list(option)) {
        added->multi_option_policy(CLI::MultiOptionPolicy::Join)->delimiter(',');
      } else {
        added->take_last();
      }
    }
  }
}

Result<void> check_value(const Option& option, const std::string& value) {
  // `--root "$DIR"` with DIR unset must not judge another machine than the one meant.
  if (value.empty()) return fail("is empty", option.name);
  const auto choices = words(option.choices);
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end())
    return {};
  std::vector<std::string> names(choices.begin(), choices.end());
  return fail("'" + value + "' is none of " + join(names, ", "), option.name);
}

// What CLI11 says may have several lines ("Run with --help for more information.").
std::string first_line(const std::string& text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

Result<Arguments> parse_arguments(const Command& command, const std::vector<std::string>& given) {
  CLI::App app;
  app.set_help_flag();  // --help is one of our records
  std::deque<Slot> slots;
  declare(app, command.options, slots);
  declare(app, common_options(), slots);
  std::vector<std::string> operands;
  if (*command.operand != '\0') app.add_option("operand", operands);
  try {
    app.parse(std::vector<std::string>(given.rbegin(), given.rend()));
  } catch (const CLI::ExtrasError&) {
    return fail("unexpected argument '" + join(app.remaining(), " ") + "'");
  } catch (const CLI::ArgumentMismatch& error) {  // "--root: 1 required TEXT missing"
    return fail("needs a value", std::string(error.what(), std::strcspn(error.what(), ":")));
  } catch (const CLI::ParseError& error) {
    return fail(first_line(error.what()));
  }
  Arguments arguments;
  for (const auto& slot : slots) {
    if (!slot.given && app.get_option(slot.option->name)->count() == 0) continue;
    const bool takes_value = *slot.option->value != '\0';
    if (const auto valid = check_value(*slot.option, slot.value); takes_value && !valid)
      return tl::unexpected(valid.error());
    arguments.set(slot.option->name, slot.value);
  }
  for (auto& operand : operands) arguments.add_operand(std::move(operand));
  return arguments;
}

}  // namespace gpuwright::cli
