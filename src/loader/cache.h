#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loader/loader.h"

namespace gpuwright::loader {

/// /etc/ld.so.cache as the loader asks it. Holds the file's text; rows are looked at in place,
/// since a server's cache has thousands of them and a process asks for a few dozen.
class Cache {
 public:
  /// An error names what is wrong with the bytes.
  [[nodiscard]] static Result<Cache> parse(std::string text);

  /// The path that a process of this `config` takes for `name`; nothing when no row fits. One row
  /// is chosen; whether its file exists is not the cache's business.
  std::optional<std::string> look_up(std::string_view name, const Config& config) const;

  std::size_t size() const { return table_.count; }
  CacheEntry entry(std::size_t index) const;

 private:
  struct Table {
    std::size_t start = 0;     // offset of the first row
    std::size_t row_size = 0;  // 24, or 12 in the old form
    std::size_t count = 0;
    std::size_t strings = 0;  // what string offsets count from
  };
  struct Row {
    std::uint32_t flags = 0;
    std::uint32_t key = 0;
    std::uint32_t value = 0;
    std::uint64_t hwcap = 0;
  };
  Row row(std::size_t index) const;
  std::optional<std::string_view> string_at(std::uint64_t offset) const;
  std::string_view hwcaps_name(std::uint64_t hwcap) const;
  void read_extensions(std::size_t header);
  bool match(std::size_t index, std::string_view name) const;
  std::optional<std::size_t> rank(const Row& row, const Config& config) const;

  std::string text_;
  Table table_;
  std::vector<std::string> hwcaps_;  // names of the extension's table
};

/// Order of the rows: as strcmp, but runs of digits compare as numbers ("so.10" after "so.9").
int compare_library_names(std::string_view a, std::string_view b);

}  // namespace gpuwright::loader
