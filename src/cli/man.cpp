#include "base/text.h"
#include "cli/command.h"

// Manual pages in the man(7) macros, from the records of the commands. In roff a backslash, a
// hyphen and a line that begins with a period or an apostrophe have meanings of their own.

namespace gpuwright::cli {
namespace {

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return text;
}

std::string head(const std::string& name, const std::string& summary) {
  return ".TH " + upper(roff(name)) +
         " 1 \"\" \"gpuwright " GPUWRIGHT_VERSION "\" \"User Commands\"\n.SH NAME\n" + roff(name) +
         " \\- " + roff(summary) + "\n";
}

std::string option_entries(std::span<const Option> options) {
  std::string out;
  for (const auto& option : options) {
    out += ".TP\n\\fB";
    if (*option.letter != '\0') out += roff(option.letter) + "\\fR, \\fB";
    out += roff(option.name) + "\\fR";
    if (*option.value != '\0') out += " \\fI" + roff(option.value) + "\\fR";
    out += "\n" + roff(option.help) + ".\n";
    if (*option.choices != '\0') out += "One of: " + roff(option.choices) + ".\n";
  }
  return out;
}

std::string example_entries(const Command& command) {
  std::string out = ".SH EXAMPLES\n";
  for (const auto& example : command.examples)
    out += ".TP\n\\fB" + roff(example.line) + "\\fR\n" + roff(example.purpose) + "\n";
  return out;
}

std::string page_of(const Command& command) {
  const std::string name = std::string("gpuwright-") + command.name;
  std::string out = head(name, command.summary) + ".SH SYNOPSIS\n.B gpuwright " +
                    roff(command.name) + "\n[\\fIoptions\\fR]";
  if (*command.operand != '\0') out += " \\fI" + roff(command.operand) + "\\fR";
  out += "\n";
  if (*command.details != '\0') out += ".SH DESCRIPTION\n" + roff(command.details);
  return out + ".SH OPTIONS\n" + option_entries(command.options) +
         option_entries(common_options()) + example_entries(command) +
         ".SH SEE ALSO\n.BR gpuwright (1)\n";
}

std::string overview_page() {
  std::string out =
      head("gpuwright", "tell the truth about a machine for GPU deep learning") +
      ".SH SYNOPSIS\n.B gpuwright\n\\fICOMMAND\\fR [\\fIoptions\\fR]\n"
      ".SH DESCRIPTION\nFrom the PCI bus to the framework: what is broken, why, with evidence, and "
      "what to type.\n.SH COMMANDS\n";
  for (const auto& command : commands()) {
    out += ".TP\n\\fB" + roff(command.name) + "\\fR\n" + roff(command.summary) + ".\n";
  }
  out +=
      ".SH EXIT STATUS\n0 all is right, 1 problems were found, 2 wrong usage or unreadable input, "
      "3 could not decide, 130 interrupted.\n"
      ".SH FILES\n.TP\n\\fI/etc/gpuwright/ignore\\fR, \\fI~/.config/gpuwright/ignore\\fR\n"
      "Findings to live with: an id, what narrows it, and a reason a line.\n.SH SEE ALSO\n";
  for (const auto& command : commands())
    out += ".BR gpuwright\\-" + roff(command.name) + " (1)" +
           (&command == &commands().back() ? "\n" : ",\n");
  return out;
}

}  // namespace

Result<int> run_man(const Arguments& arguments, Output& output) {
  const auto& names = arguments.operands();
  if (names.size() > 1) return fail("one command at a time");
  if (names.empty()) {
    output.data(overview_page());
    return kAllRight;
  }
  const Command* command = find_command(names[0]);
  if (command == nullptr) return fail("no command '" + names[0] + "'; gpuwright help lists them");
  output.data(page_of(*command));
  return kAllRight;
}

}  // namespace gpuwright::cli
