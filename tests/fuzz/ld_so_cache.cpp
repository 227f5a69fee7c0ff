// /etc/ld.so.cache.

#include "fuzz/fuzz.h"
#include "loader/cache.h"

using namespace gpuwright;          // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;    // NOLINT(google-build-using-namespace)
using namespace gpuwright::loader;  // NOLINT(google-build-using-namespace)

namespace {

// That a row of that name and path is there.
bool has_row(const Cache& cache, std::string_view name, const std::string& path) {
  for (std::size_t i = 0; i < cache.size(); ++i) {
    const CacheEntry entry = cache.entry(i);
    if (entry.path == path && compare_library_names(entry.name, name) == 0) return true;
  }
  return false;
}

void check_look_up(const Cache& cache, std::string_view name, const Config& config) {
  const auto path = cache.look_up(name, config);
  if (path) require(has_row(cache, name, *path), "an answer is a row of the cache");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto cache = Cache::parse(text_of(data, size));
  if (!cache) return 0;
  require(cache->size() <= size, "a row takes room in the file");
  Config config;
  config.glibc = Version::of(size % 2 == 0 ? "2.36" : "2.31");
  config.cpu_levels = {"x86-64-v3", "x86-64-v2"};
  config.hwcaps = {"haswell", "tls"};
  for (std::size_t i = 0; i < cache->size() && i < 64; ++i)
    check_look_up(*cache, cache->entry(i).name, config);
  check_look_up(*cache, "libcudnn.so.9", config);
  require(compare_library_names("libx.so.9", "libx.so.10") < 0, "numbers count as numbers");
  return 0;
}
