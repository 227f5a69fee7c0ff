#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "report/report.h"

namespace gpuwright {

/// A line of the input that is told beside the findings.
struct ToldLine {
  std::string source;  ///< "train.log:12"
  std::string text;
  std::string why;          ///< Of noise: why it is harmless; empty for unplaced lines.
  std::uint64_t count = 1;  ///< How often its kind stood there.
};

/// What a text says: the findings, the harmless lines, and those that no pattern knows.
struct Explanation {
  Diagnosis diagnosis;
  std::vector<ToldLine> noise;
  std::vector<ToldLine> unplaced;
  std::uint64_t lines = 0;
};

/// For people: causes with the lines that prove them, what to type, which lines are harmless.
std::string explain_text(const Explanation& explanation, const TextStyle& style);
/// For programs; docs/schema/explain.schema.json describes it.
nlohmann::ordered_json explain_json(const Explanation& explanation);

}  // namespace gpuwright
