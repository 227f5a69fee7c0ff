#pragma once

#include <string_view>

namespace gpuwright {

/// One text file compiled into the binary. Tables end with a row whose name is null.
struct EmbeddedFile {
  const char* name;   ///< File name without directory and extension.
  const char* begin;  ///< First byte; the text may hold any byte but is not NUL-terminated data.
  const char* end;    ///< One past the last byte.

  std::string_view text() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

}  // namespace gpuwright
