#pragma once

#include "diagnose/rule.h"

// Versions of packages that a framework imports or that go with it. Metadata alone are no proof: a
// framework works with many versions that pip complains about. These rules know which break it.

namespace gpuwright {

Verdict numpy_fits(const Machine& machine, const Catalog& catalog);
Verdict dependencies_fit(const Machine& machine, const Catalog& catalog);
Verdict keras_fits(const Machine& machine, const Catalog& catalog);
Verdict companions_fit(const Machine& machine, const Catalog& catalog);

}  // namespace gpuwright
