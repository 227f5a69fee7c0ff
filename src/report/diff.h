#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "diagnose/diagnose.h"
#include "report/layout.h"

// What changed between two looks at a machine, or what sets two machines apart.

namespace gpuwright {

struct FactChange {
  std::string place;   ///< "driver.module_version"; list items by name:
                       ///< "python.distributions[torch].version"
  std::string before;  ///< Empty when it is not there.
  std::string after;
};

struct FindingChange {
  Finding finding;
  bool appeared = false;  ///< Otherwise it went away.
};

struct AnswerChange {
  std::string framework;
  std::string before;  ///< "will use GPU 0 (NVIDIA H200)"; empty when it is not there.
  std::string after;
};

struct Comparison {
  std::vector<FindingChange> findings;
  std::vector<AnswerChange> answers;
  /// By rung; within it versions, then libraries, variables and the rest.
  std::vector<FactChange> facts;
  bool same() const { return findings.empty() && answers.empty() && facts.empty(); }
};

/// One side.
struct Judged {
  Machine machine;
  Diagnosis diagnosis;
};

/// With `all` also what differs between any two looks: free space, the clock, logs, processes.
Comparison compare(const Judged& before, const Judged& after, bool all);

std::string diff_text(const Comparison& comparison, const std::string& before,
                      const std::string& after, bool color, int width);
nlohmann::ordered_json diff_json(const Comparison& comparison);

}  // namespace gpuwright
