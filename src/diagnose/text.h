#pragma once

#include "diagnose/diagnose.h"
#include "machine/machine.h"

namespace gpuwright {

/// Ends the diagnosis of a machine that is known from a text alone: outcome and first line. Only
/// what rules about lines left open stays open; that a text tells no kernel version is no question.
Diagnosis finish_text(const Machine& machine, Diagnosis diagnosis);

}  // namespace gpuwright
