#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/system.h"
#include "base/text.h"

// What the entries share. An entry takes any bytes, gives them to the parsers of one format, and
// checks what must hold whatever they are. It fails by ending the process, as libFuzzer wants it.

/// The entry; each file here defines it. In the replay program it bears the file's name instead.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gpuwright::fuzz {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string() : std::string(reinterpret_cast<const char*>(data), size);
}

/// A property that holds for every input.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "property does not hold: %s\n", property);
  std::abort();
}

/// What an entry computes goes here, so that no parser is optimised away.
template <class T>
void use(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// The first line, and what follows it: two inputs out of one.
inline std::pair<std::string, std::string> first_line_and_rest(const std::string& text) {
  const auto end = text.find('\n');
  if (end == std::string::npos) return {text, ""};
  return {text.substr(0, end), text.substr(end + 1)};
}

/// A file that holds these bytes.
class Bytes : public RandomAccessFile {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {
    status_.kind = FileKind::kRegular;
    status_.size = bytes_.size();
  }
  const FileStatus& status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const auto count = std::min<std::size_t>(into.size(), bytes_.size() - offset);
    std::memcpy(into.data(), bytes_.data() + offset, count);
    return count;
  }

 private:
  std::string bytes_;
  FileStatus status_;
};

}  // namespace gpuwright::fuzz
