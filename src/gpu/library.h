#pragma once

#include <initializer_list>
#include <string>

#include "base/result.h"

// Libraries that are opened when the program runs. Only in a child process: a driver's library may
// hang or crash.

namespace gpuwright {

/// A library opened by its path, never closed: the driver's libraries do not survive it reliably.
class LoadedLibrary {
 public:
  /// The error is the dynamic loader's text.
  [[nodiscard]] static Result<LoadedLibrary> open(const std::string& path);

  /// The first of `names` that the library has, newest first; null when it has none. A missing
  /// symbol is data: what it would tell is absent.
  void* find(std::initializer_list<const char*> names) const;

  template <class Function>
  void bind(Function& function, std::initializer_list<const char*> names) const {
    function = reinterpret_cast<Function>(find(names));
  }

 private:
  explicit LoadedLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace gpuwright
