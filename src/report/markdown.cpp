#include <algorithm>

#include "base/text.h"
#include "machine/json.h"
#include "report/markup.h"
#include "report/names.h"
#include "report/report.h"
#include "report/wording.h"

// GitHub's flavour of Markdown. What was read from files stands in code spans, where nothing has a
// meaning and nobody is mentioned; our own sentences are escaped.

namespace gpuwright {
namespace {

std::string fenced(const std::string& text, const std::string& indent, const char* language) {
  const std::string fence(std::max<std::size_t>(longest_run(text, '`') + 1, 3), '`');
  std::string out = indent + fence + language + "\n";
  for (const auto line : lines(text)) out += indent + printable(line) + "\n";
  return out + indent + fence + "\n";
}

std::string ladder(const std::vector<RungResult>& rungs) {
  std::string out = "| rung | state | what is there |\n| --- | --- | --- |\n";
  for (const auto& rung : rungs) {
    const std::string because =
        rung.because ? " (" + std::string(name_of(*rung.because)) + ")" : "";
    out += "| " + std::string(name_of(rung.rung)) + " | " + name_of(rung.state) + because + " | " +
           markdown_text(rung.summary) + " |\n";
  }
  return out + "\n";
}

std::string fix_steps(const std::vector<FixStep>& fix) {
  std::string out;
  for (std::size_t i = 0; i < fix.size(); ++i) {
    out += std::to_string(i + 1) + ". " + markdown_text(text_of(fix[i])) + "\n";
    if (!fix[i].command.empty()) out += fenced(fix[i].command, "   ", "sh");
  }
  return out.empty() ? out : "\nFix:\n\n" + out;
}

std::string section(const Finding& finding) {
  std::string out = "### " + std::string(name_of(finding.severity)) + ": " +
                    markdown_text(headline(finding)) + "\n\n" + markdown_code(finding.id) + ", " +
                    name_of(finding.certainty) + "\n\n";
  for (const auto& evidence : finding.evidence)
    out += "- " + markdown_code(with_source(evidence)) + "\n";
  if (!finding.cause.empty()) out += "\nCause: " + markdown_text(finding.cause) + "\n";
  return out + fix_steps(finding.fix) + "\n";
}

std::string remarks(const Machine& machine, const Diagnosis& diagnosis) {
  std::string out;
  for (const auto& note : machine.notes)
    out +=
        "- undecided: probe " + markdown_text(note.probe) + ": " + markdown_text(note.text) + "\n";
  for (const auto& open : diagnosis.undecided)
    for (const auto& missing : open.missing)
      out += "- undecided: " + markdown_code(open.id) + ": " + markdown_code(with_source(missing)) +
             "\n";
  for (const auto& [finding, ignore] : diagnosis.ignored)
    out +=
        "- ignored: " + markdown_code(finding.id) + ": " + markdown_text(reason_of(ignore)) + "\n";
  return out.empty() ? out : out + "\n";
}

std::string folded_facts(const Machine& machine) {
  std::string text;
  for (const auto& fact : fact_lines(machine))
    text += fact.place + " = " + printable(fact.value) + "\n";
  return "<details><summary>every fact</summary>\n\n" + fenced(text, "", "") + "\n</details>\n";
}

}  // namespace

std::string report_markdown(const Machine& machine, const Diagnosis& diagnosis, bool facts) {
  std::string out = "## gpuwright check\n\n**" + markdown_text(diagnosis.verdict) + "**\n\n" +
                    ladder(diagnosis.rungs);
  for (const auto& answer : diagnosis.frameworks)
    out += "- " +
           markdown_text(answer.framework + (answer.version.empty() ? "" : " " + answer.version)) +
           " " + markdown_text(answer_sentence(answer)) + "\n";
  if (!diagnosis.frameworks.empty()) out += "\n";
  for (const auto& finding : diagnosis.findings) out += section(finding);
  out += remarks(machine, diagnosis);
  return facts ? out + folded_facts(machine) : out;
}

}  // namespace gpuwright
