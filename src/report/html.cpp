#include "machine/json.h"
#include "report/markup.h"
#include "report/names.h"
#include "report/report.h"
#include "report/wording.h"

namespace gpuwright {
namespace {

// The policy forbids all that could be loaded or run, should an escape ever be missed.
constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gpuwright check</title>
<style>
:root { color-scheme: light dark; --text: #1a1a1a; --back: #fff; --line: #ccc; --soft: #f3f3f3;
  --bad: #b00020; --good: #146c2e; --doubt: #7a5200; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6e6; --back: #16181b; --line: #444;
  --soft: #22252a; --bad: #ff8a80; --good: #7bd88f; --doubt: #ffc857; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; display: block; overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0;
  border-bottom: 1px solid var(--line); }
pre { background: var(--soft); padding: .75rem; overflow-x: auto; }
td, li, h1, h2 { overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.error, .broken, .problems, .does-not { color: var(--bad); }
.right, .uses { color: var(--good); }
.warning, .unknown, .follows, .undecided, .cannot-tell { color: var(--doubt); }
</style></head><body>
)";

std::string element(const std::string& tag, const std::string& style, const std::string& text) {
  return "<" + tag + (style.empty() ? "" : " class=\"" + style + "\"") + ">" + markup_text(text) +
         "</" + tag + ">";
}

std::string ladder(const std::vector<RungResult>& rungs) {
  std::string out = "<table><tr><th>rung</th><th>state</th><th>what is there</th></tr>\n";
  for (const auto& rung : rungs) {
    const std::string because =
        rung.because ? std::string(" from ") + name_of(*rung.because) : std::string();
    out += "<tr>" + element("td", "", name_of(rung.rung)) +
           element("td", name_of(rung.state), name_of(rung.state) + because) +
           element("td", "", rung.summary) + "</tr>\n";
  }
  return out + "</table>\n";
}

std::string answers(const std::vector<FrameworkAnswer>& all) {
  std::string out;
  for (const auto& answer : all)
    out += element("p", name_of(answer.answer),
                   answer.framework + (answer.version.empty() ? "" : " " + answer.version) + " " +
                       answer_sentence(answer)) +
           "\n";
  return out;
}

std::string fix_steps(const std::vector<FixStep>& fix) {
  if (fix.empty()) return "";
  std::string out = "<p>Fix</p><ol>\n";
  for (const auto& step : fix) {
    out += "<li>" + markup_text(text_of(step));
    if (!step.command.empty()) out += "<pre>" + markup_lines(step.command) + "</pre>";
    if (!step.changes.empty()) out += element("div", "", "changes: " + step.changes);
    if (!step.undo.empty()) out += element("div", "", "undo: " + step.undo);
    out += "</li>\n";
  }
  return out + "</ol>\n";
}

std::string section(const Finding& finding) {
  const char* severity = name_of(finding.severity);
  std::string out =
      "<section>" + element("h2", severity, std::string(severity) + ": " + headline(finding)) +
      element(
          "p", "",
          finding.id + ", " + name_of(finding.certainty) + ": " + meaning_of(finding.certainty));
  if (!finding.evidence.empty()) {
    out += "<ul>\n";
    for (const auto& evidence : finding.evidence) out += element("li", "", with_source(evidence));
    out += "</ul>\n";
  }
  if (!finding.cause.empty()) out += element("p", "", "Cause: " + finding.cause);
  return out + fix_steps(finding.fix) + "</section>\n";
}

std::string remarks(const Machine& machine, const Diagnosis& diagnosis) {
  std::string items;
  for (const auto& note : machine.notes)
    items += element("li", "", "undecided: probe " + note.probe + ": " + note.text);
  for (const auto& open : diagnosis.undecided)
    for (const auto& missing : open.missing)
      items += element("li", "", "undecided: " + open.id + ": " + with_source(missing));
  for (const auto& [finding, ignore] : diagnosis.ignored)
    items += element("li", "", "ignored: " + finding.id + ": " + reason_of(ignore));
  return items.empty() ? items : "<h2>Not counted</h2><ul>" + items + "</ul>\n";
}

std::string facts(const Machine& machine) {
  std::string out =
      "<details><summary>every fact</summary><table>"
      "<tr><th>fact</th><th>value</th><th>source</th></tr>\n";
  for (const auto& fact : fact_lines(machine))
    out += "<tr>" + element("td", "", fact.place) + element("td", "", fact.value) +
           element("td", "", fact.source) + "</tr>\n";
  return out + "</table></details>\n";
}

}  // namespace

std::string report_html(const Machine& machine, const Diagnosis& diagnosis) {
  std::string out = kHead + element("h1", name_of(diagnosis.outcome), diagnosis.verdict) + "\n" +
                    ladder(diagnosis.rungs) + answers(diagnosis.frameworks);
  for (const auto& finding : diagnosis.findings) out += section(finding);
  return out + remarks(machine, diagnosis) + facts(machine) + "</body></html>\n";
}

}  // namespace gpuwright
