#include <algorithm>
#include <iterator>

#include "cli/command.h"

namespace gpuwright::cli {
namespace {

constexpr Option kCommonOptions[] = {
    {"--quiet", "-q", "", "", "print the verdict alone, or nothing where there is none"},
    {"--verbose", "-v", "", "", "print the evidence of warnings and what was not seen"},
    {"--no-color", "", "", "", "no colour, as NO_COLOR=1 in the environment"},
    {"--help", "-h", "", "", "print this text"},
    {"--version", "", "", "", "print the version"},
};

constexpr Option kCheckOptions[] = {
    {"--all", "", "", "", "list every fact with its source"},
    {"--libraries", "", "", "", "show which file each GPU library is loaded from, and why"},
    {"--format", "", "FORMAT", "text json", "text for people, json for programs"},
    {"--root", "", "DIR", "", "read this file tree as if it were the machine"},
    {"--from", "", "FILE", "", "judge a snapshot of another machine, - for standard input"},
    {"--python", "", "PATH", "", "the interpreter or environment to examine"},
    {"--framework", "", "NAME", "tensorflow torch jax", "examine this framework alone"},
    {"--only", "", "RUNG", "host hardware driver cuda libraries python framework",
     "judge this rung alone"},
    {"--strict", "", "", "", "count warnings as problems"},
    {"--catalog", "", "DIR", "", "take facts about versions from DIR/*.toml"},
};

constexpr Option kExplainOptions[] = {
    {"--all", "", "", "", "show every harmless and every unplaced line"},
    {"--format", "", "FORMAT", "text json", "text for people, json for programs"},
    {"--catalog", "", "DIR", "", "take facts about versions from DIR/*.toml"},
};

constexpr Option kSnapshotOptions[] = {
    {"--output", "-o", "FILE", "", "write to FILE, which appears whole or not at all"},
    {"--no-redact", "", "", "", "keep names, addresses, serial numbers and secrets"},
    {"--root", "", "DIR", "", "read this file tree as if it were the machine"},
    {"--python", "", "PATH", "", "the interpreter or environment to examine"},
};

constexpr Option kVersionOptions[] = {
    {"--format", "", "FORMAT", "text json", "text for people, json for programs"},
};

constexpr Command kCommands[] = {
    {"check",
     "tell the truth about this machine, from the PCI bus to the framework",
     "",
     "Reads files and changes nothing; starts no program, uses no network, needs no root.\n"
     "Exit status: 0 all is right, 1 problems, 2 wrong usage or unreadable input, 3 undecided.\n",
     {{"gpuwright check", "is this machine right, and if not, what do I type?"},
      {"gpuwright check --format json --only driver", "the driver alone, for a script"}},
     kCheckOptions,
     run_check},
    {"explain",
     "say what a log or a pasted error means, and what to do",
     "[FILE...]",
     "Reads logs, tracebacks and the output of commands in any mixture; - is standard input.\n"
     "Exit status: 0 nothing is wrong, 1 problems, 2 wrong usage or unreadable input, 3 "
     "undecided.\n",
     {{"gpuwright explain train.log", "what went wrong in this run?"},
      {"dmesg | gpuwright explain", "what does the kernel say about the GPU?"}},
     kExplainOptions,
     run_explain},
    {"snapshot",
     "write everything known about this machine to a file, to be judged elsewhere",
     "",
     "Names of people and machines, addresses, serial numbers and secrets are replaced unless\n"
     "--no-redact is given. Read the file before you publish it.\n",
     {{"gpuwright snapshot -o machine.json", "record this machine; check --from judges it"},
      {"gpuwright snapshot --root /", "the same on standard output"}},
     kSnapshotOptions,
     run_snapshot},
    {"help",
     "explain a finding or a command",
     "[ID|COMMAND]",
     "",
     {{"gpuwright help", "list commands and findings"},
      {"gpuwright help hardware.no-gpu", "what this finding means and what to do"}},
     {},
     run_help},
    {"version",
     "print the version",
     "",
     "",
     {{"gpuwright version", "for people"}, {"gpuwright version --format json", "for programs"}},
     kVersionOptions,
     run_version},
    {"completion",
     "print a completion script for a shell",
     "SHELL",
     "SHELL is bash.\n",
     {{"gpuwright completion bash", "the script"},
      {"source <(gpuwright completion bash)", "use it in this shell"}},
     {},
     run_completion},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

std::span<const Option> common_options() { return kCommonOptions; }

const Command* find_command(std::string_view name) {
  const auto* found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                   [&](const Command& command) { return command.name == name; });
  return found == std::end(kCommands) ? nullptr : found;
}

}  // namespace gpuwright::cli
