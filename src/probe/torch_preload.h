#pragma once

#include <string>
#include <string_view>
#include <vector>

// Which libraries `import torch` maps by absolute path before its extension module asks for them.
// The list changed in nearly every release and stands as text in torch/__init__.py, so the text
// decides and no table of releases does:
//   <= 2.5   after success nothing; after a failure a list, then the second try
//   2.6-2.9  after success two or three libraries as well
//   2.10     after success the whole list; the first library without a wheel ends it
//   2.14     after success the whole list, gaps passed over

namespace gpuwright {

/// One library of a list.
struct TorchPreload {
  std::string folder;    ///< "cublas"
  std::string pattern;   ///< "libcublas.so.*[0-9]"
  bool required = true;  ///< A library without a wheel ends the list.
  friend bool operator==(const TorchPreload&, const TorchPreload&) = default;
};

struct TorchPreloadPlan {
  /// After libtorch_global_deps.so failed with an error that names one of these; then it is tried
  /// once more. A required library without a wheel fails the import.
  std::vector<TorchPreload> after_failure;
  /// After it loaded; errors end the list and are passed over.
  std::vector<TorchPreload> after_success;
  /// Text that /proc/self/maps must hold for `after_success`.
  std::string success_needs;
  /// Directories below each entry of sys.path, in order; %F is the folder, %M the CUDA major.
  std::vector<std::string> places;
};

/// Reads torch/__init__.py. What is not recognised gives empty lists.
TorchPreloadPlan parse_torch_preload(std::string_view source);

}  // namespace gpuwright
