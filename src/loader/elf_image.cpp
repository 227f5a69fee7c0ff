#include "loader/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string_view>

// The ELF header and what it leads to, as glibc's open_verify (elf/dl-load.c) reads them. ld.so has
// one sentence for each thing it dislikes, and the order of its tests decides which of them a user
// sees; a wrong class or machine is not an error there but a reason to look in the next directory.

namespace gpuwright::loader {
namespace {

struct Class32 {
  using Header = Elf32_Ehdr;
  using ProgramHeader = Elf32_Phdr;
  using Dynamic = Elf32_Dyn;
};
struct Class64 {
  using Header = Elf64_Ehdr;
  using ProgramHeader = Elf64_Phdr;
  using Dynamic = Elf64_Dyn;
};

// A real dynamic section has up to some 300 entries; this is 4096 of them.
constexpr std::uint64_t kMaxDynamicBytes = 65536;

// LIBC_ABI_MAX of glibc 2.36 to 2.42 (libc-abis: UNIQUE, IFUNC, ABSOLUTE behind DEFAULT).
constexpr std::uint8_t kAbiVersionEnd = 4;

using Identity = std::array<std::uint8_t, EI_NIDENT>;

ElfError verify_identity(const Identity& id, const std::optional<Host>& host) {
  if (id[EI_MAG0] != ELFMAG0 || id[EI_MAG1] != ELFMAG1 || id[EI_MAG2] != ELFMAG2 ||
      id[EI_MAG3] != ELFMAG3)
    return {ElfProblem::kNotElf, "invalid ELF header"};
  const std::uint8_t elf_class = id[EI_CLASS];
  if (host && elf_class != host->elf_class)
    return {ElfProblem::kWrongClass, elf_class == ELFCLASS64 ? "wrong ELF class: ELFCLASS64"
                                                             : "wrong ELF class: ELFCLASS32"};
  if (elf_class != ELFCLASS32 && elf_class != ELFCLASS64)
    return {ElfProblem::kBadHeader, "neither a 32-bit nor a 64-bit ELF file"};
  if (id[EI_DATA] != ELFDATA2LSB)
    return {ElfProblem::kBadHeader, "ELF file data encoding not little-endian"};
  if (id[EI_VERSION] != EV_CURRENT)
    return {ElfProblem::kBadHeader, "ELF file version ident does not match current one"};
  const std::uint8_t abi = id[EI_OSABI];
  if (abi != ELFOSABI_SYSV && abi != ELFOSABI_GNU)
    return {ElfProblem::kBadHeader, "ELF file OS ABI invalid"};
  const std::uint8_t abi_version = id[EI_ABIVERSION];
  if (abi_version != 0 && (abi != ELFOSABI_GNU || abi_version >= kAbiVersionEnd))
    return {ElfProblem::kBadHeader, "ELF file ABI version invalid"};
  if (std::any_of(id.begin() + EI_PAD, id.end(), [](std::uint8_t byte) { return byte != 0; }))
    return {ElfProblem::kBadHeader, "nonzero padding in e_ident"};
  return {};
}

template <class Header>
ElfError verify_rest(const Header& header, std::size_t program_header_size,
                     const std::optional<Host>& host) {
  if (header.e_version != EV_CURRENT)
    return {ElfProblem::kBadHeader, "ELF file version does not match current one"};
  if (host && header.e_machine != host->machine)
    return {ElfProblem::kWrongMachine, "built for another machine"};
  if (header.e_type != ET_DYN && header.e_type != ET_EXEC)
    return {ElfProblem::kBadHeader, "only ET_DYN and ET_EXEC can be loaded"};
  if (header.e_phentsize != program_header_size)
    return {ElfProblem::kBadHeader, "ELF file's phentsize not the expected size"};
  return {};
}

}  // namespace

template <class Class>
bool ElfImage::read_segments() {
  const auto header = bytes_.value<typename Class::Header>(0);
  if (!header) return false;
  std::vector<typename Class::ProgramHeader> table(header->e_phnum);
  if (!bytes_.copy(header->e_phoff, std::as_writable_bytes(std::span(table)))) return false;
  for (const auto& row : table)
    segments_.push_back({row.p_type, row.p_flags, row.p_offset, row.p_vaddr, row.p_filesz,
                         row.p_memsz, row.p_align});
  return true;
}

template <class Class>
bool ElfImage::read_dynamic(const Segment& where) {
  if (where.file_size == 0) return true;  // a separate debug file: "no dynamic section"
  const auto start = offset_of(where.address);
  if (!start || where.file_size > kMaxDynamicBytes) return false;
  std::vector<typename Class::Dynamic> table(where.file_size / sizeof(typename Class::Dynamic));
  if (!bytes_.copy(*start, std::as_writable_bytes(std::span(table)))) return false;
  for (const auto& row : table) {
    if (row.d_tag == DT_NULL) break;
    // 32-bit tags are signed in the type and unsigned in meaning (DT_GNU_HASH is 0x6ffffef5).
    const auto tag = static_cast<std::make_unsigned_t<decltype(row.d_tag)>>(row.d_tag);
    dynamic_.push_back({tag, row.d_un.d_val});
  }
  return true;
}

tl::expected<ElfImage, ElfError> ElfImage::open(const RandomAccessFile& file,
                                                const std::optional<Host>& host) {
  ElfImage image(file);
  const auto id = image.bytes_.value<Identity>(0);
  const bool is64 = id ? (host ? host->elf_class : (*id)[EI_CLASS]) == ELFCLASS64 : true;
  const std::size_t header_size = is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
  if (!id || !image.bytes_.contains(0, header_size))
    return elf_fail(ElfProblem::kTooShort, "file too short");
  if (auto error = verify_identity(*id, host); error.problem != ElfProblem::kNone)
    return tl::unexpected(std::move(error));

  const auto take = [&]<class Class>(Class) -> ElfError {
    const auto header = image.bytes_.value<typename Class::Header>(0);
    if (!header) return {ElfProblem::kUnreadable, "cannot read file data"};
    auto error = verify_rest(*header, sizeof(typename Class::ProgramHeader), host);
    if (error.problem != ElfProblem::kNone) return error;
    image.elf_class_ = (*id)[EI_CLASS];
    image.machine_ = header->e_machine;
    image.type_ = header->e_type;
    image.section_table_ = header->e_shoff;
    image.section_count_ = header->e_shnum;
    if (!image.template read_segments<Class>())
      return {ElfProblem::kTruncated, "cannot read file data"};
    const Segment* dynamic = image.segment(PT_DYNAMIC);
    if (dynamic != nullptr && !image.template read_dynamic<Class>(*dynamic))
      return {ElfProblem::kTruncated, "its dynamic section lies outside the file"};
    return {};
  };
  auto error = is64 ? take(Class64{}) : take(Class32{});
  if (error.problem != ElfProblem::kNone) return tl::unexpected(std::move(error));
  return image;
}

const Segment* ElfImage::segment(std::uint32_t type) const {
  const auto found = std::find_if(segments_.rbegin(), segments_.rend(),
                                  [&](const Segment& row) { return row.type == type; });
  return found == segments_.rend() ? nullptr : &*found;
}

std::optional<std::uint64_t> ElfImage::dynamic_value(std::uint64_t tag) const {
  const auto found = std::find_if(dynamic_.rbegin(), dynamic_.rend(),
                                  [&](const DynamicEntry& row) { return row.tag == tag; });
  if (found == dynamic_.rend()) return std::nullopt;
  return found->value;
}

std::optional<std::uint64_t> ElfImage::offset_of(std::uint64_t address) const {
  for (const auto& row : segments_) {
    if (row.type != PT_LOAD || address < row.address || address - row.address >= row.file_size)
      continue;
    const std::uint64_t within = address - row.address;
    if (bytes_.contains(row.offset, within)) return row.offset + within;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ElfImage::offset_of_table(std::uint64_t tag) const {
  const auto address = dynamic_value(tag);
  return address ? offset_of(*address) : std::nullopt;
}

}  // namespace gpuwright::loader
