// Versions and ranges of them.

#include "base/version.h"

#include "base/version_range.h"
#include "fuzz/fuzz.h"
#include "probe/cuda_toolkits.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  use(parse_version_json(text));
  use(parse_version_txt(text));
  use(parse_version_macro(text));
  use(version_of_runtime_name(text));
  const auto [one, two] = first_line_and_rest(text);
  const auto a = Version::parse(one);
  const auto b = Version::parse(two);
  const auto range = VersionRange::parse(two);
  if (a) {
    require(a->text() == one, "a version keeps its text");
    require(*a == *Version::parse(a->text()), "it is read as what was written");
    require(a->same_series(*a, 3), "it is of its own series");
  }
  if (a && b) {
    const int orders = (*a < *b) + (*b < *a) + (*a == *b);
    require(orders == 1, "one of less, equal and more holds");
  }
  if (a && range) {
    const auto again = VersionRange::parse(range->text());
    require(again && again->contains(*a) == range->contains(*a), "a range keeps its meaning");
    if (range->accepts_all()) require(range->contains(*a), "all is all");
  }
  return 0;
}
