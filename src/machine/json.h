#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.h"

namespace gpuwright {

/// Raised by one whenever a field is renamed, removed or changes its meaning.
inline constexpr int kSnapshotSchema = 1;

/// {"schema": 1, "kind": "gpuwright-snapshot", "machine": {...}}. A fact is {"value": v, "source":
/// s},
/// {"absent": true, "source": s} or {"unknown": reason, "source": s}.
nlohmann::ordered_json snapshot_to_json(const Machine& machine);

/// The machine of a snapshot. Unknown keys are passed over, missing ones stay as no probe had
/// looked; a wrong type is an error that names its place: "machine.driver.nodes[0].path".
[[nodiscard]] Result<Machine> snapshot_from_json(const nlohmann::ordered_json& document);

/// Parses text and calls snapshot_from_json; the subject of an error is `name`.
[[nodiscard]] Result<Machine> snapshot_from_text(std::string_view text, const std::string& name);

/// One line of `check --all`: dotted place, value as text, source.
struct FactLine {
  std::string place;  ///< "driver.module_version"
  std::string value;  ///< "550.54.15", "absent", "unknown: permission denied"
  std::string source;
};
std::vector<FactLine> fact_lines(const Machine& machine);

}  // namespace gpuwright
