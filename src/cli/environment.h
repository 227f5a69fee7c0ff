#pragma once

#include <memory>

#include "base/system.h"
#include "cli/open.h"

namespace gpuwright::cli {

/// Puts the view of another process before `system` when the options name one, and tells of whom it
/// is and what Python it starts.
[[nodiscard]] Result<std::shared_ptr<const System>> apply_environment(
    std::shared_ptr<const System> system, MachineOptions& options);

}  // namespace gpuwright::cli
