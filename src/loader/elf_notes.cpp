#include <elf.h>

#include <functional>

#include "loader/elf_image.h"

// ELF notes: records of owner name, type and payload, each padded to the segment's alignment (gABI,
// "Note Section"). Two of them matter here: the GNU property note, which carries the x86
// instruction set level, and the note by which NVIDIA's cuda-compat libcuda says which drivers it
// runs on.

namespace gpuwright::loader {
namespace {

// Property notes and build ids are some hundred bytes; NVIDIA's JSON a few hundred.
constexpr std::uint64_t kMaxNoteBytes = 65536;

constexpr std::uint32_t kGnuPropertyType = 5;         // NT_GNU_PROPERTY_TYPE_0
constexpr std::uint32_t kX86Isa1Needed = 0xc0008002;  // GNU_PROPERTY_X86_ISA_1_NEEDED
constexpr std::string_view kNvidiaOwner = "NVIDIA Corporation";

struct Note {
  std::string_view owner;  // without its NUL
  std::uint32_t type = 0;
  std::string_view payload;
};

std::string_view without_nuls(std::string_view text) {
  const auto last = text.find_last_not_of('\0');
  return last == std::string_view::npos ? std::string_view{} : text.substr(0, last + 1);
}

/// Calls `visit` for each note in `text` until it returns true.
void for_each_note(std::string_view text, std::uint64_t alignment,
                   const std::function<bool(const Note&)>& visit) {
  const std::uint64_t unit = alignment == 8 ? 8 : 4;
  const auto padded = [&](std::uint64_t size) { return (size + unit - 1) / unit * unit; };
  while (text.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;
    std::memcpy(&header, text.data(), sizeof header);
    text.remove_prefix(sizeof header);
    // The payload is aligned counting from the record's start, header (12 bytes) included.
    const std::uint64_t payload_at = padded(sizeof header + header.n_namesz) - sizeof header;
    if (payload_at > text.size() || header.n_descsz > text.size() - payload_at) return;
    if (visit({without_nuls(text.substr(0, header.n_namesz)), header.n_type,
               text.substr(payload_at, header.n_descsz)}))
      return;
    const std::uint64_t next = payload_at + padded(header.n_descsz);
    if (next >= text.size()) return;
    text.remove_prefix(next);
  }
}

std::string range(ElfImage& image, std::uint64_t offset, std::uint64_t size) {
  if (size > kMaxNoteBytes || !image.bytes().contains(offset, size)) return {};
  std::string text(size, '\0');
  if (!image.bytes().copy(offset, std::as_writable_bytes(std::span(text)))) return {};
  return text;
}

// Properties: {type, size, payload padded to the word size}, in ascending order of type.
std::uint32_t isa_in_properties(std::string_view text, std::size_t word_size) {
  while (text.size() >= 8) {
    std::uint32_t head[2];
    std::memcpy(head, text.data(), sizeof head);
    text.remove_prefix(sizeof head);
    if (head[1] > text.size()) return 0;
    if (head[0] == kX86Isa1Needed) {
      std::uint32_t bits = 0;
      if (head[1] == sizeof bits) std::memcpy(&bits, text.data(), sizeof bits);
      return bits;
    }
    text.remove_prefix(std::min(text.size(), (head[1] + word_size - 1) / word_size * word_size));
  }
  return 0;
}

std::string nvidia_payload(std::string_view notes, std::uint64_t alignment) {
  std::string found;
  for_each_note(notes, alignment, [&](const Note& note) {
    if (note.owner != kNvidiaOwner) return false;
    found = without_nuls(note.payload);
    return true;
  });
  return found;
}

template <class Row>
std::string nvidia_payload_in_sections(ElfImage& image) {
  for (std::uint64_t i = 0; i < image.section_count(); ++i) {
    const auto row = image.bytes().value<Row>(image.section_table() + i * sizeof(Row));
    if (!row) return {};
    if (row->sh_type != SHT_NOTE) continue;
    auto found = nvidia_payload(range(image, row->sh_offset, row->sh_size), row->sh_addralign);
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace

std::uint32_t x86_isa_needed(ElfImage& image) {
  if (image.machine() != EM_X86_64 && image.machine() != EM_386) return 0;
  const std::uint64_t word_size = image.elf_class() == ELFCLASS64 ? 8 : 4;
  std::uint32_t bits = 0;
  for (const auto& segment : image.segments()) {
    // ld.so ignores property notes of another alignment, which old linkers wrote.
    if (segment.type != PT_NOTE || segment.alignment != word_size) continue;
    for_each_note(range(image, segment.offset, segment.file_size), word_size,
                  [&](const Note& note) {
                    if (note.type != kGnuPropertyType || note.owner != "GNU") return false;
                    bits = isa_in_properties(note.payload, word_size);
                    return true;
                  });
    if (bits != 0) break;
  }
  return bits;
}

// The container toolkit finds the note by its section's name, ".note.cuda.fwd_compatibility". We
// look in the mapped notes first, and in the section table for a note that is not mapped; the owner
// tells it from others in both.
std::optional<std::string> forward_compatibility_note(const RandomAccessFile& file) {
  auto image = ElfImage::open(file, std::nullopt);
  if (!image) return std::nullopt;
  for (const auto& segment : image->segments()) {
    if (segment.type != PT_NOTE) continue;
    auto found =
        nvidia_payload(range(*image, segment.offset, segment.file_size), segment.alignment);
    if (!found.empty()) return found;
  }
  auto found = image->elf_class() == ELFCLASS64 ? nvidia_payload_in_sections<Elf64_Shdr>(*image)
                                                : nvidia_payload_in_sections<Elf32_Shdr>(*image);
  if (found.empty()) return std::nullopt;
  return found;
}

}  // namespace gpuwright::loader
