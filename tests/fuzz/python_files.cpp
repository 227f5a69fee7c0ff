// Files that tell where Python looks: .pth, pyvenv.cfg, site.py, shims, scripts, kernels.

#include "fuzz/fuzz.h"
#include "probe/python_environments.h"
#include "probe/python_kernels.h"
#include "probe/python_launchers.h"
#include "probe/python_layout.h"
#include "probe/python_path.h"
#include "probe/python_shim.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  for (const auto& path : parse_pth(text).paths)
    require(!path.empty() && text.find(path) != std::string::npos, "a path stands in its file");
  use(parse_site_rules(text));
  const auto config = parse_pyvenv_cfg(text);
  require(config.home.find('\n') == std::string::npos, "a value ends with its line");
  use(parse_shim(text));
  use(parse_pyenv_version_file(text));
  use(parse_tool_versions(text));
  use(parse_patchlevel(text));
  const auto series = parse_python_series(text);
  require(text.find(series) != std::string::npos, "a series stands in the name");
  use(standard_library_zip(series));
  use(parse_script_interpreter(text));
  const auto path = absolute_path("/here", text);
  require(path.starts_with('/') && absolute_path("/there", path) == path,
          "an absolute path stays one");
  use(parse_kernelspec(text));
  use(parse_kernel_spec(text));
  return 0;
}
