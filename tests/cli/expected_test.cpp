#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/program.h"

// Status, standard output and standard error of a command line, compared as one text with
// tests/cli/expected/<name>.txt. GPUWRIGHT_UPDATE_EXPECTED=1 ./test writes the files anew; the
// difference that git shows is the review.

namespace gpuwright {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> arguments;
  std::string input;
};

// What is typed and what comes back, in places where the text itself is the promise.
const Case kCases[] = {
    {"no-command", {}, ""},
    {"unknown-command", {"chekc"}, ""},
    {"overview", {"--help"}, ""},
    {"check-help", {"check", "--help"}, ""},
    {"snapshot-help", {"snapshot", "-h"}, ""},
    {"help-unknown-id", {"help", "hardware.no-gp"}, ""},
    {"version", {"--version"}, ""},
    {"check-version", {"check", "--version"}, ""},
    {"unknown-option", {"check", "--frobnicate"}, ""},
    {"missing-value", {"check", "--root"}, ""},
    {"empty-value", {"check", "--root", ""}, ""},
    {"unexpected-operand", {"check", "everything"}, ""},
    {"unknown-rung", {"check", "--only", "basement"}, ""},
    {"unknown-skip", {"check", "--skip", "hardware"}, ""},
    {"ignore-unknown-id", {"check", "--ignore", "-"}, "# all of them\nhardware.nothing x\n"},
    {"ignore-without-reason", {"check", "--ignore", "-"}, "hardware.no-gpu until=2026-12-31\n"},
    {"ignore-bad-date", {"check", "--ignore", "-"}, "hardware.no-gpu until=tomorrow x\n"},
    {"ignore-open-quote", {"check", "--ignore", "-"}, "hardware.no-gpu subject=\"x\n"},
    {"ignore-missing", {"check", "--ignore", "/no/such/file"}, ""},
    {"environ-bad-line", {"check", "--environ", "-"}, "A=1\n=2\n"},
    {"user-unknown", {"check", "--user", "no-such-user"}, ""},
    {"service-unknown", {"check", "--service", "no-such-unit"}, ""},
    {"from-with-service", {"check", "--from", "x.json", "--service", "x"}, ""},
    {"diff-without-file", {"diff"}, ""},
    {"man-unknown", {"man", "chekc"}, ""},
    {"completion-unknown-shell", {"completion", "tcsh"}, ""},
    {"unknown-framework", {"check", "--framework", "caffe"}, ""},
    {"unknown-format", {"check", "--format", "yaml"}, ""},
    {"root-missing", {"check", "--root", "/no/such/tree"}, ""},
    {"root-is-a-file", {"check", "--root", "/proc/version"}, ""},
    {"from-with-root", {"check", "--from", "x.json", "--root", "/"}, ""},
    {"from-missing", {"check", "--from", "/no/such.json"}, ""},
    {"from-directory", {"check", "--from", "/"}, ""},
    {"from-device", {"check", "--from", "/dev/zero"}, ""},
    {"from-empty", {"check", "--from", "-"}, ""},
    {"from-cut", {"check", "--from", "-"}, "{\"kind\": \"gpuwright-snapshot\", \"sch"},
    {"from-binary",
     {"check", "--from", "-"},
     std::string("\x7f"
                 "ELF\x02\x01\x01\0\0",
                 9)},
    {"from-other-json", {"check", "--from", "-"}, "{\"name\": \"package\"}"},
    {"from-later-schema",
     {"check", "--from", "-"},
     "{\"kind\": \"gpuwright-snapshot\", \"schema\": 999, \"machine\": {}}"},
    {"from-wrong-type",
     {"check", "--from", "-"},
     "{\"kind\": \"gpuwright-snapshot\", \"schema\": 1, \"machine\": {\"host\": "
     "{\"glibc\": {\"value\": 7}}}}"},
    {"catalog-missing", {"check", "--catalog", "/no/such/tables"}, ""},
    {"python-missing", {"check", "--python", "/no/such/python"}, ""},
    {"python-no-environment", {"check", "--python", "/proc/self"}, ""},
    {"completion-without-shell", {"completion"}, ""},
    {"snapshot-into-nowhere", {"snapshot", "-o", "/no/such/directory/x.json"}, ""},
};

std::string text_of(const Case& test, const ProgramRun& run) {
  std::string line = "$ gpuwright";
  for (const auto& argument : test.arguments) line += " " + argument;
  return line + "\nstatus " + std::to_string(run.status) + "\n--- standard output\n" + run.out +
         "--- standard error\n" + run.err;
}

class Expected : public testing::TestWithParam<Case> {};

TEST_P(Expected, IsWhatThePersonSees) {
  const Case& test = GetParam();
  const auto file = std::filesystem::path(GPUWRIGHT_SOURCE_DIR) / "tests/cli/expected" /
                    (std::string(test.name) + ".txt");
  const std::string seen = text_of(test, run_program(test.arguments, test.input));
  if (std::getenv("GPUWRIGHT_UPDATE_EXPECTED") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << seen;
  }
  EXPECT_EQ(seen, read_whole(file)) << "GPUWRIGHT_UPDATE_EXPECTED=1 ./test rewrites " << file;
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(CommandLine, Expected, testing::ValuesIn(kCases), name_of_case);

}  // namespace
}  // namespace gpuwright
