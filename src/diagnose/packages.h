#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "diagnose/rule.h"
#include "machine/machine.h"
#include "machine/requirement.h"

// What rules about installed packages share: which copy `import` takes, and what a package's own
// metadata ask for here.

namespace gpuwright {

/// The copy of a package that `import` takes: the first in the order of sys.path. Null when it is
/// not installed.
const Distribution* installed(const Machine& machine, std::string_view name);

/// Its version, where that is one.
std::optional<Version> version_of(const Distribution& distribution);

/// The distribution that owns a framework's directory, and its jaxlib for JAX: the one with the
/// compiled part.
const Distribution* owner_of(const Machine& machine, const Framework& framework);

/// Requirements of `distribution` on `package` whose markers hold on this machine.
std::vector<Requirement> requirements_on(const Machine& machine, const Distribution& distribution,
                                         std::string_view package);

/// The first of them that `version` does not meet.
std::optional<Requirement> unmet(const Machine& machine, const Distribution& distribution,
                                 std::string_view package, const Version& version);

/// "numpy 2.0.2" with the directory that it lies in.
Evidence cite_package(const Distribution& distribution);
/// "tensorflow 2.17.1 asks for numpy<2.0.0,>=1.26.0", from its metadata.
Evidence cite_requirement(const Distribution& distribution, const Requirement& requirement);

/// "3.12" of the interpreter; empty when not known.
std::string python_series(const Machine& machine);

/// The framework is conda's build, whose versions conda's solver has matched.
bool is_conda_build(const Machine& machine, const Framework& framework);

}  // namespace gpuwright
