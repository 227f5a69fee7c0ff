#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/diagnose.h"
#include "machine/machine.h"

// Many machines at once: what is wrong with how many of them, and which ones are not like the rest.

namespace gpuwright {

/// What is kept of a machine once it is judged; some hundred bytes, where a Machine has many KB.
struct MachineDigest {
  struct Seen {
    std::string id;
    Severity severity = Severity::kError;
    std::string statement;  ///< As this machine's report would say it.
  };
  std::string name;
  Outcome outcome = Outcome::kUndecided;
  std::vector<Seen> findings;                           ///< Each id once, at its worst.
  std::vector<std::string> undecided;                   ///< Ids of rules that lacked a fact.
  std::vector<std::pair<std::string, Answer>> answers;  ///< By framework.
  std::vector<std::string> values;  ///< By fleet_fields(); empty where it is not known.
};

/// What machines are compared by: "driver", "kernel", "GPU model", "torch".
const std::vector<std::string>& fleet_fields();

MachineDigest digest_of(std::string name, const Machine& machine, const Catalog& catalog,
                        const Diagnosis& diagnosis);

struct UnreadableFile {
  std::string file;
  std::string reason;
};

/// Machines that share a finding, or a rule that could not be decided.
struct FleetGroup {
  std::string id;
  Severity severity = Severity::kInfo;  ///< The worst of all.
  std::string statement;                ///< Of the first machine at that severity.
  std::vector<std::string> machines;
};

/// A value of one field, and who has it.
struct FleetValue {
  std::string value;
  std::vector<std::string> machines;
};

/// A field on which a clear majority agrees and some do not.
struct FleetOutliers {
  std::string field;
  std::string majority;
  std::size_t count = 0;           ///< Machines with that value.
  std::size_t known = 0;           ///< Machines whose value is known.
  std::vector<FleetValue> others;  ///< The most frequent first.
};

struct FleetAnswers {
  std::string framework;
  std::size_t uses = 0;
  std::size_t does_not = 0;
  std::size_t cannot_tell = 0;
};

struct Fleet {
  std::size_t right = 0;
  std::size_t problems = 0;
  std::size_t undecided = 0;
  std::vector<FleetGroup> findings;     ///< Worst first, then the most frequent.
  std::vector<FleetGroup> unknowns;     ///< Rules that were not decided; the most frequent first.
  std::vector<FleetAnswers> answers;    ///< By name of the framework.
  std::vector<FleetOutliers> outliers;  ///< In the order of fleet_fields().
  std::vector<UnreadableFile> unreadable;

  std::size_t machines() const { return right + problems + undecided; }
  /// A file that could not be read is a machine that could not be judged.
  Outcome outcome() const;
};

/// Pure: the order of the digests decides which machines are named first, and nothing else.
Fleet summarise(const std::vector<MachineDigest>& digests, std::vector<UnreadableFile> unreadable);

/// The line that begins every form: "9,800 machines: 9,700 right, 90 with problems, ...".
std::string fleet_verdict(const Fleet& fleet);

/// How a fleet is shown.
struct FleetStyle {
  bool color = false;
  int width = 100;     ///< Columns; 0 for no wrapping.
  bool all = false;    ///< Names every machine instead of the first few.
  bool quiet = false;  ///< The verdict alone.
};

std::string fleet_text(const Fleet& fleet, const FleetStyle& style);
std::string fleet_markdown(const Fleet& fleet, bool all);
/// docs/schema/fleet.schema.json describes it.
nlohmann::ordered_json fleet_json(const Fleet& fleet, bool all);

}  // namespace gpuwright
