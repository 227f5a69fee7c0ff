#include <algorithm>

#include "base/text.h"
#include "report/report.h"
#include "report/wording.h"

// Format and exit statuses: Monitoring Plugins Development Guidelines, "Plugin Output for Nagios".
// The first line is status, text, a bar and performance data; further lines are the long text. A
// bar in a text would begin performance data, so none may stand there.

namespace gpuwright {
namespace {

constexpr const char* kWords[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};

std::size_t count_of(const Diagnosis& diagnosis, Severity severity) {
  return static_cast<std::size_t>(
      std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                    [&](const Finding& finding) { return finding.severity == severity; }));
}

std::string without_bars(std::string_view text) {
  std::string out = printable(text);
  std::replace(out.begin(), out.end(), '|', '/');
  return out;
}

// label=value;warn;crit;min: a value above the number raises the alarm.
std::string performance_data(const Machine& machine, const Diagnosis& diagnosis) {
  const auto number = [](const char* label, std::size_t value, const char* limits) {
    return std::string(label) + "=" + std::to_string(value) + limits;
  };
  std::string out = number("errors", count_of(diagnosis, Severity::kError), ";;0;0") +
                    number(" warnings", count_of(diagnosis, Severity::kWarning), ";0;;0") +
                    number(" undecided", diagnosis.undecided.size(), ";;;0") +
                    number(" ignored", diagnosis.ignored.size(), ";;;0");
  const auto& gpus = machine.hardware.gpus;
  return gpus.is_known() ? out + number(" gpus", gpus->size(), ";;;0") : out;
}

}  // namespace

int nagios_status(const Diagnosis& diagnosis, bool strict) {
  const bool warned = count_of(diagnosis, Severity::kWarning) > 0;
  if (diagnosis.outcome == Outcome::kProblems || (strict && warned)) return 2;
  if (diagnosis.outcome == Outcome::kUndecided) return 3;
  return warned ? 1 : 0;
}

std::string report_nagios(const Machine& machine, const Diagnosis& diagnosis, bool strict) {
  std::string out = std::string("GPUWRIGHT ") + kWords[nagios_status(diagnosis, strict)] + " - " +
                    without_bars(diagnosis.verdict) + " | " + performance_data(machine, diagnosis) +
                    "\n";
  for (const auto& finding : diagnosis.findings)
    out += std::string(name_of(finding.severity)) + ": " + without_bars(headline(finding)) + " [" +
           finding.id + "]\n";
  return out;
}

}  // namespace gpuwright
