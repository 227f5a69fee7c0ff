#include "report/fleet.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "diagnose/gpu.h"
#include "report/wording.h"

namespace gpuwright {
namespace {

// Below this the machines are simply of several kinds, and none of them is the odd one out.
constexpr std::size_t kClearMajorityPercent = 80;

constexpr const char* kNone = "none";

std::string text_of(const Fact<Version>& fact) { return fact.is_known() ? fact->text() : ""; }

std::string distribution(const Machine& machine, const Catalog&) {
  const auto& name = machine.host.distribution;
  const auto& version = machine.host.distribution_version;
  if (!name.is_known()) return "";
  return version.is_known() ? *name + " " + *version : *name;  // rolling ones have no version
}

std::string kernel(const Machine& machine, const Catalog&) {
  return machine.host.kernel_release.value_or("");
}

// WSL and some containers show no module, but a library that came with it.
std::string driver(const Machine& machine, const Catalog&) {
  const auto& facts = machine.driver;
  if (facts.module_version.is_known()) return facts.module_version->text();
  if (facts.user_space_version.is_known()) return facts.user_space_version->text();
  return facts.module_version.is_absent() && facts.user_space_version.is_absent() ? kNone : "";
}

std::string gpu_count(const Machine& machine, const Catalog&) {
  const auto& gpus = machine.hardware.gpus;
  return gpus.is_known() ? std::to_string(gpus->size()) : "";
}

// Apart from their number, so that one lost GPU is one difference and not two.
std::string gpu_model(const Machine& machine, const Catalog& catalog) {
  const auto& gpus = machine.hardware.gpus;
  if (!gpus.is_known() || gpus->empty()) return "";
  std::set<std::string> names;
  for (const auto& gpu : *gpus) names.insert(gpu_name(machine, catalog, gpu));
  return join({names.begin(), names.end()}, " and ");
}

std::string toolkits(const Machine& machine, const Catalog&) {
  const auto& facts = machine.cuda.toolkits;
  if (facts.is_unknown()) return "";
  if (facts.is_absent() || facts->empty()) return kNone;
  std::set<std::string> versions;
  for (const auto& toolkit : *facts) {
    if (!toolkit.version.is_known()) return "";
    versions.insert(toolkit.version->text());
  }
  return join({versions.begin(), versions.end()}, " and ");
}

std::string python(const Machine& machine, const Catalog&) {
  const auto& interpreter = machine.python.interpreter;
  if (interpreter.is_absent()) return kNone;
  return interpreter.is_known() ? text_of(interpreter->version) : "";
}

// A framework that is not listed is not there, unless the look was cut short.
std::string framework(const Machine& machine, const char* name) {
  for (const auto& one : machine.frameworks)
    if (one.name == name) return text_of(one.version);
  const bool looked = !machine.python.interpreter.is_unknown() && machine.notes.empty();
  return looked ? kNone : "";
}

struct Field {
  const char* name;
  std::string (*value)(const Machine&, const Catalog&);
};

constexpr Field kCompared[] = {
    {"driver", driver},
    {"kernel", kernel},
    {"distribution", distribution},
    {"GPU model", gpu_model},
    {"GPUs", gpu_count},
    {"CUDA toolkit", toolkits},
    {"Python", python},
    {"tensorflow", [](const Machine& m, const Catalog&) { return framework(m, "tensorflow"); }},
    {"torch", [](const Machine& m, const Catalog&) { return framework(m, "torch"); }},
    {"jax", [](const Machine& m, const Catalog&) { return framework(m, "jax"); }},
};

MachineDigest::Seen* seen(MachineDigest& digest, const std::string& id) {
  const auto found = std::find_if(digest.findings.begin(), digest.findings.end(),
                                  [&](const auto& other) { return other.id == id; });
  return found == digest.findings.end() ? nullptr : &*found;
}

// Severities are listed the worst first.
bool worse(Severity a, Severity b) { return a < b; }

void add_finding(const Finding& finding, MachineDigest& digest) {
  auto* known = seen(digest, finding.id);
  if (known == nullptr) {
    digest.findings.push_back({finding.id, finding.severity, headline(finding)});
  } else if (worse(finding.severity, known->severity)) {
    *known = {finding.id, finding.severity, headline(finding)};
  }
}

using Groups = std::map<std::string, FleetGroup>;

void add_machine(Groups& groups, const MachineDigest::Seen& seen, const std::string& machine) {
  auto& group = groups[seen.id];
  if (group.machines.empty() || worse(seen.severity, group.severity)) {
    group.id = seen.id;
    group.severity = seen.severity;
    group.statement = seen.statement;
  }
  group.machines.push_back(machine);
}

std::vector<FleetGroup> sorted(Groups groups) {
  std::vector<FleetGroup> out;
  for (auto& [id, group] : groups) out.push_back(std::move(group));
  std::stable_sort(out.begin(), out.end(), [](const FleetGroup& a, const FleetGroup& b) {
    return a.severity != b.severity ? worse(a.severity, b.severity)
                                    : a.machines.size() > b.machines.size();
  });
  return out;
}

void count_answers(const MachineDigest& digest, std::map<std::string, FleetAnswers>& answers) {
  for (const auto& [framework, answer] : digest.answers) {
    auto& counts = answers[framework];
    counts.framework = framework;
    ++(answer == Answer::kUses      ? counts.uses
       : answer == Answer::kDoesNot ? counts.does_not
                                    : counts.cannot_tell);
  }
}

FleetOutliers outliers_of(const std::vector<MachineDigest>& digests, std::size_t field) {
  FleetOutliers out{fleet_fields()[field], "", 0, 0, {}};
  std::map<std::string, std::vector<std::string>> by_value;
  for (const auto& digest : digests) {
    if (field >= digest.values.size() || digest.values[field].empty()) continue;
    by_value[digest.values[field]].push_back(digest.name);
    ++out.known;
  }
  for (const auto& [value, machines] : by_value) {
    if (machines.size() <= out.count) continue;
    out.majority = value;
    out.count = machines.size();
  }
  if (out.count * 100 < out.known * kClearMajorityPercent) return out;
  for (auto& [value, machines] : by_value)
    if (value != out.majority) out.others.push_back({value, std::move(machines)});
  std::stable_sort(out.others.begin(), out.others.end(), [](const auto& a, const auto& b) {
    return a.machines.size() > b.machines.size();
  });
  return out;
}

void count_outcome(Outcome outcome, Fleet& fleet) {
  ++(outcome == Outcome::kRight      ? fleet.right
     : outcome == Outcome::kProblems ? fleet.problems
                                     : fleet.undecided);
}

}  // namespace

const std::vector<std::string>& fleet_fields() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const auto& field : kCompared) out.emplace_back(field.name);
    return out;
  }();
  return names;
}

MachineDigest digest_of(std::string name, const Machine& machine, const Catalog& catalog,
                        const Diagnosis& diagnosis) {
  MachineDigest digest;
  digest.name = std::move(name);
  digest.outcome = diagnosis.outcome;
  for (const auto& finding : diagnosis.findings) add_finding(finding, digest);
  for (const auto& open : diagnosis.undecided) digest.undecided.push_back(open.id);
  for (const auto& answer : diagnosis.frameworks)
    digest.answers.emplace_back(answer.framework, answer.answer);
  for (const auto& field : kCompared) digest.values.push_back(field.value(machine, catalog));
  return digest;
}

Outcome Fleet::outcome() const {
  if (problems > 0) return Outcome::kProblems;
  return undecided > 0 || !unreadable.empty() ? Outcome::kUndecided : Outcome::kRight;
}

Fleet summarise(const std::vector<MachineDigest>& digests, std::vector<UnreadableFile> unreadable) {
  Fleet fleet;
  Groups findings, unknowns;
  std::map<std::string, FleetAnswers> answers;
  for (const auto& digest : digests) {
    count_outcome(digest.outcome, fleet);
    count_answers(digest, answers);
    for (const auto& one : digest.findings) add_machine(findings, one, digest.name);
    for (const auto& id : std::set(digest.undecided.begin(), digest.undecided.end()))
      add_machine(unknowns, {id, Severity::kInfo, ""}, digest.name);
  }
  fleet.findings = sorted(std::move(findings));
  fleet.unknowns = sorted(std::move(unknowns));
  for (auto& [name, counts] : answers) fleet.answers.push_back(std::move(counts));
  for (std::size_t field = 0; field < fleet_fields().size(); ++field)
    if (auto outliers = outliers_of(digests, field); !outliers.others.empty())
      fleet.outliers.push_back(std::move(outliers));
  fleet.unreadable = std::move(unreadable);
  return fleet;
}

}  // namespace gpuwright
