#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diagnose/rule.h"

namespace gpuwright {

/// What the loader says when a library is older than an object asks for:
/// "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /env/x.so)".
struct MissingSymbolVersion {
  std::string file;     ///< The library that is too old.
  std::string prefix;   ///< "GLIBC_", "GLIBCXX_", "CXXABI_"
  std::string version;  ///< "2.34"
};
std::optional<MissingSymbolVersion> parse_missing_version(std::string_view error);

Verdict import_works(const Machine& machine, const Catalog& catalog);

}  // namespace gpuwright
