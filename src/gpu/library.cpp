#include "gpu/library.h"

#include <dlfcn.h>

namespace gpuwright {

Result<LoadedLibrary> LoadedLibrary::open(const std::string& path) {
  // A name without a slash would be searched for, and what was found is what is to be judged.
  if (path.find('/') == std::string::npos) return fail("is no path", path);
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return LoadedLibrary(handle);
  const char* text = ::dlerror();
  return fail(text == nullptr ? "dlopen failed" : text);
}

void* LoadedLibrary::find(std::initializer_list<const char*> names) const {
  for (const char* name : names)
    if (void* symbol = ::dlsym(handle_, name); symbol != nullptr) return symbol;
  return nullptr;
}

}  // namespace gpuwright
