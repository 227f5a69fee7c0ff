#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuwright {

/// Finds many fixed texts in one pass over a block of memory, upper and lower case alike.
class Scanner {
 public:
  virtual ~Scanner() = default;
  /// Calls `hit(index of the text, offset of its last byte)` for every occurrence, in order of the
  /// offset.
  virtual void scan(std::string_view block,
                    const std::function<void(std::uint32_t, std::size_t)>& hit) = 0;
};

/// Hyperscan where the processor and the build have it, else a plain search. Texts must not be
/// empty.
std::unique_ptr<Scanner> make_scanner(const std::vector<std::string>& texts);

/// The plain search, for tests and for processors that Hyperscan does not know.
std::unique_ptr<Scanner> make_plain_scanner(const std::vector<std::string>& texts);

}  // namespace gpuwright
