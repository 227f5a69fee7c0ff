#pragma once

#include <optional>
#include <set>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/diagnose.h"
#include "machine/machine.h"

// The state of each rung, from what the rules found, and one line on what is there.

namespace gpuwright {

/// True when work on `upper` needs `lower`: the chain from the host to the framework. Libraries and
/// Python environments are files, which are what they are on any machine.
bool depends_on(Rung upper, Rung lower);

/// The lowest rung on which an error lies; nothing when there is none.
std::optional<Rung> lowest_broken(const std::vector<Finding>& findings);

/// A rung whose probe was cut off is undecided, whatever the rules make of what it left empty.
void doubt_what_was_cut_off(const Machine& machine, Diagnosis& diagnosis);

/// All rungs, lowest first. `only` leaves out all others, unless it is empty.
std::vector<RungResult> climb(const Machine& machine, const Catalog& catalog,
                              const Diagnosis& diagnosis, const std::set<Rung>& only);

}  // namespace gpuwright
