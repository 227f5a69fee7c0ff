#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/finding.h"
#include "diagnose/rule.h"
#include "machine/machine.h"

// What the rules about the driver's libraries share.

namespace gpuwright {

/// "libcuda.so.1 -> /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14 (ld.so.cache)"
Evidence cite_library(const DriverLibrary& library);

/// A library of the driver itself: no stub, no compat copy, not Windows'.
bool is_real(const DriverLibrary& library);

/// Debian's and Ubuntu's packages that hold libcuda.so.1; removing them takes the rest along.
std::vector<std::string> packages_of_libcuda(const Machine& machine);

/// The rule driver.version-mismatch, a file of its own (driver_mismatch.cpp).
Verdict driver_is_of_one_build(const Machine& machine, const Catalog& catalog);

}  // namespace gpuwright
