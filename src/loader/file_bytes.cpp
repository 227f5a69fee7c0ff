#include "loader/file_bytes.h"

#include <algorithm>

namespace gpuwright::loader {
namespace {

// Two pages: the first block then holds ELF header, program headers and usually the notes. Measured
// on CUDA's and TensorFlow's libraries, 4 KiB gives more calls and 16 KiB only more bytes.
constexpr std::size_t kBlockSize = 8192;

// Enough that walking version records and their strings does not push each other out.
constexpr std::size_t kMaxBlocks = 32;

}  // namespace

const FileBytes::Block* FileBytes::block(std::uint64_t number) {
  for (const auto& known : blocks_)
    if (known.number == number) return &known;
  Block fresh{number, std::vector<std::byte>(kBlockSize)};
  const auto got = file_->read_at(number * kBlockSize, fresh.bytes);
  if (!got) return nullptr;
  fresh.bytes.resize(*got);
  if (blocks_.size() < kMaxBlocks) {
    blocks_.push_back(std::move(fresh));
    return &blocks_.back();
  }
  Block& place = blocks_[replace_next_++ % kMaxBlocks];
  place = std::move(fresh);
  return &place;
}

bool FileBytes::copy(std::uint64_t offset, std::span<std::byte> into) {
  if (!contains(offset, into.size())) return false;
  while (!into.empty()) {
    const Block* source = block(offset / kBlockSize);
    const std::size_t start = offset % kBlockSize;
    // Shorter than its size said: the file was cut while we read.
    if (source == nullptr || source->bytes.size() <= start) return false;
    const auto count = std::min(into.size(), source->bytes.size() - start);
    std::memcpy(into.data(), source->bytes.data() + start, count);
    into = into.subspan(count);
    offset += count;
  }
  return true;
}

std::optional<std::string> FileBytes::text(std::uint64_t offset, std::size_t max_length) {
  std::string result;
  while (contains(offset, 1) && result.size() <= max_length) {
    const Block* source = block(offset / kBlockSize);
    const std::size_t start = offset % kBlockSize;
    if (source == nullptr || source->bytes.size() <= start) return std::nullopt;
    const auto* begin = reinterpret_cast<const char*>(source->bytes.data()) + start;
    const std::size_t length = source->bytes.size() - start;
    const auto* end = static_cast<const char*>(std::memchr(begin, '\0', length));
    result.append(begin, end != nullptr ? static_cast<std::size_t>(end - begin) : length);
    if (end != nullptr && result.size() <= max_length) return result;
    offset += length;
  }
  return std::nullopt;
}

}  // namespace gpuwright::loader
