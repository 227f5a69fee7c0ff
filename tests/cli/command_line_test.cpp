#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "cli/command.h"
#include "cli/program.h"
#include "support/schema.h"

namespace gpuwright {
namespace {

using Json = nlohmann::json;

/// A machine without a GPU, small enough to be read here.
class CommandLine : public testing::Test {
 protected:
  CommandLine() {
    tree_.write("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian 12\"\n");
    tree_.write("etc/hostname", "node7\n");
    tree_.write("proc/sys/kernel/osrelease", "6.1.0-27-amd64\n");
    tree_.write("proc/self/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\n");
    tree_.write("proc/self/environ",
                std::string("HOME=/home/alice\0USER=alice\0CUDA_VISIBLE_DEVICES=0\0", 51));
    tree_.write("proc/self/mountinfo", "22 1 254:1 / / rw - ext4 /dev/vda1 rw\n");
    tree_.write("proc/1/environ", "");
    std::filesystem::create_directories(tree_.path() / "sys/bus/pci/devices");
    std::filesystem::create_directories(tree_.path() / "dev");
  }

  ProgramRun check(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"check", "--root", tree_.path().string()});
    return run_program(options);
  }
  ProgramRun snapshot(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"snapshot", "--root", tree_.path().string()});
    return run_program(options);
  }

  TempDirectory tree_;
};

TEST_F(CommandLine, CheckStartsWithTheVerdictAndFindsTheMissingGpu) {
  const ProgramRun run = check();
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_NE(run.out.find("hardware"), std::string::npos);
  EXPECT_NE(run.out.find("hint: gpuwright help hardware.no-gpu"), std::string::npos) << run.out;
}

TEST_F(CommandLine, QuietIsTheVerdictAlone) {
  const ProgramRun loud = check();
  const ProgramRun quiet = check({"--quiet"});
  EXPECT_EQ(quiet.status, loud.status);
  EXPECT_EQ(quiet.out, loud.out.substr(0, loud.out.find('\n') + 1));
}

TEST_F(CommandLine, OutputThatIsNoTerminalHasNoColour) {
  for (const auto& run : {check(), check({"--all", "--libraries", "--verbose"})})
    EXPECT_EQ(run.out.find('\x1b'), std::string::npos);
}

TEST_F(CommandLine, AllListsFactsWithTheirSources) {
  const ProgramRun run = check({"--all"});
  EXPECT_NE(run.out.find("host.distribution "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("/etc/os-release"), std::string::npos);
}

TEST_F(CommandLine, JsonKeepsToItsSchema) {
  for (const auto& options : {std::vector<std::string>{}, {"--only", "driver"}, {"--strict"}}) {
    auto words = options;
    words.insert(words.end(), {"--format", "json"});
    const ProgramRun run = check(words);
    const auto report = Json::parse(run.out, nullptr, false);
    ASSERT_FALSE(report.is_discarded()) << run.out << run.err;
    EXPECT_EQ(schema_error(report, load_schema("check.schema.json")), "");
  }
}

TEST_F(CommandLine, ListsRulesThatOnlyAndSkipTake) {
  const auto listed = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"check", "--list", "--format", "json"});
    std::vector<std::string> ids;
    for (const auto& rule : Json::parse(run_program(options).out)) ids.push_back(rule["id"]);
    return ids;
  };
  const auto all = listed({});
  EXPECT_GT(all.size(), 50u);
  EXPECT_EQ(listed({"--skip", all[0]}).size(), all.size() - 1);
  EXPECT_EQ(listed({"--only", all[0] + "," + all[1]}), (std::vector{all[0], all[1]}));
  EXPECT_EQ(listed({"--only", all[0], "--only", all[1]}), (std::vector{all[0], all[1]}));
}

TEST_F(CommandLine, ASkippedRuleCountsForNothing) {
  EXPECT_EQ(check({"--only", "hardware.no-gpu"}).status, 1);
  EXPECT_EQ(check({"--only", "hardware", "--skip", "hardware.no-gpu"}).status, 0);
}

TEST_F(CommandLine, AnIgnoredFindingIsToldAndCountsForNothing) {
  const TempDirectory place;
  place.write("ignore", "# why\nhardware.no-gpu until=9999-12-31 a login node\n");
  const std::vector<std::string> options = {"--only", "hardware", "--ignore", place / "ignore"};
  const ProgramRun run = check(options);
  EXPECT_EQ(run.status, 0) << run.out;
  EXPECT_NE(run.out.find("[hardware.no-gpu]: a login node (until 9999-12-31, "), std::string::npos)
      << run.out;
  auto json = options;
  json.insert(json.end(), {"--format", "json"});
  const Json report = Json::parse(check(json).out);
  EXPECT_EQ(schema_error(report, load_schema("check.schema.json")), "");
  ASSERT_EQ(report["ignored"].size(), 1u);
  EXPECT_EQ(report["ignored"][0]["finding"]["id"], "hardware.no-gpu");
  EXPECT_EQ(report["findings"].size(), 0u);
}

TEST_F(CommandLine, AnIgnoreWhoseDayHasPassedCountsNoMore) {
  const TempDirectory place;
  place.write("ignore", "hardware.no-gpu until=2000-01-01 a login node\n");
  const ProgramRun run = check({"--only", "hardware", "--ignore", place / "ignore"});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.out.find("no more: hardware.no-gpu, until 2000-01-01"), std::string::npos)
      << run.out;
}

TEST_F(CommandLine, NagiosHasItsOwnStatuses) {
  const ProgramRun run = check({"--format", "nagios"});
  EXPECT_EQ(run.status, 2);
  EXPECT_TRUE(run.out.starts_with("GPUWRIGHT CRITICAL - ")) << run.out;
  const ProgramRun unknown = run_program({"check", "--from", "/no/such", "--format", "nagios"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_EQ(unknown.out, "GPUWRIGHT UNKNOWN - /no/such: No such file or directory\n");
}

TEST_F(CommandLine, EnvironComesFromAFileAlone) {
  const TempDirectory place;
  place.write("env", "CUDA_VISIBLE_DEVICES=7\n");
  const ProgramRun run = check({"--all", "--environ", place / "env"});
  EXPECT_NE(run.out.find("host.environment_of"), std::string::npos);
  EXPECT_NE(run.out.find("file " + (place / "env")), std::string::npos) << run.out;
  EXPECT_EQ(check({"--environ", place / "env", "--sudo"}).status, 2);
}

TEST_F(CommandLine, DiffIsZeroForTheSameAndOneForOthers) {
  const TempDirectory place;
  place.write("a.json", snapshot().out);
  tree_.write("proc/sys/kernel/osrelease", "6.1.0-99-amd64\n");
  place.write("b.json", snapshot().out);
  EXPECT_EQ(run_program({"diff", place / "a.json", place / "a.json"}).status, 0);
  const ProgramRun run = run_program({"diff", place / "a.json", place / "b.json"});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.out.find("host.kernel_release: 6.1.0-27-amd64 -> 6.1.0-99-amd64"),
            std::string::npos)
      << run.out;
  EXPECT_EQ(run_program({"diff"}).status, 2);
  EXPECT_EQ(run_program({"diff", place / "a.json", place / "none.json"}).status, 2);
}

TEST_F(CommandLine, SnapshotKeepsToItsSchema) {
  const ProgramRun run = snapshot();
  EXPECT_EQ(run.status, 0) << run.err;
  const auto document = Json::parse(run.out, nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  EXPECT_EQ(schema_error(document, load_schema("snapshot.schema.json")), "");
}

TEST_F(CommandLine, ASnapshotIsJudgedAsItsMachineByteForByte) {
  const ProgramRun live = check({"--format", "json"});
  const ProgramRun taken = snapshot({"--no-redact"});
  const ProgramRun judged = run_program({"check", "--from", "-", "--format", "json"}, taken.out);
  EXPECT_EQ(judged.status, live.status);
  EXPECT_EQ(judged.out, live.out);
}

TEST_F(CommandLine, RedactionKeepsTheFindings) {
  const auto ids = [](const std::string& text) {
    const Json report = Json::parse(text);
    std::vector<std::string> out;
    for (const auto& finding : report["findings"]) out.push_back(finding["id"]);
    return out;
  };
  const ProgramRun taken = snapshot();
  EXPECT_EQ(taken.out.find("alice"), std::string::npos);
  EXPECT_EQ(taken.out.find("node7"), std::string::npos);
  const ProgramRun judged = run_program({"check", "--from", "-", "--format", "json"}, taken.out);
  EXPECT_EQ(ids(judged.out), ids(check({"--format", "json"}).out));
}

TEST_F(CommandLine, ASnapshotFileAppearsWholeAndReplacesTheOldOne) {
  const TempDirectory place;
  place.write("machine.json", "old");
  const ProgramRun run = snapshot({"-o", place / "machine.json"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(read_whole(place / "machine.json"), snapshot().out);
  const std::filesystem::directory_iterator files(place.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "a temporary file was left";
}

TEST_F(CommandLine, ASnapshotWithSecretsIsForItsOwnerAlone) {
  const TempDirectory place;
  const auto mode_of = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"-o", place / "machine.json"});
    EXPECT_EQ(snapshot(options).status, 0);
    return std::filesystem::status(place / "machine.json").permissions();
  };
  using std::filesystem::perms;
  EXPECT_EQ(mode_of({"--no-redact"}), perms::owner_read | perms::owner_write);
  EXPECT_NE(mode_of({}) & perms::owner_read, perms::none);
}

TEST_F(CommandLine, StandardOutputThatIsFullIsAnError) {
  const ProgramRun run = run_words(
      {"bash", "-c", "gpuwright check --root '" + tree_.path().string() + "' > /dev/full"});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.err, "gpuwright: standard output: No space left on device\n");
}

TEST_F(CommandLine, AClosedPipeIsAQuietEnd) {
  const ProgramRun run = run_words(
      {"bash", "-c",
       "gpuwright snapshot --root '" + tree_.path().string() + "' | true; echo ${PIPESTATUS[0]}"});
  EXPECT_EQ(run.out, "0\n");
  EXPECT_EQ(run.err, "");
}

TEST(CommandLineInput, EveryCutOfASnapshotIsOneLineAndStatusTwo) {
  const std::string text = run_program({"snapshot", "--root", "/"}).out;
  ASSERT_GT(text.size(), 1000u);
  for (const std::size_t length :
       {std::size_t{1}, text.size() / 3, text.size() / 2, text.size() - 3}) {
    const ProgramRun run = run_program({"check", "--from", "-"}, text.substr(0, length));
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_NE(run.err.find("standard input: is not JSON, at byte"), std::string::npos) << run.err;
  }
}

TEST(CommandLineInput, AHugeSnapshotIsRefusedByItsSize) {
  const TempDirectory place;
  place.write("huge.json", "");
  std::filesystem::resize_file(place / "huge.json", std::uintmax_t{1} << 40);  // a hole
  const ProgramRun run = run_program({"check", "--from", place / "huge.json"});
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.err.find("larger than a snapshot can be"), std::string::npos) << run.err;
}

TEST(CommandLineHelp, PrintsThePageOfAFinding) {
  const auto page =
      std::filesystem::path(GPUWRIGHT_SOURCE_DIR) / "docs/findings/hardware.no-gpu.md";
  const ProgramRun run = run_program({"help", "hardware.no-gpu"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, read_whole(page));
}

TEST(CommandLineHelp, ListsEveryCommandAndFinding) {
  const ProgramRun run = run_program({"help"});
  for (const auto& command : cli::commands())
    EXPECT_NE(run.out.find(std::string("  ") + command.name), std::string::npos);
  EXPECT_NE(run.out.find("hardware.no-gpu"), std::string::npos);
}

TEST(CommandLineHelp, SaysOfEveryFindingWhatItIs) {
  const ProgramRun run = run_program({"help"});
  const std::string list = run.out.substr(run.out.find("\nFindings") + 1);
  const auto findings = lines(list);
  ASSERT_GT(findings.size(), 1u);
  for (std::size_t i = 1; i < findings.size(); ++i)
    EXPECT_GT(words(findings[i]).size(), 1u) << findings[i];
}

TEST(CommandLineHelp, EveryExampleRuns) {
  for (const auto& command : cli::commands())
    for (const auto& example : command.examples) {
      const TempDirectory here;
      const ProgramRun run = run_words({"bash", "-c", example.line}, "", {}, here.path().string());
      EXPECT_TRUE(run.status == 0 || run.status == 1 || run.status == 3) << example.line << "\n"
                                                                         << run.err;
    }
}

TEST(CommandLineHelp, EveryHelpBeginsWithItsExamples) {
  for (const auto& command : cli::commands()) {
    const ProgramRun run = run_program({command.name, "--help"});
    EXPECT_EQ(run.status, 0);
    EXPECT_TRUE(run.out.starts_with(std::string("Examples:\n  ") + command.examples[0].line));
    for (const auto& option : command.options)
      EXPECT_NE(run.out.find(option.name), std::string::npos) << option.name;
  }
}

TEST(Completion, OffersOptionsAndTheirChoices) {
  const std::string script =
      "source <(gpuwright completion bash)\n"
      "ask() { COMP_WORDS=(gpuwright \"$@\"); COMP_CWORD=$#; COMPREPLY=(); _gpuwright;"
      " echo \"${COMPREPLY[*]}\"; }\n"
      "ask ch; ask check --lib; ask check --format js; ask help hardware.no\n";
  const ProgramRun run = run_words({"bash", "-c", script});
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(run.out.starts_with("check\n--libraries\njson\nhardware.no-gpu")) << run.out;
}

TEST(Completion, IsAScriptThatItsShellTakes) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const TempDirectory place;
    place.write("script", run_program({"completion", shell}).out);
    const ProgramRun run = run_words({shell, "-n", place / "script"});
    if (run.status == 127) continue;  // that shell is not on this machine
    EXPECT_EQ(run.status, 0) << shell << "\n" << run.err;
  }
}

TEST(Man, HasAPageForEveryCommandThatNamesAllOptions) {
  const std::string overview = run_program({"man"}).out;
  for (const auto& command : cli::commands()) {
    EXPECT_NE(overview.find(std::string("gpuwright\\-") + command.name), std::string::npos);
    const ProgramRun run = run_program({"man", command.name});
    EXPECT_TRUE(run.out.starts_with(".TH ")) << run.out;
    std::string plain;
    for (const char c : run.out)
      if (c != '\\') plain += c;
    for (const auto& option : command.options)
      EXPECT_NE(plain.find(option.name), std::string::npos) << option.name;
  }
  EXPECT_EQ(run_program({"man", "nothing"}).status, 2);
}

}  // namespace
}  // namespace gpuwright
