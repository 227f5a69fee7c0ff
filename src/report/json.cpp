#include "machine/json.h"

#include <nlohmann/json.hpp>

#include "report/names.h"
#include "report/report.h"

namespace gpuwright {
namespace {

using Json = nlohmann::ordered_json;

// Raised by one whenever a key is renamed, removed or changes its meaning.
constexpr int kCheckSchema = 1;

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json to_json(const RungResult& rung) {
  return {{"rung", name_of(rung.rung)},
          {"state", name_of(rung.state)},
          {"summary", rung.summary},
          {"because", rung.because ? Json(name_of(*rung.because)) : Json()}};
}

Json to_json(const std::vector<Evidence>& evidence) {
  Json out = Json::array();
  for (const auto& item : evidence) out.push_back({{"text", item.text}, {"source", item.source}});
  return out;
}

Json to_json(const std::vector<FixStep>& fix) {
  Json out = Json::array();
  for (const auto& step : fix)
    out.push_back({{"command", text_or_null(step.command)},
                   {"text", step.text},
                   {"needs_root", step.needs_root},
                   {"changes", step.changes},
                   {"undo", step.undo}});
  return out;
}

Json to_json(const Finding& finding) {
  return {{"id", finding.id},
          {"rung", name_of(finding.rung)},
          {"severity", name_of(finding.severity)},
          {"subject", text_or_null(finding.subject)},
          {"statement", finding.statement},
          {"evidence", to_json(finding.evidence)},
          {"cause", finding.cause},
          {"fix", to_json(finding.fix)},
          {"certainty", name_of(finding.certainty)}};
}

Json to_json(const IgnoredFinding& ignored) {
  return {{"finding", to_json(ignored.finding)},
          {"reason", ignored.ignore.reason},
          {"until", text_or_null(ignored.ignore.until)},
          {"place", ignored.ignore.place}};
}

Json to_json(const ResolvedLibrary& library) {
  return {{"name", library.name},
          {"role", library.role},
          {"when", library.when},
          {"state", library.state},
          {"path", text_or_null(library.path)},
          {"real_path", text_or_null(library.real_path)},
          {"rule", library.rule},
          {"opener", library.opener},
          {"version", library.version.is_known() ? Json(library.version->text()) : Json()},
          {"error", text_or_null(library.error)},
          {"shadows", library.shadows},
          {"elsewhere", library.elsewhere}};
}

Json libraries_of(const Machine& machine, const std::string& framework) {
  Json out = Json::array();
  for (const auto& candidate : machine.frameworks)
    if (candidate.name == framework)
      for (const auto& library : candidate.libraries) out.push_back(to_json(library));
  return out;
}

Json to_json(const Machine& machine, const FrameworkAnswer& answer) {
  return {{"framework", answer.framework},
          {"version", text_or_null(answer.version)},
          {"answer", name_of(answer.answer)},
          {"gpus", answer.gpus},
          {"because", text_or_null(answer.because)},
          {"finding", text_or_null(answer.finding_id)},
          {"confidence", text_or_null(answer.confidence)},
          {"caveats", answer.caveats},
          {"libraries", libraries_of(machine, answer.framework)}};
}

Json to_json(const Undecision& undecision) {
  return {{"id", undecision.id},
          {"rung", name_of(undecision.rung)},
          {"missing", to_json(undecision.missing)}};
}

}  // namespace

Json diagnosis_json(const Diagnosis& diagnosis) {
  Json out = {{"schema_version", kCheckSchema},
              {"verdict", diagnosis.verdict},
              {"outcome", name_of(diagnosis.outcome)},
              {"findings", Json::array()},
              {"undecided", Json::array()}};
  for (const auto& finding : diagnosis.findings) out["findings"].push_back(to_json(finding));
  for (const auto& undecision : diagnosis.undecided)
    out["undecided"].push_back(to_json(undecision));
  return out;
}

Json report_json(const Machine& machine, const Catalog&, const Diagnosis& diagnosis) {
  Json out = {{"schema_version", kCheckSchema},
              {"verdict", diagnosis.verdict},
              {"outcome", name_of(diagnosis.outcome)},
              {"rungs", Json::array()},
              {"frameworks", Json::array()},
              {"findings", Json::array()},
              {"undecided", Json::array()},
              {"ignored", Json::array()}};
  // Where nothing was run there is nothing to say about it.
  if (machine.run != Run{}) out["run"] = snapshot_to_json(machine).at("machine").at("run");
  for (const auto& rung : diagnosis.rungs) out["rungs"].push_back(to_json(rung));
  for (const auto& answer : diagnosis.frameworks)
    out["frameworks"].push_back(to_json(machine, answer));
  for (const auto& finding : diagnosis.findings) out["findings"].push_back(to_json(finding));
  for (const auto& undecision : diagnosis.undecided)
    out["undecided"].push_back(to_json(undecision));
  for (const auto& ignored : diagnosis.ignored) out["ignored"].push_back(to_json(ignored));
  return out;
}

}  // namespace gpuwright
