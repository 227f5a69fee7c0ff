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
    {"--format", "", "FORMAT", "text json nagios markdown html junit",
     "text for people, json for programs, others for what reads them"},
    {"--root", "", "DIR", "", "read this file tree as if it were the machine"},
    {"--from", "", "FILE", "", "judge a snapshot of another machine, - for standard input"},
    {"--python", "", "PATH", "", "the interpreter or environment to examine"},
    {"--framework", "", "NAME", "tensorflow torch jax", "examine this framework alone"},
    {"--service", "", "UNIT", "", "see what this systemd service would see"},
    {"--user", "", "NAME", "", "see what a login of this user would see"},
    {"--cron", "", "", "", "see what a cron job would see, of --user or of you"},
    {"--sudo", "", "", "", "see what a command behind sudo would see"},
    {"--environ", "", "FILE", "",
     "take the variables from FILE: NAME=value lines, /proc/PID/environ"},
    {"--only", "", "RUNG|ID,...", "", "judge these rungs and rules alone"},
    {"--skip", "", "ID,...", "", "leave these rules out"},
    {"--list", "", "", "", "list the rules: id, kind, what holds on a sound machine"},
    {"--ignore", "", "FILE", "",
     "findings to live with: an id, [subject=] [until=], a reason a line"},
    {"--no-ignore", "", "", "", "pass over /etc/gpuwright/ignore and ~/.config/gpuwright/ignore"},
    {"--strict", "", "", "", "count warnings as problems"},
    {"--run", "", "", "", "start NVML, the driver and each framework, and compare"},
    {"--run-timeout", "", "SEC", "", "wait this long for each of them, in seconds"},
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

constexpr Option kDiffOptions[] = {
    {"--all", "", "", "", "also what any two looks differ in: free space, clock, logs, processes"},
    {"--format", "", "FORMAT", "text json", "text for people, json for programs"},
};

constexpr Option kFleetOptions[] = {
    {"--all", "", "", "", "name every machine instead of the first few"},
    {"--format", "", "FORMAT", "text json markdown",
     "text for people, json for programs, markdown to be pasted"},
    {"--strict", "", "", "", "count warnings as problems"},
    {"--catalog", "", "DIR", "", "take facts about versions from DIR/*.toml"},
};

constexpr Option kVersionOptions[] = {
    {"--format", "", "FORMAT", "text json", "text for people, json for programs"},
};

constexpr Command kCommands[] = {
    {"check",
     "tell the truth about this machine, from the PCI bus to the framework",
     "",
     "Reads files and changes nothing; starts no program, uses no network, needs no root.\n"
     "With --run it starts children that ask NVML, initialise the driver, import each framework "
     "and\n"
     "multiply two small matrices (5, 10 and 120 s at most, longer with many GPUs); what they do "
     "is\n"
     "compared with what was predicted.\n"
     "Rungs: host hardware driver cuda libraries python framework. An ignored finding is still\n"
     "listed and counts for nothing; one whose day has passed counts again.\n"
     "Exit status: 0 all is right, 1 problems, 2 wrong usage or unreadable input, 3 undecided; "
     "with\n"
     "--format nagios 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.\n",
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
     {{"nvidia-smi 2>&1 | gpuwright explain", "what does this message mean?"},
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
    {"diff",
     "show what changed since a snapshot, or between two",
     "FILE...",
     "With one snapshot it is compared with this machine. Exit status: 0 the same, 1 different.\n",
     {{"gpuwright snapshot -o good.json && gpuwright diff good.json", "what changed since then?"},
      {"gpuwright snapshot -o a.json && gpuwright diff a.json a.json", "two files"}},
     kDiffOptions,
     run_diff},
    {"fleet",
     "judge the snapshots of many machines, and name those unlike the rest",
     "DIR|FILE...",
     "DIR stands for the *.json files in it; a machine is called as its file. Compared are "
     "driver,\n"
     "kernel, distribution, GPUs, CUDA toolkit, Python and frameworks, where 80 % or more agree.\n"
     "Exit status: 0 all are right, 1 problems somewhere, 2 wrong usage or no file could be read,\n"
     "3 undecided somewhere, or a file that could not be read.\n",
     {{"gpuwright snapshot -o node1.json && gpuwright fleet node1.json", "files"},
      {"mkdir fleet && gpuwright snapshot -o fleet/node1.json && gpuwright fleet fleet",
       "all that a directory holds"}},
     kFleetOptions,
     run_fleet},
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
     "SHELL is bash, zsh or fish.\n",
     {{"gpuwright completion bash", "the script"},
      {"source <(gpuwright completion bash)", "use it in this shell"}},
     {},
     run_completion},
    {"man",
     "print the manual page of a command",
     "[COMMAND]",
     "In roff, for man -l - and for a package's man1 directory; without COMMAND the page of\n"
     "gpuwright itself.\n",
     {{"gpuwright man check", "the page gpuwright-check(1)"},
      {"gpuwright man > gpuwright.1", "the overview, gpuwright(1)"}},
     {},
     run_man},
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
