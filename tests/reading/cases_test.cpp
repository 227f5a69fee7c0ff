#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "catalog/catalog.h"
#include "diagnose/diagnose.h"
#include "reading/line.h"
#include "reading/reading.h"

// Replays tests/explain/: what people paste, and what the answer has to be.
// tests/explain/README.md describes the format.

namespace gpuwright {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

const fs::path kCases = fs::path(GPUWRIGHT_SOURCE_DIR) / "tests" / "explain";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Names case_names() {
  Names names;
  if (!fs::exists(kCases)) return names;
  for (const auto& entry : fs::directory_iterator(kCases))
    if (fs::exists(entry.path() / "expect.json")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// All that a reader of the answer gets to see.
std::string all_text(const Diagnosis& diagnosis, const Reading& reading) {
  std::string text = diagnosis.verdict + "\n";
  for (const auto& finding : diagnosis.findings) {
    text += finding.id + " " + finding.statement + "\n" + finding.cause + "\n";
    for (const auto& evidence : finding.evidence)
      text += evidence.source + " " + evidence.text + "\n";
    for (const auto& step : finding.fix) text += step.command + "\n" + step.text + "\n";
  }
  for (const auto& line : reading.noise) text += "harmless: " + line.text + ": " + line.why + "\n";
  for (const auto& one : diagnosis.undecided)
    for (const auto& missing : one.missing) text += "add: " + missing.text + "\n";
  return text;
}

std::string worst_of(const Diagnosis& diagnosis) {
  std::string worst = "ok";
  for (const auto& finding : diagnosis.findings) {
    if (finding.severity == Severity::kError) return "error";
    if (finding.severity == Severity::kWarning) worst = "warning";
    if (finding.severity == Severity::kInfo && worst == "ok") worst = "info";
  }
  return worst;
}

std::string test_name(const testing::TestParamInfo<std::string>& parameter) {
  std::string name = parameter.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

class ExplainCase : public testing::TestWithParam<std::string> {};

TEST_P(ExplainCase, GivesExactlyWhatItExpects) {
  const Json expect = Json::parse(read_file(kCases / GetParam() / "expect.json"));
  const auto reading = read_text(unwrap(read_file(kCases / GetParam() / "input.txt")), "input.txt");
  DiagnoseOptions options;
  options.text_alone = true;
  const auto diagnosis = diagnose(reading.machine, Catalog::built_in(), options);
  const auto text = all_text(diagnosis, reading);
  SCOPED_TRACE(text);
  Names ids;
  for (const auto& finding : diagnosis.findings) ids.push_back(finding.id);
  EXPECT_EQ(ids, expect.at("findings").get<Names>());
  EXPECT_EQ(worst_of(diagnosis), expect.at("severity").get<std::string>());
  for (const auto& part : expect.value("says", Names{}))
    EXPECT_NE(lower(text).find(lower(part)), std::string::npos) << "not said: " << part;
  for (const auto& finding : diagnosis.findings) {
    EXPECT_FALSE(finding.evidence.empty()) << finding.id;
    if (finding.severity == Severity::kInfo) continue;
    for (const auto& line : expect.value("harmless", Names{}))
      for (const auto& evidence : finding.evidence)
        EXPECT_EQ(evidence.text.find(line), std::string::npos) << "blamed: " << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Explain, ExplainCase, testing::ValuesIn(case_names()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ExplainCase);

}  // namespace
}  // namespace gpuwright
