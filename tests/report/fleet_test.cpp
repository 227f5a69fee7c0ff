#include "report/fleet.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/sample.h"
#include "support/schema.h"

namespace gpuwright {
namespace {

using Json = nlohmann::json;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

MachineDigest machine_called(const std::string& name, const std::string& driver = "550.1") {
  MachineDigest digest;
  digest.name = name;
  digest.outcome = Outcome::kRight;
  digest.values.assign(fleet_fields().size(), "");
  digest.values[0] = driver;
  return digest;
}

MachineDigest with_finding(MachineDigest digest, const std::string& id, Severity severity) {
  digest.findings.push_back({id, severity, "what is wrong with " + digest.name});
  if (severity == Severity::kError) digest.outcome = Outcome::kProblems;
  return digest;
}

// Nodes "n0" ... with one driver, then `odd` of them with another.
std::vector<MachineDigest> nodes(std::size_t count, std::size_t odd) {
  std::vector<MachineDigest> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(machine_called("n" + std::to_string(i), i + odd < count ? "550.1" : "570.2"));
  return out;
}

/// One of each kind, for the forms.
Fleet mixed() {
  auto digests = nodes(12, 1);
  for (std::size_t i = 0; i < 8; ++i)
    digests[i] = with_finding(digests[i], "host.shm-small", Severity::kWarning);
  digests[1] = with_finding(digests[1], "driver.version-mismatch", Severity::kError);
  digests[2].outcome = Outcome::kUndecided;
  digests[2].undecided = {"driver.hangs"};
  digests[3].answers = {{"torch", Answer::kUses}};
  digests[4].answers = {{"torch", Answer::kDoesNot}};
  return summarise(digests, {{"junk.json", "is not JSON, at byte 1"}});
}

TEST(Fleet, GroupsMachinesByFindingTheWorstFirst) {
  const Fleet fleet = mixed();
  ASSERT_EQ(fleet.findings.size(), 2u);
  EXPECT_EQ(fleet.findings[0].id, "driver.version-mismatch");
  EXPECT_EQ(fleet.findings[0].machines, std::vector<std::string>{"n1"});
  EXPECT_EQ(fleet.findings[0].statement, "what is wrong with n1");
  EXPECT_EQ(fleet.findings[1].id, "host.shm-small");
  EXPECT_EQ(fleet.findings[1].machines.size(), 8u);
  ASSERT_EQ(fleet.unknowns.size(), 1u);
  EXPECT_EQ(fleet.unknowns[0].machines, std::vector<std::string>{"n2"});
}

TEST(Fleet, AGroupIsAsSevereAsItsWorstMachine) {
  const Fleet fleet = summarise({with_finding(machine_called("a"), "x.y", Severity::kInfo),
                                 with_finding(machine_called("b"), "x.y", Severity::kError)},
                                {});
  ASSERT_EQ(fleet.findings.size(), 1u);
  EXPECT_EQ(fleet.findings[0].severity, Severity::kError);
  EXPECT_EQ(fleet.findings[0].statement, "what is wrong with b");
  EXPECT_EQ(fleet.findings[0].machines, (std::vector<std::string>{"a", "b"}));
}

TEST(Fleet, NamesWhoIsUnlikeAClearMajority) {
  const Fleet fleet = summarise(nodes(10, 2), {});
  ASSERT_EQ(fleet.outliers.size(), 1u);
  const auto& driver = fleet.outliers[0];
  EXPECT_EQ(driver.field, "driver");
  EXPECT_EQ(driver.majority, "550.1");
  EXPECT_EQ(driver.count, 8u);
  EXPECT_EQ(driver.known, 10u);
  ASSERT_EQ(driver.others.size(), 1u);
  EXPECT_EQ(driver.others[0].machines, (std::vector<std::string>{"n8", "n9"}));
}

TEST(Fleet, HasNoOutliersWithoutAClearMajority) {
  EXPECT_TRUE(summarise(nodes(100, 21), {}).outliers.empty());
  EXPECT_FALSE(summarise(nodes(100, 20), {}).outliers.empty());
  EXPECT_TRUE(summarise(nodes(2, 1), {}).outliers.empty());
  EXPECT_TRUE(summarise(nodes(5, 0), {}).outliers.empty());
}

TEST(Fleet, WhatIsUnknownIsNoOutlierAndNoPartOfTheMajority) {
  auto digests = nodes(5, 1);
  for (int i = 0; i < 20; ++i) digests.push_back(machine_called("u" + std::to_string(i), ""));
  const Fleet fleet = summarise(digests, {});
  ASSERT_EQ(fleet.outliers.size(), 1u);
  EXPECT_EQ(fleet.outliers[0].known, 5u);
  EXPECT_EQ(fleet.outliers[0].others[0].machines, std::vector<std::string>{"n4"});
}

TEST(Fleet, AFileThatCannotBeReadLeavesTheFleetUndecided) {
  EXPECT_EQ(summarise(nodes(3, 0), {}).outcome(), Outcome::kRight);
  EXPECT_EQ(summarise(nodes(3, 0), {{"x.json", "is empty"}}).outcome(), Outcome::kUndecided);
  EXPECT_EQ(mixed().outcome(), Outcome::kProblems);
}

TEST(FleetDigest, KeepsEachFindingOnceAtItsWorst) {
  Diagnosis diagnosis;
  Finding finding;
  finding.id = "hardware.xid";
  finding.severity = Severity::kInfo;
  finding.statement = "first";
  diagnosis.findings = {finding, finding};
  diagnosis.findings[1].severity = Severity::kError;
  diagnosis.findings[1].statement = "second";
  const auto digest = digest_of("n", {}, Catalog::built_in(), diagnosis);
  ASSERT_EQ(digest.findings.size(), 1u);
  EXPECT_EQ(digest.findings[0].severity, Severity::kError);
  EXPECT_TRUE(holds(digest.findings[0].statement, "second"));
}

std::string value_of(const Machine& machine, const std::string& field) {
  const auto digest = digest_of("n", machine, Catalog::built_in(), {});
  EXPECT_EQ(digest.values.size(), fleet_fields().size());
  for (std::size_t i = 0; i < fleet_fields().size(); ++i)
    if (fleet_fields()[i] == field) return digest.values[i];
  ADD_FAILURE() << field;
  return "";
}

TEST(FleetDigest, TakesNothingForAbsentThatWasNotLookedAt) {
  for (const auto& field : fleet_fields()) EXPECT_EQ(value_of({}, field), "") << field;
}

TEST(FleetDigest, AFrameworkThatIsNotThereIsAValueUnlessTheLookWasCutShort) {
  Machine machine;
  machine.python.interpreter = Fact<Interpreter>::known({}, "PATH");
  EXPECT_EQ(value_of(machine, "torch"), "none");
  machine.notes.push_back({"framework", "passed its deadline"});
  EXPECT_EQ(value_of(machine, "torch"), "");
  machine = machine_with_libraries();
  EXPECT_EQ(value_of(machine, "torch"), "2.11.0");
}

TEST(FleetDigest, TellsModelAndNumberOfGpusApart) {
  Machine machine;
  PciGpu gpu;
  gpu.device_id = "2335";
  machine.hardware.gpus = Fact<std::vector<PciGpu>>::known({gpu, gpu}, "/sys");
  EXPECT_EQ(value_of(machine, "GPUs"), "2");
  EXPECT_TRUE(holds(value_of(machine, "GPU model"), "H200")) << value_of(machine, "GPU model");
  EXPECT_FALSE(holds(value_of(machine, "GPU model"), " and "));
}

TEST(FleetDigest, AToolkitOfUnknownVersionLeavesTheValueOpen) {
  Machine machine;
  Toolkit one, two;
  one.version = Fact<Version>::known(Version::of("12.4"), "version.json");
  machine.cuda.toolkits = Fact<std::vector<Toolkit>>::known({one}, "/usr/local");
  EXPECT_EQ(value_of(machine, "CUDA toolkit"), "12.4");
  machine.cuda.toolkits = Fact<std::vector<Toolkit>>::known({one, two}, "/usr/local");
  EXPECT_EQ(value_of(machine, "CUDA toolkit"), "");
  machine.cuda.toolkits = Fact<std::vector<Toolkit>>::known({}, "/usr/local");
  EXPECT_EQ(value_of(machine, "CUDA toolkit"), "none");
}

TEST(FleetText, BeginsWithTheCountsAndNamesTheFirstMachines) {
  const std::string text = fleet_text(mixed(), {false, 0, false, false});
  EXPECT_TRUE(text.starts_with(
      "12 machines: 10 right, 1 with problems, 1 undecided; 1 file could not be read.\n"))
      << text;
  EXPECT_TRUE(holds(text, "error [driver.version-mismatch] on 1 machine\n")) << text;
  EXPECT_TRUE(holds(text, "  n0, n1, n2, n3, n4 and 3 more\n")) << text;
  EXPECT_TRUE(holds(text, "undecided [driver.hangs] on 1 machine: n2\n")) << text;
  EXPECT_TRUE(holds(text, "torch will use the GPU on 1, will not on 1\n")) << text;
  EXPECT_TRUE(holds(text, "  driver: 550.1 on 11 of 12\n    570.2: n11\n")) << text;
  EXPECT_TRUE(holds(text, "  junk.json: is not JSON, at byte 1\n")) << text;
}

TEST(FleetText, AllNamesEveryMachineAndQuietNone) {
  EXPECT_TRUE(
      holds(fleet_text(mixed(), {false, 0, true, false}), "  n0, n1, n2, n3, n4, n5, n6, n7\n"));
  EXPECT_EQ(fleet_text(mixed(), {false, 0, false, true}), fleet_verdict(mixed()) + "\n");
}

TEST(FleetText, GroupsTheDigitsOfLargeNumbers) {
  EXPECT_EQ(fleet_verdict(summarise(nodes(1000, 0), {})), "1,000 machines: 1,000 right.");
  EXPECT_EQ(fleet_verdict(summarise(nodes(999, 0), {})), "999 machines: 999 right.");
}

TEST(FleetForms, NamesOfFilesSteerNeitherTerminalNorMarkdown) {
  const std::string name = "n\x1b[31m`@someone`\n# x";
  const Fleet fleet = summarise({with_finding(machine_called(name), "x.y", Severity::kError)},
                                {{name, "is empty"}});
  const std::string text = fleet_text(fleet, {false, 80, true, false});
  EXPECT_FALSE(holds(text, "\x1b")) << text;
  EXPECT_FALSE(holds(text, "\n# x")) << text;
  const std::string markdown = fleet_markdown(fleet, true);
  EXPECT_FALSE(holds(markdown, "\n# x")) << markdown;
  EXPECT_TRUE(holds(markdown, "`` n?[31m`@someone`?# x ``") ||
              holds(markdown, "``n?[31m`@someone`?# x``"))
      << markdown;
}

TEST(FleetJson, KeepsToItsSchemaAndNamesTheFirstTenOrAll) {
  auto digests = nodes(30, 0);
  for (auto& digest : digests) digest = with_finding(digest, "x.y", Severity::kError);
  const Fleet fleet = summarise(digests, {});
  const auto some = fleet_json(fleet, false);
  EXPECT_EQ(some["findings"][0]["count"], 30);
  EXPECT_EQ(some["findings"][0]["machines"].size(), 10u);
  EXPECT_EQ(fleet_json(fleet, true)["findings"][0]["machines"].size(), 30u);
  const auto schema = load_schema("fleet.schema.json");
  for (const auto& one : {fleet, mixed(), Fleet{}})
    EXPECT_EQ(schema_error(Json::parse(fleet_json(one, false).dump()), schema), "");
}

TEST(FleetJson, OfAMixedFleetSaysAllThatTheTextSays) {
  const auto json = fleet_json(mixed(), false);
  EXPECT_EQ(json["outcome"], "problems");
  EXPECT_EQ(json["machines"], 12);
  EXPECT_EQ(json["unknowns"][0]["id"], "driver.hangs");
  EXPECT_EQ(json["outliers"][0]["others"][0]["machines"][0], "n11");
  EXPECT_EQ(json["answers"][0]["does_not"], 1);
  EXPECT_EQ(json["unreadable"][0]["file"], "junk.json");
}

}  // namespace
}  // namespace gpuwright
