#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "catalog/catalog.h"
#include "diagnose/diagnose.h"
#include "machine/json.h"

// Replays tests/cases/: every case gives exactly the findings that it expects, so that it proves
// one rule's voice and all others' silence. tests/cases/README.md describes the format.

namespace gpuwright {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const fs::path kSource = GPUWRIGHT_SOURCE_DIR;
const fs::path kCases = kSource / "tests" / "cases";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Json read_json(const fs::path& path) { return Json::parse(read_file(path)); }

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCases))
    if (fs::exists(entry.path() / "case.json")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> healthy_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kCases / "healthy"))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Machine machine_of(const Json& snapshot) {
  const auto machine = snapshot_from_json(snapshot);
  if (!machine) throw std::runtime_error(machine.error().text());
  return *machine;
}

// A pointer that leads nowhere would make a case out of a spelling mistake.
void change(Json& snapshot, const Json& spec) {
  Json& machine = snapshot.at("machine");
  const Json set = spec.value("set", Json::object());
  for (const auto& [place, value] : set.items()) {
    const Json::json_pointer pointer(place);
    if (!machine.contains(pointer.parent_pointer()))
      throw std::runtime_error("nothing at " + pointer.parent_pointer().to_string());
    machine[pointer] = value;
  }
  const Json remove = spec.value("remove", Json::array());
  for (const auto& place : remove)
    machine = machine.patch(Json::array({{{"op", "remove"}, {"path", place}}}));
}

Json load_case(const std::string& name) { return read_json(kCases / name / "case.json"); }

Diagnosis diagnose_case(const Json& spec) {
  Json snapshot = read_json(kCases / spec.at("base").get<std::string>());
  change(snapshot, spec);
  return diagnose(machine_of(snapshot), Catalog::built_in());
}

std::vector<std::string> ids_of(const Diagnosis& diagnosis) {
  std::vector<std::string> ids;
  for (const auto& finding : diagnosis.findings) ids.push_back(finding.id);
  return ids;
}

std::string name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRight:
      return "right";
    case Outcome::kProblems:
      return "problems";
    case Outcome::kUndecided:
      return "undecided";
  }
  return "";
}

std::string name_of(Answer answer) {
  switch (answer) {
    case Answer::kUses:
      return "uses";
    case Answer::kDoesNot:
      return "does-not";
    case Answer::kCannotTell:
      return "cannot-tell";
  }
  return "";
}

std::map<std::string, std::string> answers_of(const Diagnosis& diagnosis) {
  std::map<std::string, std::string> answers;
  for (const auto& answer : diagnosis.frameworks)
    answers[answer.framework] = name_of(answer.answer);
  return answers;
}

// All that a reader of a finding gets to see, for "says".
std::string all_text(const Diagnosis& diagnosis) {
  std::string text = diagnosis.verdict + "\n";
  for (const auto& finding : diagnosis.findings) {
    text += finding.statement + "\n" + finding.cause + "\n";
    for (const auto& evidence : finding.evidence) text += evidence.text + "\n";
    for (const auto& step : finding.fix) text += step.command + "\n" + step.text + "\n";
  }
  return text;
}

void expect_well_formed(const Finding& finding) {
  SCOPED_TRACE(finding.id);
  EXPECT_FALSE(finding.statement.empty());
  EXPECT_EQ(finding.statement.find('\n'), std::string::npos);
  EXPECT_FALSE(finding.evidence.empty());
  EXPECT_FALSE(finding.cause.empty());
  EXPECT_FALSE(finding.fix.empty() && finding.severity == Severity::kError);
  for (const auto& step : finding.fix) {
    EXPECT_FALSE(step.command.empty() && step.text.empty());
    if (step.command.starts_with("sudo ")) {
      EXPECT_TRUE(step.needs_root) << step.command;
    }
    if (!step.command.empty()) {
      EXPECT_FALSE(step.changes.empty()) << step.command;
      EXPECT_FALSE(step.undo.empty()) << step.command;
    }
  }
}

// GoogleTest wants letters, digits and underscores.
std::string test_name(const testing::TestParamInfo<std::string>& parameter) {
  std::string name = parameter.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

class Case : public testing::TestWithParam<std::string> {};

TEST_P(Case, GivesExactlyWhatItExpects) {
  const Json spec = load_case(GetParam());
  const Json& expect = spec.at("expect");
  const Diagnosis diagnosis = diagnose_case(spec);
  SCOPED_TRACE(all_text(diagnosis));
  EXPECT_EQ(ids_of(diagnosis), expect.at("findings").get<std::vector<std::string>>());
  EXPECT_EQ(name_of(diagnosis.outcome), expect.at("outcome").get<std::string>());
  if (expect.contains("verdict")) {
    EXPECT_EQ(diagnosis.verdict, expect.at("verdict").get<std::string>());
  }
  if (expect.contains("answers")) {
    const auto answers = expect.at("answers").get<std::map<std::string, std::string>>();
    EXPECT_EQ(answers_of(diagnosis), answers);
  }
  const auto says = expect.value("says", std::vector<std::string>{});
  for (const auto& part : says)
    EXPECT_NE(all_text(diagnosis).find(part), std::string::npos) << "not said: " << part;
  for (const auto& finding : diagnosis.findings) expect_well_formed(finding);
}

INSTANTIATE_TEST_SUITE_P(Cases, Case, testing::ValuesIn(case_names()), test_name);

class Healthy : public testing::TestWithParam<std::string> {};

Machine healthy_machine(const std::string& name) {
  return machine_of(read_json(kCases / "healthy" / (name + ".json")));
}

// Information may be given; an error or a warning here is a false alarm.
TEST_P(Healthy, RaisesNoAlarm) {
  const Diagnosis diagnosis = diagnose(healthy_machine(GetParam()), Catalog::built_in());
  std::vector<std::string> alarms;
  for (const auto& finding : diagnosis.findings)
    if (finding.severity != Severity::kInfo) alarms.push_back(finding.id);
  EXPECT_EQ(alarms, std::vector<std::string>{}) << all_text(diagnosis);
  EXPECT_EQ(diagnosis.outcome, Outcome::kRight) << diagnosis.verdict;
  for (const auto& [framework, answer] : answers_of(diagnosis))
    EXPECT_EQ(answer, "uses") << framework;
}

INSTANTIATE_TEST_SUITE_P(Cases, Healthy, testing::ValuesIn(healthy_names()), test_name);

// The healthy machines are a matrix: silence on twenty machines of one kind would prove little.
TEST(HealthyMachines, AreOfManyKinds) {
  std::set<std::string> distributions, generations, surroundings, frameworks, environments;
  for (const auto& name : healthy_names()) {
    const Machine machine = healthy_machine(name);
    distributions.insert(machine.host.distribution.value_or(""));
    for (const auto& gpu : machine.hardware.gpus.value_or({}))
      if (const auto model = Catalog::built_in().gpu(gpu.device_id))
        generations.insert(model->architecture);
    surroundings.insert(machine.host.container.value_or(machine.host.wsl.is(2) ? "wsl"
                                                        : machine.host.hypervisor.is_known()
                                                            ? "vm"
                                                            : "metal"));
    if (machine.python.interpreter.is_known())
      environments.insert(machine.python.interpreter->kind);
    for (const auto& framework : machine.frameworks) frameworks.insert(framework.name);
  }
  EXPECT_GE(healthy_names().size(), 20U);
  EXPECT_GE(distributions.size(), 8U);
  for (const auto* architecture :
       {"Kepler", "Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell"})
    EXPECT_TRUE(generations.contains(architecture)) << architecture;
  EXPECT_GE(surroundings.size(), 5U);
  for (const auto* kind : {"venv", "conda", "system"}) EXPECT_TRUE(environments.contains(kind));
  EXPECT_EQ(frameworks, (std::set<std::string>{"jax", "tensorflow", "torch"}));
}

std::set<std::string> all_ids() {
  std::set<std::string> ids;
  for (const auto& table : all_rules())
    for (const auto& rule : table.rules) ids.insert(rule.id);
  return ids;
}

const std::set<std::string> kRungs = {"host",   "hardware",  "driver", "cuda", "libraries",
                                      "python", "framework", "work",   "speed"};

TEST(Rules, HaveIdsOfTheirRungAndEachOnce) {
  std::set<std::string> seen;
  for (const auto& table : all_rules()) {
    for (const auto& rule : table.rules) {
      const std::string rung(rule.id, std::string_view(rule.id).find('.'));
      // A table about lines of a log may tell of several rungs.
      if (table.log) {
        EXPECT_TRUE(kRungs.contains(rung)) << rule.id;
      } else {
        EXPECT_EQ(rung, name_of(table.rung)) << rule.id;
      }
      // A fault that facts tell may be told by lines of a log too.
      if (!table.log) {
        EXPECT_TRUE(seen.insert(rule.id).second) << rule.id << " is there twice";
      }
      EXPECT_NE(std::string(rule.holds), "") << rule.id;
    }
  }
}

TEST(Rules, HaveAPageEach) {
  for (const auto& id : all_ids()) {
    const auto path = kSource / "docs" / "findings" / (id + ".md");
    ASSERT_TRUE(fs::exists(path)) << "no page for " << id;
    const std::string text = read_file(path);
    EXPECT_TRUE(text.starts_with("# " + id + ": ")) << path << " begins otherwise";
  }
}

TEST(Rules, OwnEveryPage) {
  const auto ids = all_ids();
  for (const auto& entry : fs::directory_iterator(kSource / "docs" / "findings"))
    EXPECT_TRUE(ids.contains(entry.path().stem().string()))
        << entry.path() << " belongs to no rule";
}

TEST(Rules, SpeakInACaseEach) {
  std::set<std::string> spoken;
  for (const auto& name : case_names()) {
    const Json spec = load_case(name);
    for (const auto& id : spec.at("expect").at("findings")) spoken.insert(id);
  }
  // Rules about lines of logs speak in tests/explain/.
  for (const auto& table : all_rules()) {
    if (table.log) continue;
    for (const auto& rule : table.rules)
      EXPECT_TRUE(spoken.contains(rule.id)) << "no case for " << rule.id;
  }
}

}  // namespace
}  // namespace gpuwright
