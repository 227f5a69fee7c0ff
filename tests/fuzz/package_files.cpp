// The status file and logs of package managers, conda's records.

#include "fuzz/fuzz.h"
#include "probe/driver_history.h"
#include "probe/driver_software.h"
#include "probe/framework.h"
#include "probe/python_distributions.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

void check_events(std::vector<PackageEvent> events, const std::vector<RunTimes>& runs) {
  const std::size_t count = events.size();
  for (const auto& event : events)
    require(is_driver_or_kernel_package(event.package), "only the driver's and kernels are kept");
  mark_unattended(runs, events);
  require(events.size() == count, "marking loses nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  use(parse_driver_packages(text));
  const auto upstream = upstream_version(text);
  require(upstream_version(upstream).size() <= upstream.size(), "a part is not larger");
  const auto runs = parse_unattended_runs(text);
  check_events(parse_dpkg_log(text), runs);
  check_events(parse_dnf_log(text), runs);
  check_events(parse_zypp_history(text), runs);
  check_events(parse_pacman_log(text), runs);
  const auto record = parse_conda_record_name(text);
  if (record) require(!record->name.empty(), "a record has a name");
  use(parse_conda_build(text));
  return 0;
}
