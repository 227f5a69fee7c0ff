#pragma once

#include <functional>
#include <string>

#include "diagnose/finding.h"
#include "machine/machine.h"

// What the package manager's log tells: when, and by whom, a part of the driver or the kernel was
// exchanged. It turns "it worked yesterday" into a sentence.

namespace gpuwright {

/// The newest event for which `is` holds; null when there is none or no log is known.
const PackageEvent* newest_event(const Machine& machine,
                                 const std::function<bool(const PackageEvent&)>& is);

/// The event that brought this kernel; null when the log does not tell.
const PackageEvent* arrival_of_kernel(const Machine& machine, const std::string& release);

/// "on 2026-11-20 06:12:33 an unattended upgrade replaced libcuda1 550.54.14-1 by 550.54.15-1"
std::string told(const PackageEvent& event);

/// The same as evidence, with the log it stands in.
Evidence cite_event(const PackageEvent& event);

}  // namespace gpuwright
