// CUDA_VISIBLE_DEVICES.

#include "diagnose/visible_devices.h"

#include <set>

#include "fuzz/fuzz.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string value = text_of(data, size);
  const std::vector<NamedGpu> gpus = {{"GPU-11111111-2222-3333-4444-555555555555"},
                                      {"GPU-1111aaaa-2222-3333-4444-555555555555"},
                                      {""}};
  using State = VisibleDevices::State;
  for (const bool known : {true, false}) {
    const auto visible = visible_devices(value, gpus, known);
    const std::set<std::size_t> once(visible.gpus.begin(), visible.gpus.end());
    require(once.size() == visible.gpus.size(), "a GPU comes once");
    require(once.empty() || *once.rbegin() < gpus.size(), "a GPU is one of the list");
    require(visible.state != State::kAll, "a value leaves a choice");
    require((visible.state == State::kSome) == !visible.gpus.empty(), "some are some");
    require(visible.state == State::kSome || !visible.reason.empty(), "none has a reason");
  }
  require(visible_devices(std::nullopt, gpus, true).state == State::kAll, "no value hides nothing");
  return 0;
}
