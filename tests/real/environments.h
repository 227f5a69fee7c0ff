#pragma once

#include <string>
#include <vector>

#include "child.h"

// Virtual environments with real wheels from the package index, made once and used again.
//
//   GPUWRIGHT_TEST_NETWORK   1: those of about 1 GB of downloads together; all: the CUDA extras of
//                            several gigabytes as well; otherwise none
//   GPUWRIGHT_TEST_CACHE     where they are kept; ~/.cache/gpuwright/test-envs when not set

namespace gpuwright::real {

enum class Download {
  kSmall,  ///< GPUWRIGHT_TEST_NETWORK=1 is enough.
  kLarge,  ///< Needs `all`.
};

/// Why an environment is not there: to be given to GTEST_SKIP.
struct Unavailable {
  std::string reason;
};

/// Directory of the environment `name` of the table in environments.cpp, made if need be. Throws
/// Unavailable when the settings above or the Python version leave it out, std::runtime_error when
/// pip fails.
std::string python_environment(const std::string& name);

/// "tensorflow 2.21.0, Python 3.11" of an environment, for the records.
std::string describe(const std::string& environment);

/// A copy of an environment that costs no space: `packages` of site-packages are copied by hard
/// links, so that files in them can be removed and replaced, and all else is linked to the
/// original.
class EnvironmentCopy {
 public:
  explicit EnvironmentCopy(const std::string& environment,
                           const std::vector<std::string>& packages);

  const std::string& path() const { return path_; }
  /// lib/pythonX.Y/site-packages
  const std::string& site_packages() const { return site_packages_; }
  void hide(const std::string& file_in_site_packages) const;

 private:
  ScratchDirectory scratch_;
  std::string path_, site_packages_;
};

std::string site_packages_of(const std::string& environment);

}  // namespace gpuwright::real
