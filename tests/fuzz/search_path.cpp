// Texts that steer the loader: LD_LIBRARY_PATH, LD_PRELOAD and its file, $ORIGIN and its like, the
// bytes of ld.so itself.

#include "fuzz/fuzz.h"
#include "loader/config_parts.h"
#include "loader/tokens.h"
#include "probe/cuda.h"

using namespace gpuwright;          // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;    // NOLINT(google-build-using-namespace)
using namespace gpuwright::loader;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  std::string joined;
  for (const auto& element : split_search_path(text)) joined += element + ":";
  require(joined.size() == text.size() + 1, "a search path loses nothing");
  for (const auto& name : parse_preload(text))
    require(!name.empty(), "a preloaded library has a name");
  for (const auto& name : parse_preload_variable(text, true))
    require(name.find('/') == std::string::npos, "a secure process takes bare names only");
  use(parse_preload_file(text));
  use(parse_system_directories(text));
  use(parse_glibc_release(text));
  use(lib_token_of(text));
  const std::vector<std::string> trusted = {"/lib64", "/usr/lib64"};
  for (const bool secure : {false, true}) {
    const Tokens tokens{"/opt/x", "lib64", "x86_64", secure, false, &trusted};
    const auto expanded = expand_tokens(text, tokens);
    if (!has_tokens(text)) require(expanded == text, "a text without tokens stays as it is");
  }
  return 0;
}
