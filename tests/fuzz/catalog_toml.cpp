// A catalogue of the user's own: TOML in the place of one table.

#include "catalog/catalog.h"
#include "fuzz/fuzz.h"
#include "support/memory_system.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [table, text] = first_line_and_rest(text_of(data, size));
  constexpr const char* kTables[] = {"gpus",       "drivers", "cuda", "cudnn",
                                     "tensorflow", "pytorch", "jax"};
  MemorySystem system;
  for (const auto* name : kTables)
    if (table == name) system.add_file(std::string("/c/") + name + ".toml", text);
  system.add_directory("/c");
  const auto catalog = Catalog::from_directory(system, "/c");
  if (!catalog) {
    require(!catalog.error().text().empty(), "a refusal says why");
    return 0;
  }
  use(catalog->gpu("2335"));
  use(catalog->tensorflow(Version::of("2.20.0")));
  use(catalog->torch(Version::of("2.11.0"), "cu130"));
  use(catalog->cuda_of_driver(Version::of("580.95.05")));
  use(catalog->cudnn(Version::of("9.3")));
  return 0;
}
