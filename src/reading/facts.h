#pragma once

#include "machine/machine.h"

namespace gpuwright {

/// Fills the facts that the machine's events tell. What they do not tell stays "not looked at".
void fill_facts(Machine& machine);

}  // namespace gpuwright
