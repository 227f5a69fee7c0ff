#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/check_options.h"
#include "cli/command.h"
#include "cli/confirm.h"
#include "cli/open.h"
#include "diagnose/diagnose.h"
#include "report/report.h"

namespace gpuwright::cli {
namespace {

// Texts of other people's files may hold bytes that are no UTF-8; they become U+FFFD.
std::string json_line(const nlohmann::ordered_json& report) {
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int status_of(const Diagnosis& diagnosis, bool strict) {
  const bool warned =
      std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                  [](const Finding& finding) { return finding.severity == Severity::kWarning; });
  if (diagnosis.outcome == Outcome::kProblems || (strict && warned)) return kProblemsFound;
  return diagnosis.outcome == Outcome::kRight ? kAllRight : kCouldNotDecide;
}

struct Report {
  std::string text;
  int status = kAllRight;
};

Report report_of(const CheckOptions& options, const Machine& machine, const Catalog& catalog,
                 const Diagnosis& diagnosis) {
  const int status = status_of(diagnosis, options.strict);
  if (options.format == "json")
    return {json_line(report_json(machine, catalog, diagnosis)), status};
  if (options.format == "nagios")
    return {report_nagios(machine, diagnosis, options.strict),
            nagios_status(diagnosis, options.strict)};
  if (options.format == "markdown")
    return {report_markdown(machine, diagnosis, options.style.all), status};
  if (options.format == "html") return {report_html(machine, diagnosis), status};
  if (options.format == "junit") return {report_junit(diagnosis, options.strict), status};
  return {report_text(machine, catalog, diagnosis, options.style), status};
}

Result<int> check(const Arguments& arguments, Output& output) {
  const auto options = parse_check(arguments, output);
  if (!options) return tl::unexpected(options.error());
  if (arguments.has("--list")) {
    output.data(rule_list(*options));
    return kAllRight;
  }
  const auto catalog = open_catalog(options->catalog);
  if (!catalog) return tl::unexpected(catalog.error());
  auto machine = open_machine(options->machine, **catalog, output);
  if (!machine) return tl::unexpected(machine.error());
  if (const auto ran = confirm_machine(arguments, *machine, output); !ran)
    return tl::unexpected(ran.error());
  const Diagnosis diagnosis = diagnose(*machine, **catalog, options->diagnose);
  const Report report = report_of(*options, *machine, **catalog, diagnosis);
  output.data(report.text);
  return report.status;
}

}  // namespace

Result<int> run_check(const Arguments& arguments, Output& output) {
  const auto status = check(arguments, output);
  if (status || arguments.value("--format") != "nagios") return status;
  // For Nagios 2 is "critical"; a plugin that cannot look says so on standard output.
  output.data("GPUWRIGHT UNKNOWN - " + printable(status.error().text()) + "\n");
  return kCouldNotDecide;
}

}  // namespace gpuwright::cli
