#include "loader/fatbin.h"

#include <elf.h>

#include <array>
#include <cstring>
#include <map>
#include <set>

// The section .nv_fatbin, written by nvcc's fatbinary tool. It is a sequence of fat binaries, each
// a header of 16 bytes (magic 0xba55ed50, u16 version 1, u16 header size, u64 size of what follows)
// and entries of code: u16 kind (1 PTX, 2 machine code), u16 version, u32 header size, u64 payload
// size, ..., u32 target at byte 28 (90 for sm_90). Known from cuobjdump's output on our own test
// objects; NVIDIA does not specify it. Between fat binaries lies padding to 8 bytes.

namespace gpuwright::loader {
namespace {

constexpr std::uint32_t kFatMagic = 0xba55ed50;
constexpr std::uint16_t kPtx = 1;
constexpr std::uint16_t kMachineCode = 2;

template <class T>
bool read_struct(const RandomAccessFile& file, std::uint64_t offset, T& into) {
  const auto got = file.read_at(offset, std::as_writable_bytes(std::span(&into, 1)));
  return got && *got == sizeof(T);
}

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The file range of .nv_fatbin; empty when the object has none.
Result<Range> find_section(const RandomAccessFile& file) {
  Elf64_Ehdr header{};
  if (!read_struct(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return fail("is not a 64-bit ELF file");
  const std::uint64_t size = file.status().size;
  if (header.e_shoff == 0 || header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_shstrndx >= header.e_shnum)
    return fail("its section headers were stripped");
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  const auto got = file.read_at(header.e_shoff, std::as_writable_bytes(std::span(sections)));
  if (!got || *got != sections.size() * sizeof(Elf64_Shdr))
    return fail("its section headers lie outside the file");
  const auto& names = sections[header.e_shstrndx];
  for (const auto& section : sections) {
    std::array<char, 12> name{};
    if (!file.read_at(names.sh_offset + section.sh_name, std::as_writable_bytes(std::span(name))))
      continue;
    if (std::strncmp(name.data(), ".nv_fatbin", name.size()) != 0) continue;
    if (section.sh_offset > size || section.sh_size > size - section.sh_offset)
      return fail("its section .nv_fatbin lies outside the file");
    return Range{section.sh_offset, section.sh_offset + section.sh_size};
  }
  return Range{};
}

struct FatHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_size;
  std::uint64_t body_size;
};

struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_size;
  std::uint64_t payload_size;
  std::uint32_t unused[3];
  std::uint32_t target;
};
static_assert(offsetof(EntryHeader, target) == 28);

using Target =
    std::pair<std::uint16_t, std::uint32_t>;  // kind, number; machine code sorts after PTX

std::set<Target> read_entries(const RandomAccessFile& file, Range body) {
  std::set<Target> targets;
  while (body.begin + sizeof(EntryHeader) <= body.end) {
    EntryHeader entry{};
    if (!read_struct(file, body.begin, entry)) break;
    const std::uint64_t room = body.end - body.begin;
    if (entry.header_size < sizeof(EntryHeader) || entry.header_size > room ||
        entry.payload_size > room - entry.header_size)
      break;
    if (entry.kind == kMachineCode || entry.kind == kPtx) targets.emplace(entry.kind, entry.target);
    body.begin += entry.header_size + entry.payload_size;
  }
  return targets;
}

}  // namespace

Result<std::vector<std::string>> fat_binary_targets(const RandomAccessFile& file, int most) {
  auto range = find_section(file);
  if (!range) return tl::unexpected(range.error());
  std::map<Target, int> counts;
  int seen = 0;
  while (seen < most && range->begin + sizeof(FatHeader) <= range->end) {
    FatHeader header{};
    if (!read_struct(file, range->begin, header)) break;
    if (header.magic != kFatMagic) {
      range->begin += 8;  // padding
      if (header.magic != 0) break;
      continue;
    }
    const std::uint64_t body = range->begin + header.header_size;
    if (header.header_size < sizeof(FatHeader) || body > range->end ||
        header.body_size > range->end - body)
      break;
    for (const auto& target : read_entries(file, {body, body + header.body_size})) ++counts[target];
    range->begin = (body + header.body_size + 7) & ~std::uint64_t{7};
    ++seen;
  }
  std::vector<std::string> targets;
  for (const auto kind : {kMachineCode, kPtx})
    for (const auto& [target, count] : counts)
      if (target.first == kind && 2 * count > seen)
        targets.push_back((kind == kPtx ? "compute_" : "sm_") + std::to_string(target.second));
  return targets;
}

}  // namespace gpuwright::loader
