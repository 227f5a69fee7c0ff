#include "report/diff.h"

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/open.h"

namespace gpuwright::cli {
namespace {

// An empty name is this machine.
Result<Judged> judged(const std::string& name, Output& output) {
  MachineOptions options;
  options.from = name;
  const Catalog& catalog = Catalog::built_in();
  auto machine = open_machine(options, catalog, output);
  if (!machine) return tl::unexpected(machine.error());
  Diagnosis diagnosis = diagnose(*machine, catalog);
  return Judged{std::move(*machine), std::move(diagnosis)};
}

}  // namespace

Result<int> run_diff(const Arguments& arguments, Output& output) {
  const auto& names = arguments.operands();
  if (names.empty() || names.size() > 2)
    return fail("give one snapshot to compare with this machine, or two");
  const std::string second = names.size() == 2 ? names[1] : "";
  const auto before = judged(names[0], output);
  if (!before) return tl::unexpected(before.error());
  const auto after = judged(second, output);
  if (!after) return tl::unexpected(after.error());
  const Comparison comparison = compare(*before, *after, arguments.has("--all"));
  if (arguments.value("--format") == "json") {
    output.data(diff_json(comparison)
                    .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                "\n");
  } else if (!arguments.has("--quiet")) {
    const bool color = output.may_color() && !arguments.has("--no-color");
    output.data(diff_text(comparison, names[0], second.empty() ? "this machine" : second, color,
                          output.width()));
  }
  return comparison.same() ? kAllRight : kProblemsFound;
}

}  // namespace gpuwright::cli
