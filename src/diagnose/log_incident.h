#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/events.h"
#include "diagnose/finding.h"
#include "machine/machine.h"

// Error numbers of the kernel's driver (Xid), grouped by GPU: one fault throws several of them
// within seconds. What a number means stands in the catalogue.

namespace gpuwright {

using Events = std::vector<const Event*>;

/// All numbers of one GPU.
struct Incident {
  std::string address;  ///< "0000:52:00"
  Events lines;
  const Event* recovery = nullptr;  ///< The last 154: what the driver itself asks for.
};

/// GPUs with numbers that are not declared over by the driver.
std::vector<Incident> incidents(const Machine& machine);

std::uint64_t code_of(const Event& event);
/// "0000:52:00", or the UUID where Kubernetes' device plugin speaks.
std::string slot_of(const Event& event);

bool is_fatal(const Catalog& catalog, const Event& event);
bool is_of_memory(const Event& event);
/// Place in the catalogue's order of causes: a number that stands earlier explains later ones.
std::size_t rank_of(std::uint64_t code);
/// The highest rank that a number can have, and one more.
std::size_t last_rank();

/// The line that leads among those for which `counts` holds; null when there is none.
template <class Condition>
const Event* leader(const Incident& incident, Condition counts) {
  const Event* best = nullptr;
  for (const auto* line : incident.lines)
    if (counts(*line) && (best == nullptr || rank_of(code_of(*line)) < rank_of(code_of(*best))))
      best = line;
  return best;
}

std::vector<Evidence> evidence_of(const Incident& incident, std::size_t most = 6);
/// What the catalogue knows of a number; of one that it does not, only the number.
Xid xid_of(const Catalog& catalog, std::uint64_t code);
std::string title_of(const Catalog& catalog, std::uint64_t code);

/// What to do: the driver's own wish (154) goes before what the number says in general.
std::string action_of(const Incident& incident, const Xid& xid);
void add_by_action(const std::string& action, const Incident& incident,
                   std::vector<FixStep>& steps);
std::vector<FixStep> recover(const Incident& incident, const Xid& xid);
std::string cause_of(const Incident& incident, const Xid& xid);
FixStep reset_gpu(const std::string& slot);
FixStep support();

/// Fatal errors of NVSwitches.
Events fatal_switch_errors(const Machine& machine);

}  // namespace gpuwright
