#pragma once

#include "diagnose/rule.h"

// Files that `import` takes from somewhere else than the environment.

namespace gpuwright {

Verdict user_site_stays_out(const Machine& machine, const Catalog& catalog);
Verdict pythonpath_stays_out(const Machine& machine, const Catalog& catalog);
Verdict modules_are_themselves(const Machine& machine, const Catalog& catalog);

}  // namespace gpuwright
