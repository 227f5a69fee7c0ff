#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/system.h"

namespace gpuwright::loader {

/// The one way in which this room takes bytes from a file that may lie about itself: by offset,
/// checked against the file's size, through a few cached blocks. What is asked for lies close
/// together (headers at the start, dynamic section and strings in a few places), so an object of a
/// gigabyte costs a handful of reads and a bounded amount of memory.
class FileBytes {
 public:
  explicit FileBytes(const RandomAccessFile& file) : file_(&file) {}

  std::uint64_t size() const { return file_->status().size; }

  /// True when all of [offset, offset + length) lies in the file.
  bool contains(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size() && length <= size() - offset;
  }

  /// Fills `into`; false when a part of it lies outside the file or cannot be read.
  [[nodiscard]] bool copy(std::uint64_t offset, std::span<std::byte> into);

  /// A number or a C struct of numbers. Files of the other byte order never get this far.
  template <class T>
  [[nodiscard]] std::optional<T> value(std::uint64_t offset) {
    static_assert(std::is_trivially_copyable_v<T> && std::endian::native == std::endian::little);
    T result;
    if (!copy(offset, std::as_writable_bytes(std::span(&result, 1)))) return std::nullopt;
    return result;
  }

  /// The text up to a NUL; nothing when none comes within `max_length` bytes or before the end.
  [[nodiscard]] std::optional<std::string> text(std::uint64_t offset, std::size_t max_length);

 private:
  struct Block {
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
  };
  const Block* block(std::uint64_t number);

  const RandomAccessFile* file_;
  std::vector<Block> blocks_;
  std::size_t replace_next_ = 0;
};

}  // namespace gpuwright::loader
