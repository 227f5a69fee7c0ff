#include "report/explain.h"

#include <nlohmann/json.hpp>

#include "report/layout.h"
#include "report/names.h"

namespace gpuwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kToldInText = 12;

Tint tint_of(Severity severity) {
  if (severity == Severity::kError) return Tint::kBad;
  return severity == Severity::kWarning ? Tint::kDoubt : Tint::kPlain;
}

void write_finding(Page& page, const Finding& finding, const TextStyle& style) {
  page.gap();
  page.paragraph(std::string(name_of(finding.severity)) + ": ", finding.statement,
                 tint_of(finding.severity), Tint::kBold);
  for (const auto& item : finding.evidence)
    page.paragraph("    " + (item.source.empty() ? std::string("-") : item.source) + "  ",
                   item.text, Tint::kFaint);
  if (!finding.cause.empty()) page.paragraph("  cause: ", finding.cause, Tint::kBold);
  if (finding.certainty != Certainty::kProven)
    page.paragraph("  certainty: ", name_of(finding.certainty), Tint::kBold);
  if (!finding.fix.empty()) page.paragraph("  fix", "", Tint::kBold);
  for (std::size_t i = 0; i < finding.fix.size(); ++i) {
    const auto& step = finding.fix[i];
    const std::string what = step.text.empty() && !step.command.empty() ? "run" : step.text;
    page.paragraph("    " + std::to_string(i + 1) + ". ",
                   what + (step.needs_root ? " (needs root)" : ""));
    if (!step.command.empty()) page.verbatim("         ", step.command, Tint::kBold);
    if (!style.verbose) continue;
    if (!step.changes.empty()) page.paragraph("       changes: ", step.changes);
    if (!step.undo.empty()) page.paragraph("       undo: ", step.undo);
  }
}

std::string times(std::uint64_t count) {
  return count > 1 ? " (" + std::to_string(count) + " times)" : "";
}

void write_lines(Page& page, const char* title, const std::vector<ToldLine>& lines,
                 const TextStyle& style) {
  if (lines.empty()) return;
  page.gap();
  page.paragraph(title, "", Tint::kBold);
  std::size_t told = 0;
  for (const auto& line : lines) {
    if (told++ == kToldInText && !style.all) {
      page.paragraph(
          "  ", "and " + std::to_string(lines.size() - kToldInText) + " more; --all shows them");
      break;
    }
    page.paragraph("  " + line.source + "  ", line.text + times(line.count), Tint::kFaint);
    if (!line.why.empty()) page.paragraph("      harmless: ", line.why);
  }
}

void write_missing(Page& page, const std::vector<Undecision>& undecided) {
  if (undecided.empty()) return;
  page.gap();
  page.paragraph("to decide more, add the output of", "", Tint::kBold);
  for (const auto& one : undecided)
    for (const auto& missing : one.missing) page.paragraph("  - ", missing.text);
}

Json to_json(const std::vector<ToldLine>& lines, bool noise) {
  Json out = Json::array();
  for (const auto& line : lines) {
    Json one = {{"line", line.source}, {"text", line.text}};
    if (noise) one["why"] = "harmless: " + line.why;
    one["count"] = line.count;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::string explain_text(const Explanation& explanation, const TextStyle& style) {
  Page page(style.color, style.width);
  page.paragraph("", explanation.diagnosis.verdict, Tint::kPlain, Tint::kBold);
  if (style.quiet) return page.text();
  for (const auto& finding : explanation.diagnosis.findings) write_finding(page, finding, style);
  write_lines(page, "harmless lines", explanation.noise, style);
  write_lines(page, "lines that could not be placed", explanation.unplaced, style);
  write_missing(page, explanation.diagnosis.undecided);
  return page.text();
}

Json explain_json(const Explanation& explanation) {
  Json out = diagnosis_json(explanation.diagnosis);
  out["noise"] = to_json(explanation.noise, true);
  out["unplaced"] = to_json(explanation.unplaced, false);
  out["lines"] = explanation.lines;
  return out;
}

}  // namespace gpuwright
