#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/confirm.h"
#include "cli/open.h"
#include "diagnose/diagnose.h"
#include "report/report.h"

namespace gpuwright::cli {
namespace {

struct CheckOptions {
  MachineOptions machine;
  std::string catalog;
  std::optional<Rung> only;
  bool json = false;
  bool strict = false;
  TextStyle style;
};

std::optional<Rung> rung_of(const std::string& name) {
  for (const auto& rules : all_rules())
    if (name == name_of(rules.rung)) return rules.rung;
  return std::nullopt;
}

Result<CheckOptions> parse_check(const Arguments& arguments, const Output& output) {
  CheckOptions options;
  options.machine = {arguments.value("--root"), arguments.value("--from"),
                     arguments.value("--python"), arguments.value("--framework")};
  if (arguments.has("--from") && (arguments.has("--root") || arguments.has("--python")))
    return fail("a snapshot cannot be looked at again: leave out --root and --python", "--from");
  options.catalog = arguments.value("--catalog");
  options.only = rung_of(arguments.value("--only"));
  options.json = arguments.value("--format") == "json";
  options.strict = arguments.has("--strict");
  options.style.color = output.may_color() && !arguments.has("--no-color");
  options.style.width = output.width();
  options.style.all = arguments.has("--all");
  options.style.libraries = arguments.has("--libraries");
  options.style.quiet = arguments.has("--quiet");
  options.style.verbose = arguments.has("--verbose");
  return options;
}

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

}  // namespace

Result<int> run_check(const Arguments& arguments, Output& output) {
  const auto options = parse_check(arguments, output);
  if (!options) return tl::unexpected(options.error());
  const auto catalog = open_catalog(options->catalog);
  if (!catalog) return tl::unexpected(catalog.error());
  auto machine = open_machine(options->machine, **catalog, output);
  if (!machine) return tl::unexpected(machine.error());
  if (const auto ran = confirm_machine(arguments, *machine, output); !ran)
    return tl::unexpected(ran.error());

  const Diagnosis diagnosis =
      diagnose(*machine, **catalog, {options->only, options->machine.framework});
  output.data(options->json ? json_line(report_json(*machine, **catalog, diagnosis))
                            : report_text(*machine, **catalog, diagnosis, options->style));
  return status_of(diagnosis, options->strict);
}

}  // namespace gpuwright::cli
