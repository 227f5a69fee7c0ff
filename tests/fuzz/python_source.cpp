// Literals out of Python source that nobody runs, and the preload lists of torch/__init__.py.

#include "fuzz/fuzz.h"
#include "probe/python_literal.h"
#include "probe/torch_preload.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  use(quoted_at(text));
  for (const auto* name : {"__version__", "cuda"}) use(assigned_value(text, name));
  for (const auto* key : {"cuda_version", "cudnn_version"}) use(keyed_value(text, key));
  use(keyed_list(text, "cuda_compute_capabilities"));
  for (const auto& quoted : quoted_texts(text))
    require(text.find(quoted) != std::string::npos, "a quoted text stands in the source");
  const auto body = function_body(text, "_preload_cuda_deps");
  require(body.size() <= text.size(), "a function is part of its source");
  const auto plan = parse_torch_preload(text);
  for (const auto& list : {plan.after_failure, plan.after_success})
    for (const auto& library : list) require(!library.folder.empty(), "a library has a folder");
  return 0;
}
