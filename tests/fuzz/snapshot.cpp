// Snapshots: JSON that may come from anyone. What is read can be written and read again; every
// machine that can be written down can be judged; and no judgement promises a GPU that nobody saw.

#include <nlohmann/json.hpp>

#include "diagnose/diagnose.h"
#include "fuzz/fuzz.h"
#include "machine/json.h"
#include "machine/redact.h"
#include "report/report.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

// Where the bus is hidden (containers, gVisor, WSL), the driver's own list or Windows' device
// tells. A run that has seen the GPU is left out: it needs no more.
void check_promise(const Machine& machine, const FrameworkAnswer& answer) {
  if (answer.answer != Answer::kUses || machine.run != Run{}) return;
  const Hardware& hardware = machine.hardware;
  require(
      !hardware.gpus.is_unknown() || !hardware.driver_gpus.is_unknown() || hardware.dxg.is(true),
      "no GPU is promised where none was looked for");
  require(hardware.gpus.is_unknown() || !hardware.gpus.is_known() || !hardware.gpus->empty() ||
              hardware.dxg.is(true),
          "no GPU is promised where the bus has none");
}

void check_diagnosis(const Machine& machine) {
  const Catalog& catalog = Catalog::built_in();
  const Diagnosis diagnosis = diagnose(machine, catalog);
  bool error = false;
  for (const auto& finding : diagnosis.findings) {
    error = error || finding.severity == Severity::kError;
    require(!finding.id.empty() && !finding.statement.empty(), "a finding says something");
  }
  require(!error || diagnosis.outcome == Outcome::kProblems, "an error is a problem");
  for (const auto& answer : diagnosis.frameworks) check_promise(machine, answer);
  const auto document = report_json(machine, catalog, diagnosis);
  use(document.dump(0, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  TextStyle style;
  style.all = style.libraries = style.verbose = true;
  for (const char c : report_text(machine, catalog, diagnosis, style))
    require(c == '\n' || static_cast<unsigned char>(c) >= ' ', "a report steers no terminal");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto machine = snapshot_from_text(text_of(data, size), "input");
  if (!machine) return 0;
  const auto document = snapshot_to_json(*machine);
  const auto again = snapshot_from_json(document);
  require(again.has_value(), "what was written can be read");
  require(*again == *machine, "it is read as what was written");
  const auto hidden = redact(document, {{"/data/alice"}, {"alice"}, {"node7"}});
  require(snapshot_from_json(hidden).has_value(), "a redacted snapshot is one");
  check_diagnosis(*machine);
  return 0;
}
