#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/fleet.h"
#include "report/layout.h"
#include "report/markup.h"
#include "report/names.h"

// A fleet as text, Markdown and JSON. Ten thousand names help nobody, so the first few stand for
// the rest unless all are asked for.

namespace gpuwright {
namespace {

using Json = nlohmann::ordered_json;

// Raised by one whenever a key is renamed, removed or changes its meaning.
constexpr int kFleetSchema = 1;

constexpr std::size_t kNamesInText = 5;
constexpr std::size_t kNamesInJson = 10;

// 12345 as "12,345".
std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string counted(std::size_t number, const std::string& one, const std::string& many) {
  return grouped(number) + " " + (number == 1 ? one : many);
}

std::vector<std::string> first_of(const std::vector<std::string>& names, std::size_t most,
                                  bool all) {
  return {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(
                                             all ? names.size() : std::min(most, names.size()))};
}

// "node1, node2 and 40 more"; `shown` says how one name is written.
template <class Shown>
std::string named(const std::vector<std::string>& names, bool all, Shown shown) {
  std::vector<std::string> pieces;
  for (const auto& name : first_of(names, kNamesInText, all)) pieces.push_back(shown(name));
  const std::size_t more = names.size() - pieces.size();
  return join(pieces, ", ") + (more == 0 ? "" : " and " + grouped(more) + " more");
}

std::string plain(const std::string& text) { return text; }

std::string majority_of(const FleetOutliers& field) {
  return "on " + grouped(field.count) + " of " + grouped(field.known);
}

std::string answers_sentence(const FleetAnswers& answers) {
  std::vector<std::string> pieces;
  if (answers.uses > 0) pieces.push_back("will use the GPU on " + grouped(answers.uses));
  if (answers.does_not > 0) pieces.push_back("will not on " + grouped(answers.does_not));
  if (answers.cannot_tell > 0) pieces.push_back("cannot tell on " + grouped(answers.cannot_tell));
  return join(pieces, ", ");
}

Tint tint_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return Tint::kBad;
    case Severity::kWarning:
      return Tint::kDoubt;
    case Severity::kInfo:
      break;
  }
  return Tint::kPlain;
}

Tint tint_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRight:
      return Tint::kGood;
    case Outcome::kProblems:
      return Tint::kBad;
    case Outcome::kUndecided:
      break;
  }
  return Tint::kDoubt;
}

void put_groups(Page& page, const Fleet& fleet, bool all) {
  for (const auto& group : fleet.findings) {
    page.gap();
    page.paragraph(std::string(name_of(group.severity)) + " [" + group.id + "] ",
                   "on " + counted(group.machines.size(), "machine", "machines"),
                   tint_of(group.severity));
    page.paragraph("  ", (group.machines.size() == 1 ? "" : "for example: ") + group.statement);
    page.paragraph("  ", named(group.machines, all, plain), Tint::kPlain, Tint::kFaint);
  }
  if (!fleet.unknowns.empty()) page.gap();
  for (const auto& group : fleet.unknowns)
    page.paragraph("undecided [" + group.id + "] ",
                   "on " + counted(group.machines.size(), "machine", "machines") + ": " +
                       named(group.machines, all, plain),
                   Tint::kDoubt);
}

void put_outliers(Page& page, const Fleet& fleet, bool all) {
  if (fleet.outliers.empty()) return;
  page.gap();
  page.paragraph("", "Unlike the rest", Tint::kPlain, Tint::kBold);
  for (const auto& field : fleet.outliers) {
    page.paragraph("  " + field.field + ": ", field.majority + " " + majority_of(field),
                   Tint::kBold);
    for (const auto& other : field.others)
      page.paragraph("    " + other.value + ": ", named(other.machines, all, plain));
  }
}

void put_unreadable(Page& page, const Fleet& fleet, bool all) {
  if (fleet.unreadable.empty()) return;
  page.gap();
  page.paragraph("", "Could not be read", Tint::kPlain, Tint::kBold);
  const std::size_t shown =
      all ? fleet.unreadable.size() : std::min(2 * kNamesInText, fleet.unreadable.size());
  for (std::size_t i = 0; i < shown; ++i)
    page.paragraph("  " + fleet.unreadable[i].file + ": ", fleet.unreadable[i].reason);
  const std::size_t more = fleet.unreadable.size() - shown;
  if (more > 0) page.paragraph("  ", "and " + grouped(more) + " more; --all lists them");
}

void put_hints(Page& page, const Fleet& fleet) {
  if (fleet.findings.empty()) return;
  const auto& worst = fleet.findings.front();
  page.gap();
  page.paragraph("hint: ", "gpuwright help " + worst.id);
  page.paragraph("hint: ", "gpuwright check --from FILE tells all about one machine");
}

std::string code_span(const std::string& text) { return markdown_code(text); }

Json names_json(const std::vector<std::string>& names, bool all) {
  return first_of(names, kNamesInJson, all);
}

}  // namespace

std::string fleet_verdict(const Fleet& fleet) {
  std::vector<std::string> pieces;
  if (fleet.right > 0) pieces.push_back(grouped(fleet.right) + " right");
  if (fleet.problems > 0) pieces.push_back(grouped(fleet.problems) + " with problems");
  if (fleet.undecided > 0) pieces.push_back(grouped(fleet.undecided) + " undecided");
  std::string text = counted(fleet.machines(), "machine", "machines") + ": " + join(pieces, ", ");
  if (!fleet.unreadable.empty())
    text += "; " + counted(fleet.unreadable.size(), "file", "files") + " could not be read";
  return text + ".";
}

std::string fleet_text(const Fleet& fleet, const FleetStyle& style) {
  Page page(style.color, style.width);
  page.paragraph("", fleet_verdict(fleet), Tint::kPlain, tint_of(fleet.outcome()));
  if (style.quiet) return page.text();
  put_groups(page, fleet, style.all);
  if (!fleet.answers.empty()) page.gap();
  for (const auto& answers : fleet.answers)
    page.paragraph(answers.framework + " ", answers_sentence(answers), Tint::kBold);
  put_outliers(page, fleet, style.all);
  put_unreadable(page, fleet, style.all);
  put_hints(page, fleet);
  return page.text();
}

std::string fleet_markdown(const Fleet& fleet, bool all) {
  std::string out = "## gpuwright fleet\n\n**" + markdown_text(fleet_verdict(fleet)) + "**\n\n";
  for (const auto& group : fleet.findings)
    out += "- " + std::string(name_of(group.severity)) + " " + markdown_code(group.id) + " on " +
           counted(group.machines.size(), "machine", "machines") + ": " +
           markdown_text(group.statement) + "\n  - " + named(group.machines, all, code_span) + "\n";
  for (const auto& group : fleet.unknowns)
    out += "- undecided " + markdown_code(group.id) + " on " +
           counted(group.machines.size(), "machine", "machines") + ": " +
           named(group.machines, all, code_span) + "\n";
  for (const auto& answers : fleet.answers)
    out += "- " + markdown_text(answers.framework + " " + answers_sentence(answers)) + "\n";
  if (!fleet.outliers.empty()) out += "\n### Unlike the rest\n\n";
  for (const auto& field : fleet.outliers) {
    out +=
        "- " + field.field + ": " + markdown_code(field.majority) + " " + majority_of(field) + "\n";
    for (const auto& other : field.others)
      out +=
          "  - " + markdown_code(other.value) + ": " + named(other.machines, all, code_span) + "\n";
  }
  if (!fleet.unreadable.empty()) out += "\n### Could not be read\n\n";
  for (const auto& file : fleet.unreadable)
    out += "- " + markdown_code(file.file) + ": " + markdown_text(file.reason) + "\n";
  return out;
}

Json fleet_json(const Fleet& fleet, bool all) {
  Json out = {{"schema_version", kFleetSchema},
              {"verdict", fleet_verdict(fleet)},
              {"outcome", name_of(fleet.outcome())},
              {"machines", fleet.machines()},
              {"right", fleet.right},
              {"problems", fleet.problems},
              {"undecided", fleet.undecided},
              {"findings", Json::array()},
              {"unknowns", Json::array()},
              {"answers", Json::array()},
              {"outliers", Json::array()},
              {"unreadable", Json::array()}};
  for (const auto& group : fleet.findings)
    out["findings"].push_back({{"id", group.id},
                               {"severity", name_of(group.severity)},
                               {"statement", group.statement},
                               {"count", group.machines.size()},
                               {"machines", names_json(group.machines, all)}});
  for (const auto& group : fleet.unknowns)
    out["unknowns"].push_back({{"id", group.id},
                               {"count", group.machines.size()},
                               {"machines", names_json(group.machines, all)}});
  for (const auto& answers : fleet.answers)
    out["answers"].push_back({{"framework", answers.framework},
                              {"uses", answers.uses},
                              {"does_not", answers.does_not},
                              {"cannot_tell", answers.cannot_tell}});
  for (const auto& field : fleet.outliers) {
    Json others = Json::array();
    for (const auto& other : field.others)
      others.push_back({{"value", other.value},
                        {"count", other.machines.size()},
                        {"machines", names_json(other.machines, all)}});
    out["outliers"].push_back({{"field", field.field},
                               {"majority", field.majority},
                               {"count", field.count},
                               {"known", field.known},
                               {"others", others}});
  }
  for (const auto& file : fleet.unreadable)
    out["unreadable"].push_back({{"file", file.file}, {"reason", file.reason}});
  return out;
}

}  // namespace gpuwright
