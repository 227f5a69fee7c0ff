#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "report/markup.h"
#include "report/report.h"
#include "report/sample.h"

namespace gpuwright {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Diagnosis hostile() {
  Diagnosis diagnosis = broken_driver();
  diagnosis.findings[1].statement = "<script>alert('1')</script> | a & b \x1b[31m @someone";
  diagnosis.findings[1].fix[0].command = "echo '```' \"</pre>\"";
  return diagnosis;
}

Diagnosis only_warning() {
  Diagnosis diagnosis;
  diagnosis.outcome = Outcome::kRight;
  diagnosis.verdict = "All right.";
  diagnosis.findings = {broken_driver().findings[0]};
  diagnosis.rules = {
      {"hardware.narrow-link", "all lanes are used", Rung::kHardware, RuleState::kFinding, {}}};
  return diagnosis;
}

TEST(Nagios, SaysTheStateFirstAndCountsBehindTheBar) {
  const std::string text = report_nagios({}, broken_driver(), false);
  EXPECT_TRUE(text.starts_with("GPUWRIGHT CRITICAL - the driver is broken")) << text;
  EXPECT_TRUE(holds(text, " | errors=2;;0;0 warnings=1;0;;0 undecided=2;;;0 ignored=0;;;0\n"));
  EXPECT_EQ(nagios_status(broken_driver(), false), 2);
}

TEST(Nagios, KnowsAllFourStates) {
  Diagnosis diagnosis = only_warning();
  EXPECT_EQ(nagios_status(diagnosis, false), 1);
  EXPECT_EQ(nagios_status(diagnosis, true), 2);
  diagnosis.findings.clear();
  EXPECT_EQ(nagios_status(diagnosis, false), 0);
  diagnosis.outcome = Outcome::kUndecided;
  EXPECT_EQ(nagios_status(diagnosis, false), 3);
}

TEST(Nagios, HasNoSecondBar) {
  const std::string text = report_nagios({}, hostile(), false);
  EXPECT_EQ(std::count(text.begin(), text.end(), '|'), 1);
  EXPECT_FALSE(holds(text, "\x1b"));
}

TEST(Html, EscapesAllThatWasRead) {
  const std::string text = report_html({}, hostile());
  EXPECT_FALSE(holds(text, "<script"));
  EXPECT_FALSE(holds(text, "\"</pre>"));
  EXPECT_FALSE(holds(text, "\x1b"));
  EXPECT_TRUE(holds(text, "&lt;script&gt;alert(&#39;1&#39;)"));
}

TEST(Html, NeedsNoOtherFile) {
  const std::string text = report_html({}, broken_driver());
  for (const auto* reference : {"src=", "href=", "url(", "@import"})
    EXPECT_FALSE(holds(text, reference)) << reference;
  EXPECT_TRUE(holds(text, "prefers-color-scheme: dark"));
}

TEST(Markdown, KeepsTextsFromBeingMarkup) {
  const std::string text = report_markdown({}, hostile(), false);
  EXPECT_TRUE(holds(text, "\\<script\\>"));
  EXPECT_FALSE(holds(text, "@someone"));
  EXPECT_TRUE(holds(text, "````sh\n")) << "a fence longer than what it holds\n" << text;
}

TEST(Markdown, ShowsFactsOnlyWhenAsked) {
  EXPECT_FALSE(holds(report_markdown({}, broken_driver(), false), "<details>"));
  EXPECT_TRUE(holds(report_markdown({}, broken_driver(), true), "<details>"));
}

TEST(Junit, HasACaseForEachRule) {
  Diagnosis diagnosis = broken_driver();
  diagnosis.rules = {
      {"driver.version-mismatch", "both are one build", Rung::kDriver, RuleState::kFinding, {}},
      {"cuda.x", "fine", Rung::kCuda, RuleState::kFine, {}},
      {"cuda.y", "none", Rung::kCuda, RuleState::kNotApplicable, {}},
      {"cuda.z", "open", Rung::kCuda, RuleState::kUndecided, {{"no permission", "/proc"}}}};
  const std::string text = report_junit(diagnosis, false);
  EXPECT_TRUE(holds(text, "tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"2\"")) << text;
  EXPECT_TRUE(holds(text, "undecided: no permission (/proc)"));
}

TEST(Junit, FailsForAWarningOnlyWhenWarningsCount) {
  EXPECT_TRUE(holds(report_junit(only_warning(), false), "failures=\"0\""));
  EXPECT_TRUE(holds(report_junit(only_warning(), true), "failures=\"1\""));
}

TEST(Junit, SaysWhyAFindingIsIgnored) {
  Diagnosis diagnosis = only_warning();
  diagnosis.ignored = {{diagnosis.findings[0], {diagnosis.findings[0].id, "", "", "riser", "f:1"}}};
  diagnosis.findings.clear();
  EXPECT_TRUE(holds(report_junit(diagnosis, true), "<skipped message=\"ignored: riser (f:1)\""));
}

TEST(Markup, EscapesEveryCharacterWithAMeaning) {
  EXPECT_EQ(markup_text("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(markup_lines("a\n<b>"), "a\n&lt;b&gt;\n");
}

}  // namespace
}  // namespace gpuwright
