#include "report/diff.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "machine/json.h"
#include "report/wording.h"

namespace gpuwright {
namespace {

using Places = std::map<std::string, std::string>;

// Fields by which an item of a list is known, the most telling first.
constexpr const char* kKeys[] = {"address", "path", "name", "kernel", "framework", "root"};

// What no two looks at one machine agree on.
constexpr const char* kNoise[] = {"host.clock*",
                                  "host.spaces*",
                                  "driver.kernel_log*",
                                  "driver.holders*",
                                  "driver.blocked*",
                                  "run.*",
                                  "notes*",
                                  "*.pid",
                                  "*link_speed*",
                                  "*link_width*",
                                  "*temperature*",
                                  "*power*",
                                  "*.utilisation*",
                                  "host.shm_bytes",
                                  "host.memory_bytes",
                                  "*.inode",
                                  "host.environment_of"};

bool is_noise(const std::string& place) {
  return std::any_of(std::begin(kNoise), std::end(kNoise),
                     [&](const char* pattern) { return glob_match(pattern, place); });
}

// "python.distributions[12]" is known by its name, since another machine has it at another number.
std::map<std::string, std::string> labels_of(const std::vector<FactLine>& facts) {
  std::map<std::string, std::string> labels;
  for (const char* key : kKeys)
    for (const auto& fact : facts) {
      const std::string end = std::string("].") + key;
      if (fact.place.ends_with(end))
        labels.emplace(fact.place.substr(0, fact.place.size() - end.size() + 1), fact.value);
    }
  return labels;
}

std::string labelled(const FactLine& fact, const std::map<std::string, std::string>& labels) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = fact.place.find('['); at != std::string::npos;
       at = fact.place.find('[', done)) {
    const auto end = fact.place.find(']', at);
    if (end == std::string::npos) break;
    const auto label = labels.find(fact.place.substr(0, end + 1));
    const bool is_plain = end + 1 == fact.place.size();
    out += fact.place.substr(done, at - done) + "[" +
           (label != labels.end() ? label->second
            : is_plain            ? fact.value
                                  : "") +
           "]";
    done = end + 1;
  }
  return out + fact.place.substr(done);
}

Places places_of(const Machine& machine, bool all) {
  const auto facts = fact_lines(machine);
  const auto labels = labels_of(facts);
  Places places;
  for (const auto& fact : facts) {
    if (!all && is_noise(fact.place)) continue;
    const std::string place = labelled(fact, labels);
    std::string unique = place;
    for (int i = 2; places.contains(unique); ++i) unique = place + " #" + std::to_string(i);
    places.emplace(unique, fact.value);
  }
  return places;
}

int rung_order(const std::string& place) {
  constexpr const char* kRungs[] = {"host.", "hardware.", "driver.",
                                    "cuda.", "python.",   "frameworks"};
  for (int i = 0; i < 6; ++i)
    if (place.starts_with(kRungs[i])) return i;
  return 6;
}

int weight_of(const std::string& place) {
  if (place.ends_with("version") || place.ends_with("_release")) return 0;
  if (place.find("libraries[") != std::string::npos) return 1;
  if (place.find("variable") != std::string::npos || place.find("environment") != std::string::npos)
    return 2;
  return 3;
}

void compare_facts(const Places& before, const Places& after, Comparison& out) {
  for (const auto& [place, value] : before) {
    const auto other = after.find(place);
    const std::string now = other == after.end() ? "" : other->second;
    if (other == after.end() || now != value) out.facts.push_back({place, value, now});
  }
  for (const auto& [place, value] : after)
    if (!before.contains(place)) out.facts.push_back({place, "", value});
  std::stable_sort(out.facts.begin(), out.facts.end(), [](const auto& a, const auto& b) {
    const int left = rung_order(a.place), right = rung_order(b.place);
    return left != right ? left < right : weight_of(a.place) < weight_of(b.place);
  });
}

bool has(const std::vector<Finding>& findings, const Finding& wanted) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.id == wanted.id && finding.subject == wanted.subject;
  });
}

void compare_findings(const Diagnosis& before, const Diagnosis& after, Comparison& out) {
  for (const auto& finding : after.findings)
    if (!has(before.findings, finding)) out.findings.push_back({finding, true});
  for (const auto& finding : before.findings)
    if (!has(after.findings, finding)) out.findings.push_back({finding, false});
}

std::map<std::string, std::string> answers_of(const Diagnosis& diagnosis) {
  std::map<std::string, std::string> out;
  for (const auto& answer : diagnosis.frameworks) out[answer.framework] = answer_sentence(answer);
  return out;
}

void compare_answers(const Diagnosis& before, const Diagnosis& after, Comparison& out) {
  const auto old_answers = answers_of(before);
  auto all = old_answers;
  const auto new_answers = answers_of(after);
  all.insert(new_answers.begin(), new_answers.end());
  const auto of = [](const auto& answers, const std::string& name) {
    const auto found = answers.find(name);
    return found == answers.end() ? std::string() : found->second;
  };
  for (const auto& [name, ignored] : all)
    if (of(old_answers, name) != of(new_answers, name))
      out.answers.push_back({name, of(old_answers, name), of(new_answers, name)});
}

std::string shown(const std::string& value) { return value.empty() ? "not there" : value; }

}  // namespace

Comparison compare(const Judged& before, const Judged& after, bool all) {
  Comparison out;
  compare_findings(before.diagnosis, after.diagnosis, out);
  compare_answers(before.diagnosis, after.diagnosis, out);
  compare_facts(places_of(before.machine, all), places_of(after.machine, all), out);
  return out;
}

std::string diff_text(const Comparison& comparison, const std::string& before,
                      const std::string& after, bool color, int width) {
  Page page(color, width);
  if (comparison.same()) {
    page.paragraph("", before + " and " + after + " are the same.", Tint::kPlain, Tint::kGood);
    return page.text();
  }
  page.paragraph("",
                 "From " + before + " to " + after + ": " +
                     std::to_string(comparison.findings.size()) + " findings, " +
                     std::to_string(comparison.answers.size()) + " answers and " +
                     std::to_string(comparison.facts.size()) + " facts differ.",
                 Tint::kPlain, Tint::kBold);
  if (!comparison.findings.empty()) page.gap();
  for (const auto& [finding, appeared] : comparison.findings)
    page.paragraph(
        appeared ? "  appeared: " : "  gone: ", headline(finding) + " [" + finding.id + "]",
        appeared ? Tint::kBad : Tint::kGood);
  if (!comparison.answers.empty()) page.gap();
  for (const auto& answer : comparison.answers)
    page.paragraph("  " + answer.framework + ": ",
                   shown(answer.before) + " -> " + shown(answer.after), Tint::kBold);
  if (!comparison.facts.empty()) page.gap();
  for (const auto& fact : comparison.facts)
    page.paragraph("  " + fact.place + ": ", shown(fact.before) + " -> " + shown(fact.after));
  return page.text();
}

nlohmann::ordered_json diff_json(const Comparison& comparison) {
  using Json = nlohmann::ordered_json;
  const auto value = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json out = {{"schema_version", 1},
              {"same", comparison.same()},
              {"findings", Json::array()},
              {"answers", Json::array()},
              {"facts", Json::array()}};
  for (const auto& [finding, appeared] : comparison.findings)
    out["findings"].push_back({{"id", finding.id},
                               {"subject", value(finding.subject)},
                               {"severity", name_of(finding.severity)},
                               {"statement", finding.statement},
                               {"appeared", appeared}});
  for (const auto& answer : comparison.answers)
    out["answers"].push_back({{"framework", answer.framework},
                              {"before", value(answer.before)},
                              {"after", value(answer.after)}});
  for (const auto& fact : comparison.facts)
    out["facts"].push_back(
        {{"place", fact.place}, {"before", value(fact.before)}, {"after", value(fact.after)}});
  return out;
}

}  // namespace gpuwright
