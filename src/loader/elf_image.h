#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "loader/elf.h"
#include "loader/file_bytes.h"

namespace gpuwright::loader {

/// A program header of either class.
struct Segment {
  std::uint32_t type = 0;   ///< PT_LOAD, PT_DYNAMIC, PT_NOTE ...
  std::uint32_t flags = 0;  ///< PF_R, PF_W, PF_X.
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t alignment = 0;
};

/// The frame of an object: verified header, program headers, dynamic section. The parts that only
/// one caller wants (strings, symbols, versions, notes) are read by that caller.
class ElfImage {
 public:
  /// Verifies as the loader of a `host` process does; without a host, any class and machine.
  [[nodiscard]] static tl::expected<ElfImage, ElfError> open(const RandomAccessFile& file,
                                                             const std::optional<Host>& host);

  std::uint8_t elf_class() const { return elf_class_; }
  std::uint16_t machine() const { return machine_; }
  std::uint16_t type() const { return type_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const Segment* segment(std::uint32_t type) const;  ///< The last one, which is ld.so's choice.

  /// Section headers: of no use to the loader, and only trusted for notes that nobody maps.
  std::uint64_t section_table() const { return section_table_; }
  std::uint16_t section_count() const { return section_count_; }

  struct DynamicEntry {
    std::uint64_t tag = 0;
    std::uint64_t value = 0;
  };
  /// Up to DT_NULL; empty when there is no dynamic section.
  const std::vector<DynamicEntry>& dynamic() const { return dynamic_; }
  /// Of the last entry with that tag, which is the one that ld.so uses.
  std::optional<std::uint64_t> dynamic_value(std::uint64_t tag) const;

  /// Where the byte that is mapped at `address` lies in the file.
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
  /// The same for the table whose address a dynamic entry holds.
  std::optional<std::uint64_t> offset_of_table(std::uint64_t tag) const;

  FileBytes& bytes() { return bytes_; }

 private:
  explicit ElfImage(const RandomAccessFile& file) : bytes_(file) {}
  template <class Class>
  bool read_segments();
  template <class Class>
  bool read_dynamic(const Segment& where);

  FileBytes bytes_;
  std::uint8_t elf_class_ = 0;
  std::uint16_t machine_ = 0;
  std::uint16_t type_ = 0;
  std::uint64_t section_table_ = 0;
  std::uint16_t section_count_ = 0;
  std::vector<Segment> segments_;
  std::vector<DynamicEntry> dynamic_;
};

inline tl::unexpected<ElfError> elf_fail(ElfProblem problem, std::string message) {
  return tl::unexpected<ElfError>(ElfError{problem, std::move(message)});
}

/// The x86 instruction set levels that the object demands (.note.gnu.property); 0 for none.
std::uint32_t x86_isa_needed(ElfImage& image);

}  // namespace gpuwright::loader
