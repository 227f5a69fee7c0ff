#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "support/schema.h"

// `check --run` as a whole: the built program, a real interpreter, and a torch of a few lines. What
// it says about the machine itself depends on the machine and is not looked at.

namespace gpuwright {
namespace {

using Json = nlohmann::json;

class CheckRun : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto* path : {"/usr/bin/python3", "/usr/local/bin/python3"})
      if (std::filesystem::exists(path)) python_ = path;
    if (python_.empty()) GTEST_SKIP() << "no python3 here";
    site_.write("torch/version.py", "__version__ = '2.9.0'\ncuda = '12.8'\n");
    site_.write("torch-2.9.0.dist-info/METADATA",
                "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n");
    write_torch(
        "print('chatter')\n__version__ = '2.9.0'\n"
        "class cuda:\n"
        "    @staticmethod\n    def is_available(): return False\n"
        "    @staticmethod\n    def init(): raise RuntimeError('no driver')\n");
  }

  // Every import leaves a mark beside the module.
  void write_torch(const std::string& text) {
    site_.write("torch/__init__.py", "open(__file__ + '.imported', 'w').close()\n" + text);
  }
  bool was_imported() const {
    return std::filesystem::exists(site_ / "torch/__init__.py.imported");
  }

  ProgramRun check(std::vector<std::string> options) {
    options.insert(options.begin(), {"check", "--python", python_, "--format", "json"});
    return run_program(options, "",
                       {"PYTHONPATH=" + site_.path().string(), "PYTHONDONTWRITEBYTECODE=1"});
  }
  Json framework_run(std::vector<std::string> options = {"--run"}) {
    const ProgramRun run = check(std::move(options));
    const Json report = Json::parse(run.out, nullptr, false);
    EXPECT_EQ(schema_error(report, load_schema("check.schema.json")), "") << run.out << run.err;
    EXPECT_EQ(run.err, "");
    if (report.is_discarded() || !report.contains("run")) return {};
    return report["run"]["frameworks"].at(0);
  }
  std::vector<std::string> ids() {
    std::vector<std::string> found;
    const Json report = Json::parse(check({"--run"}).out, nullptr, false);
    for (const auto& finding : report["findings"]) found.push_back(finding["id"]);
    return found;
  }

  std::string python_;
  TempDirectory site_;
};

TEST_F(CheckRun, WithoutTheOptionNoProgramIsStarted) {
  const Json report = Json::parse(check({}).out, nullptr, false);
  EXPECT_FALSE(report.contains("run"));
  ASSERT_EQ(report["frameworks"].size(), 1u) << "the torch of this test is examined";
  EXPECT_FALSE(was_imported());
}

TEST_F(CheckRun, ImportsTheFrameworkAndTellsItsDevices) {
  const Json run = framework_run();
  EXPECT_TRUE(was_imported());
  EXPECT_EQ(run["result"], "imported");
  EXPECT_EQ(run["devices"]["value"], Json::array());
  EXPECT_EQ(run["error"], "RuntimeError: no driver");
}

TEST_F(CheckRun, AnImportThatFailsIsAFinding) {
  write_torch("raise ImportError('half an installation')\n");
  const auto found = ids();
  EXPECT_NE(std::find(found.begin(), found.end(), "framework.import-fails-when-run"), found.end());
}

TEST_F(CheckRun, ACrashOfTheFrameworkIsNoneOfTheProgram) {
  write_torch("import os\nos.kill(os.getpid(), 11)\n");
  EXPECT_EQ(framework_run()["result"], "died of SIGSEGV in import torch");
}

TEST_F(CheckRun, AHangEndsWithTheGivenTime) {
  write_torch("import time\nwhile True: time.sleep(1000)\n");
  EXPECT_EQ(framework_run({"--run", "--run-timeout", "4"})["result"],
            "no answer within 4 s in import torch");
}

TEST_F(CheckRun, AFrameworkThatIsLeftOutIsNotRun) {
  check({"--run", "--framework", "jax"});
  EXPECT_FALSE(was_imported());
}

TEST_F(CheckRun, RunsAndComparesThisMachineAlone) {
  const auto error_of = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "check");
    const ProgramRun run = run_program(options, "{}");
    EXPECT_EQ(run.status, 2);
    return run.err;
  };
  EXPECT_EQ(error_of({"--run", "--root", "/"}),
            "gpuwright check: --run: starts programs on this machine: leave out --root\n");
  const auto healthy =
      std::filesystem::path(GPUWRIGHT_SOURCE_DIR) / "tests/cases/healthy/debian-12-rtx3090.json";
  EXPECT_EQ(error_of({"--run", "--from", healthy.string()}),
            "gpuwright check: --run: starts programs on this machine: leave out --from\n");
  for (const auto* wrong : {"0", "-1", "x", "1.5", "99999999999999999999"})
    EXPECT_EQ(error_of({"--run", "--run-timeout", wrong}),
              "gpuwright check: --run-timeout: is no number of seconds from 1 to 86400\n");
  EXPECT_FALSE(was_imported());
}

}  // namespace
}  // namespace gpuwright
