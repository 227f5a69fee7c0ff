#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"
#include "machine/requirement.h"

namespace gpuwright {

/// Name and version of "nvidia_cudnn_cu12-9.3.0.75.dist-info", "six-1.16.0-py3.8.egg-info" or
/// "numpy-1.16.0-py3.6-linux-x86_64.egg"; the version is empty where the name lacks it, the
/// location always. Nothing for any other name.
std::optional<Distribution> parse_distribution_name(std::string_view entry);

/// Name and version of "cuda-cudart-12.6.77-h5888daf_0.json" in conda-meta.
std::optional<Distribution> parse_conda_record_name(std::string_view entry);

/// The value of "Version:" in the head of a METADATA or PKG-INFO; empty when it is not there.
std::string parse_metadata_version(std::string_view text);

/// What the head of a METADATA says about what a package wants around it.
struct MetadataHead {
  std::vector<std::string> requirements;  ///< Requires-Dist without those of extras.
  std::string requires_python;
};
MetadataHead parse_metadata_head(std::string_view text);

/// The first "Tag:" of a WHEEL file; empty when it has none.
std::string parse_wheel_tag(std::string_view text);

/// The frameworks and the packages that go with them: those whose metadata are read.
bool is_gpu_package(std::string_view name);

/// Reads requirements, requires_python and tag of the GPU packages among `distributions`.
void read_metadata(const System& system, std::vector<Distribution>& distributions);

/// The distributions whose metadata lie directly in `directory`.
std::vector<Distribution> distributions_in(const System& system, const std::string& directory);

/// Those of all entries, in the order in which an import would meet them; a name that comes again
/// further back stays in the list. A directory that has two names (lib64 -> lib) is read once.
std::vector<Distribution> find_distributions(const System& system,
                                             const std::vector<SysPathEntry>& search_path);

/// The conda packages of `prefix` that `already` does not hold under the same name: libraries,
/// tools, and Python packages without metadata of their own. Located in conda-meta.
std::vector<Distribution> find_conda_packages(const System& system, const std::string& prefix,
                                              const std::vector<Distribution>& already);

}  // namespace gpuwright
