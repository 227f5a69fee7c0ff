// Names and metadata of Python distributions, and requirements in them.

#include "fuzz/fuzz.h"
#include "machine/requirement.h"
#include "probe/python_distributions.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

void check_requirement(const std::string& line) {
  const auto requirement = Requirement::parse(line);
  if (!requirement) return;
  require(normalised_name(requirement->name) == requirement->name, "its name is normalised");
  use(marker_holds(requirement->marker, {"3.12.3", "x86_64"}));
  const auto again = Requirement::parse(requirement->name + requirement->range.text());
  require(again.has_value(), "what was read can be written and read");
  for (const auto* text : {"1.0", "1.26.4", "2.0.0rc1", "2.11.0+cu130"}) {
    const Version version = Version::of(text);
    require(again->range.contains(version) == requirement->range.contains(version),
            "it means the same");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  use(parse_metadata_version(text));
  use(parse_wheel_tag(text));
  for (const auto& line : parse_metadata_head(text).requirements) check_requirement(line);
  const auto first = first_line_and_rest(text).first;
  check_requirement(first);
  const auto distribution = parse_distribution_name(first);
  if (distribution)
    require(normalised_name(distribution->name) == distribution->name, "a name is normalised");
  use(is_gpu_package(first));
  use(marker_holds(text, {"", ""}));
  return 0;
}
