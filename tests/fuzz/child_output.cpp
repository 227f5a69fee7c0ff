// What a child process of `check --run` wrote, which may be any text.

#include "confirm/protocol.h"
#include "fuzz/fuzz.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  const Told told = parse_told(text, "M");
  require(told.last_call.size() <= 200, "a call's name is short");
  require(printable(told.last_call) == told.last_call, "it can be shown");
  for (const auto& json : {told.json, text}) {
    use(run_from_json(json));
    use(framework_run_from_json(json));
  }
  return 0;
}
