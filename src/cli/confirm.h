#pragma once

#include "base/result.h"
#include "cli/command.h"
#include "machine/machine.h"

namespace gpuwright::cli {

/// `check --run`: fills Machine::run; does nothing without the option. Wrong combinations of
/// options are errors.
[[nodiscard]] Result<void> confirm_machine(const Arguments& arguments, Machine& machine,
                                           Output& output);

}  // namespace gpuwright::cli
