#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/tables.h"

// Reads one file of catalog/*.toml into rows. This is the only place that knows toml++, which is
// slow to compile and takes 14 ms for the files that one check needs: the program runs it only for
// a replaced catalogue, the build runs it for the built-in one.

namespace gpuwright::catalog {

/// Rows and the texts that they point to. Rows stay valid for as long as the store lives and is
/// not copied; moving it keeps them valid, because deques do not move what they hold.
struct TableStore {
  TableRows rows;
  std::deque<std::string> texts;
  std::deque<std::vector<std::string_view>> lists;

  TableStore() = default;
  TableStore(TableStore&&) = default;
  TableStore& operator=(TableStore&&) = default;
};

/// "gpus" for "facts/gpus.toml"; empty for a file of another kind.
std::string_view table_name(std::string_view path);

/// Adds the rows of `text`, which is that of the file at `path`, to the store. Files without typed
/// tables ("xid.toml") are only checked. An error names file and line: "facts/gpus.toml:12: ...".
[[nodiscard]] Result<void> read_toml(const std::string& path, std::string_view text,
                                     TableStore& store);

}  // namespace gpuwright::catalog
