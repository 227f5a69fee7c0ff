#include "base/text.h"

#include <algorithm>
#include <set>

#include "machine/json.h"
#include "report/layout.h"
#include "report/libraries.h"
#include "report/names.h"
#include "report/report.h"
#include "report/wording.h"

// The report for people. The order is that of reading at two in the morning: what is the matter,
// where on the ladder, what does it mean for my framework, what do I type; everything else after.

namespace gpuwright {
namespace {

std::string words_of(RungState state) {
  std::string words = name_of(state);
  std::replace(words.begin(), words.end(), '-', ' ');
  return words;
}

Tint tint_of(RungState state) {
  switch (state) {
    case RungState::kRight:
      return Tint::kGood;
    case RungState::kBroken:
      return Tint::kBad;
    case RungState::kFollows:
    case RungState::kUnknown:
      return Tint::kDoubt;
    case RungState::kNotApplicable:
    case RungState::kNotJudged:
      break;
  }
  return Tint::kFaint;
}

Tint tint_of(Outcome outcome) {
  if (outcome == Outcome::kRight) return Tint::kGood;
  return outcome == Outcome::kProblems ? Tint::kBad : Tint::kDoubt;
}

std::string state_column(const RungResult& rung) {
  std::string text = words_of(rung.state);
  if (rung.state == RungState::kFollows && rung.because)
    text += std::string(" from ") + name_of(*rung.because);
  return text;
}

void write_ladder(Page& page, const std::vector<RungResult>& rungs) {
  std::size_t name_width = 0;
  std::size_t state_width = 0;
  for (const auto& rung : rungs) {
    name_width = std::max(name_width, columns(name_of(rung.rung)));
    state_width = std::max(state_width, columns(state_column(rung)));
  }
  page.gap();
  for (const auto& rung : rungs)
    page.paragraph(
        "  " + pad(name_of(rung.rung), name_width + 2) + pad(state_column(rung), state_width + 2),
        rung.summary, tint_of(rung.state));
}

// ------------------------------------------------------------------ framework answers

Tint tint_of(Answer answer) {
  if (answer == Answer::kUses) return Tint::kGood;
  return answer == Answer::kDoesNot ? Tint::kBad : Tint::kDoubt;
}

void write_answer(Page& page, const FrameworkAnswer& answer, const TextStyle& style) {
  page.paragraph(name_and_version(answer.framework, answer.version) + " ", answer_sentence(answer),
                 tint_of(answer.answer));
  if (answer.answer == Answer::kUses && answer.gpus.size() > 2)
    for (const auto& gpu : answer.gpus) page.paragraph("  GPU ", gpu);
  const bool doubtful = !answer.confidence.empty() && answer.confidence != "high";
  if (answer.confidence == "confirmed")
    page.paragraph("  ", "confirmed by running it");
  else if (doubtful)
    page.paragraph("  confidence: ", answer.confidence);
  if (doubtful || style.verbose)
    for (const auto& caveat : answer.caveats) page.paragraph("  not seen: ", caveat);
}

// --------------------------------------------------------------------------- findings

void write_evidence(Page& page, const std::vector<Evidence>& evidence) {
  for (const auto& item : evidence) page.paragraph("    - ", with_source(item));
}

void write_step(Page& page, const FixStep& step, std::size_t number, bool consequences) {
  page.paragraph("    " + std::to_string(number) + ". ", text_of(step));
  for (const auto line : lines(step.command)) page.verbatim("         ", line, Tint::kBold);
  if (!consequences) return;
  if (!step.changes.empty()) page.paragraph("       changes: ", step.changes);
  if (!step.undo.empty()) page.paragraph("       undo: ", step.undo);
}

void write_fix(Page& page, const std::vector<FixStep>& fix, bool consequences) {
  for (std::size_t i = 0; i < fix.size(); ++i) write_step(page, fix[i], i + 1, consequences);
}

void write_finding_in_full(Page& page, const Finding& finding) {
  page.gap();
  page.paragraph(std::string(name_of(finding.rung)) + ": ", headline(finding), Tint::kBad,
                 Tint::kBold);
  if (!finding.evidence.empty()) {
    page.paragraph("  evidence", "", Tint::kBold);
    write_evidence(page, finding.evidence);
  }
  if (!finding.cause.empty()) page.paragraph("  cause: ", finding.cause, Tint::kBold);
  page.paragraph("  certainty: ",
                 std::string(name_of(finding.certainty)) + ", " + meaning_of(finding.certainty),
                 Tint::kBold);
  if (finding.fix.empty()) return;
  page.paragraph("  fix", "", Tint::kBold);
  write_fix(page, finding.fix, true);
}

void write_finding_in_short(Page& page, const Finding& finding, const TextStyle& style) {
  page.paragraph("  - ", headline(finding) + " [" + finding.id + "]");
  if (style.verbose) write_evidence(page, finding.evidence);
  write_fix(page, finding.fix, style.verbose);
}

// The rung whose errors are told in full: the lowest one that has any, since what it breaks may be
// all that is wrong above it.
std::optional<Rung> lowest_error(const std::vector<Finding>& findings) {
  std::optional<Rung> lowest;
  for (const auto& finding : findings)
    if (finding.severity == Severity::kError && (!lowest || finding.rung < *lowest))
      lowest = finding.rung;
  return lowest;
}

void write_group(Page& page, const char* title, const std::vector<const Finding*>& group, Tint tint,
                 const TextStyle& style) {
  if (group.empty()) return;
  page.gap();
  page.paragraph(title, "", tint);
  for (const auto* finding : group) write_finding_in_short(page, *finding, style);
}

void write_findings(Page& page, const std::vector<Finding>& findings, const TextStyle& style) {
  const auto lowest = lowest_error(findings);
  std::vector<const Finding*> errors, warnings, notes;
  for (const auto& finding : findings) {
    if (finding.severity == Severity::kWarning) {
      warnings.push_back(&finding);
    } else if (finding.severity == Severity::kInfo) {
      notes.push_back(&finding);
    } else if (finding.rung == *lowest) {
      write_finding_in_full(page, finding);
    } else {
      errors.push_back(&finding);
    }
  }
  write_group(page, "also wrong", errors, Tint::kBad, style);
  write_group(page, "warnings", warnings, Tint::kDoubt, style);
  write_group(page, "worth knowing", notes, Tint::kPlain, style);
}

void write_ignored(Page& page, const Diagnosis& diagnosis) {
  if (diagnosis.ignored.empty() && diagnosis.expired.empty()) return;
  page.gap();
  page.paragraph("ignored", "", Tint::kFaint);
  for (const auto& [finding, ignore] : diagnosis.ignored)
    page.paragraph("  - ", headline(finding) + " [" + finding.id + "]: " + reason_of(ignore),
                   Tint::kFaint, Tint::kFaint);
  for (const auto& ignore : diagnosis.expired)
    page.paragraph("  - ",
                   "no more: " + ignore.id + ", until " + ignore.until + " (" + ignore.place + ")");
}

// One unreadable file leaves many questions open, so each missing fact is told once.
struct Gap {
  Evidence missing;
  std::vector<std::string> questions;
};

std::vector<Gap> gaps_of(const std::vector<Undecision>& undecided) {
  std::vector<Gap> gaps;
  for (const auto& item : undecided)
    for (const auto& missing : item.missing) {
      auto gap = std::find_if(gaps.begin(), gaps.end(),
                              [&](const Gap& known) { return known.missing == missing; });
      if (gap == gaps.end()) gap = gaps.insert(gap, Gap{missing, {}});
      gap->questions.push_back(item.id);
    }
  return gaps;
}

void write_unread(Page& page, const Machine& machine, const std::vector<Undecision>& undecided) {
  if (machine.notes.empty() && undecided.empty()) return;
  page.gap();
  page.paragraph("could not be decided", "", Tint::kDoubt);
  for (const auto& note : machine.notes)
    page.paragraph("  - probe " + note.probe + ": ", note.text);
  for (const auto& gap : gaps_of(undecided)) {
    if (gap.missing.text.starts_with("probe ")) continue;  // the note above
    page.paragraph("  - ", with_source(gap.missing));
    page.paragraph("    leaves open: ", join(gap.questions, ", "), Tint::kFaint);
  }
}

// -------------------------------------------------------------------- --all

void write_facts(Page& page, const Machine& machine) {
  // Wider places are rare (a library's place in a list) and push their own line alone.
  constexpr std::size_t kPlaceWidth = 40;
  page.gap();
  page.paragraph("facts", "", Tint::kBold);
  for (const auto& fact : fact_lines(machine)) {
    const std::string source = fact.source.empty() ? "" : "  (" + fact.source + ")";
    page.verbatim("  " + pad(fact.place, kPlaceWidth) + "  ", fact.value + source);
  }
}

void write_hints(Page& page, const Diagnosis& diagnosis, const TextStyle& style) {
  page.gap();
  std::set<std::string> told;
  for (const auto& finding : diagnosis.findings) {
    if (finding.severity != Severity::kError || !told.insert(finding.id).second) continue;
    page.paragraph("hint: ", "gpuwright help " + finding.id + " explains this finding",
                   Tint::kFaint, Tint::kFaint);
  }
  if (told.empty() && !diagnosis.findings.empty())
    page.paragraph("hint: ",
                   "gpuwright help " + diagnosis.findings.front().id +
                       " explains that finding; each has such a page",
                   Tint::kFaint, Tint::kFaint);
  if (!style.libraries && !diagnosis.frameworks.empty())
    page.paragraph("hint: ", "gpuwright check --libraries shows every file that will be loaded",
                   Tint::kFaint, Tint::kFaint);
}

}  // namespace

std::string report_text(const Machine& machine, const Catalog&, const Diagnosis& diagnosis,
                        const TextStyle& style) {
  Page page(style.color, style.width);
  page.paragraph("", diagnosis.verdict, Tint::kPlain, tint_of(diagnosis.outcome));
  if (style.quiet) return page.text();
  write_ladder(page, diagnosis.rungs);
  if (!diagnosis.frameworks.empty()) page.gap();
  for (const auto& answer : diagnosis.frameworks) write_answer(page, answer, style);
  write_findings(page, diagnosis.findings, style);
  write_ignored(page, diagnosis);
  write_unread(page, machine, diagnosis.undecided);
  if (style.libraries) write_libraries(page, machine.frameworks);
  if (style.all) write_facts(page, machine);
  write_hints(page, diagnosis, style);
  return page.text();
}

}  // namespace gpuwright
