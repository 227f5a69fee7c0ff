#include <algorithm>

#include "base/text.h"
#include "report/markup.h"
#include "report/report.h"
#include "report/wording.h"

// The XML that Jenkins, GitLab and their kind read as test results. There is no standard; this
// keeps to what all of them take: testsuites, testsuite, testcase with at most one of failure and
// skipped, system-out.

namespace gpuwright {
namespace {

bool fails(const Finding& finding, bool strict) {
  return finding.severity == Severity::kError || (strict && finding.severity == Severity::kWarning);
}

std::string told(const Finding& finding) {
  std::string out = std::string(name_of(finding.severity)) + ": " + headline(finding) + "\n";
  for (const auto& evidence : finding.evidence) out += "evidence: " + with_source(evidence) + "\n";
  if (!finding.cause.empty()) out += "cause: " + finding.cause + "\n";
  for (const auto& step : finding.fix) {
    out += "fix: " + text_of(step) + "\n";
    for (const auto line : lines(step.command)) out += "  " + std::string(line) + "\n";
  }
  return out;
}

/// What was found by one rule.
struct Found {
  std::string failure;  ///< Headline of the first finding that fails.
  std::string type;
  std::string text;
  std::string ignored;  ///< Why one was set aside.
};

Found found_by(const RuleOutcome& rule, const Diagnosis& diagnosis, bool strict) {
  Found found;
  for (const auto& finding : diagnosis.findings) {
    if (finding.id != rule.id) continue;
    found.text += told(finding);
    if (!found.failure.empty() || !fails(finding, strict)) continue;
    found.failure = headline(finding);
    found.type = name_of(finding.severity);
  }
  for (const auto& [finding, ignore] : diagnosis.ignored)
    if (finding.id == rule.id) found.ignored = "ignored: " + reason_of(ignore);
  return found;
}

// Why a rule says nothing; empty when it does.
std::string skipped_because(const RuleOutcome& rule) {
  switch (rule.state) {
    case RuleState::kNotApplicable:
      return "not applicable on this machine";
    case RuleState::kNotReached:
      return "a lower rung is broken";
    case RuleState::kSkipped:
      return "left out by --skip";
    case RuleState::kUndecided:
      return "undecided: " +
             (rule.missing.empty() ? std::string() : with_source(rule.missing.front()));
    case RuleState::kFine:
    case RuleState::kFinding:
      break;
  }
  return "";
}

struct Counts {
  int tests = 0, failures = 0, skipped = 0;
};

std::string test_case(const RuleOutcome& rule, const Found& found, Counts& counts) {
  ++counts.tests;
  std::string body;
  const std::string skipped =
      found.text.empty() && !found.ignored.empty() ? found.ignored : skipped_because(rule);
  if (!found.failure.empty()) {
    ++counts.failures;
    body = "      <failure message=\"" + markup_text(found.failure) + "\" type=\"" + found.type +
           "\">" + markup_lines(found.text) + "</failure>\n";
  } else if (!skipped.empty()) {
    ++counts.skipped;
    body = "      <skipped message=\"" + markup_text(skipped) + "\"/>\n";
  } else if (!found.text.empty()) {
    body = "      <system-out>" + markup_lines(found.text) + "</system-out>\n";
  }
  const std::string head = std::string("    <testcase classname=\"gpuwright.") +
                           name_of(rule.rung) + "\" name=\"" + markup_text(rule.id) + ": " +
                           markup_text(rule.holds) + "\"";
  return body.empty() ? head + "/>\n" : head + ">\n" + body + "    </testcase>\n";
}

}  // namespace

std::string report_junit(const Diagnosis& diagnosis, bool strict) {
  Counts counts;
  std::string cases;
  for (const auto& rule : diagnosis.rules)
    cases += test_case(rule, found_by(rule, diagnosis, strict), counts);
  const std::string numbers = " tests=\"" + std::to_string(counts.tests) + "\" failures=\"" +
                              std::to_string(counts.failures) + "\" errors=\"0\" skipped=\"" +
                              std::to_string(counts.skipped) + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + numbers +
         ">\n  <testsuite name=\"gpuwright\"" + numbers + ">\n" + cases + "    <system-out>" +
         markup_text(diagnosis.verdict) + "</system-out>\n  </testsuite>\n</testsuites>\n";
}

}  // namespace gpuwright
