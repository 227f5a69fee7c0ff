#pragma once

#include <string>

#include "catalog/catalog.h"
#include "diagnose/diagnose.h"
#include "machine/machine.h"

namespace gpuwright {

/// How the diagnosis ends: problems when an error was found or a rung does not work; undecided when
/// there is none and something that decides is unknown; right otherwise.
Outcome outcome_of(const Diagnosis& diagnosis);

/// The first line of a report: "All right: torch 2.11.0 will use 1 GPU (NVIDIA H200).",
/// "Broken at driver: ...", "No NVIDIA GPU is visible on this machine.", "Cannot tell: ...".
std::string verdict_of(const Machine& machine, const Catalog& catalog, const Diagnosis& diagnosis);

}  // namespace gpuwright
