#include "loader/fatbin.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/memory_system.h"

namespace gpuwright::loader {
namespace {

using Texts = std::vector<std::string>;

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

enum : std::uint16_t { kPtx = 1, kMachineCode = 2 };

struct Entry {
  std::uint16_t kind;
  std::uint32_t target;
  std::uint64_t payload = 24;
};

/// One fat binary, padded to 8 bytes as nvcc leaves it.
std::string fat_binary(const std::vector<Entry>& entries) {
  std::string body;
  for (const auto& entry : entries) {
    std::string header(64, '\0');
    const std::uint16_t version = 0x0101;
    const std::uint32_t header_size = 64;
    std::memcpy(header.data(), &entry.kind, 2);
    std::memcpy(header.data() + 2, &version, 2);
    std::memcpy(header.data() + 4, &header_size, 4);
    std::memcpy(header.data() + 8, &entry.payload, 8);
    std::memcpy(header.data() + 28, &entry.target, 4);
    body += header + std::string(std::min<std::uint64_t>(entry.payload, 4096), 'c');
  }
  std::string bytes;
  append(bytes, std::uint32_t{0xba55ed50});
  append(bytes, std::uint16_t{1});
  append(bytes, std::uint16_t{16});
  append(bytes, std::uint64_t{body.size()});
  bytes += body;
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return bytes;
}

/// An object with `contents` as section `name`, and its section headers at the end.
std::string object_with(const std::string& contents, const std::string& name = ".nv_fatbin") {
  const std::string names = std::string(1, '\0') + name + '\0' + ".shstrtab" + '\0';
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof header + contents.size() + names.size();
  Elf64_Shdr code{}, strings{};
  code.sh_name = 1;
  code.sh_offset = sizeof header;
  code.sh_size = contents.size();
  strings.sh_name = static_cast<std::uint32_t>(name.size()) + 2;
  strings.sh_offset = sizeof header + contents.size();
  strings.sh_size = names.size();
  std::string bytes;
  append(bytes, header);
  bytes += contents + names;
  append(bytes, Elf64_Shdr{});
  append(bytes, code);
  append(bytes, strings);
  return bytes;
}

Result<Texts> targets_of(const std::string& bytes, int most = 24) {
  MemorySystem system;
  system.add_file("/lib.so", bytes);
  return fat_binary_targets(**system.open("/lib.so"), most);
}

TEST(FatBinary, NamesMachineCodeBeforePtx) {
  const auto bytes =
      object_with(fat_binary({{kMachineCode, 90}, {kPtx, 90}, {kMachineCode, 80}, {kPtx, 75}}));
  EXPECT_EQ(*targets_of(bytes), (Texts{"sm_80", "sm_90", "compute_75", "compute_90"}));
}

TEST(FatBinary, TargetsOfSingleKernelsDoNotCount) {
  std::string contents;
  for (int i = 0; i < 5; ++i) contents += fat_binary({{kMachineCode, 80}, {kMachineCode, 90}});
  contents += fat_binary({{kMachineCode, 80}, {kMachineCode, 90}, {kMachineCode, 100}});
  EXPECT_EQ(*targets_of(object_with(contents)), (Texts{"sm_80", "sm_90"}));
}

TEST(FatBinary, ReadsOnlyTheFirstFew) {
  std::string contents = fat_binary({{kMachineCode, 80}});
  for (int i = 0; i < 9; ++i) contents += fat_binary({{kMachineCode, 90}});
  EXPECT_EQ(*targets_of(object_with(contents), 1), Texts{"sm_80"});
  EXPECT_EQ(*targets_of(object_with(contents)), Texts{"sm_90"});
}

TEST(FatBinary, OtherKindsOfEntriesArePassedOver) {
  EXPECT_EQ(*targets_of(object_with(fat_binary({{16, 80}, {kMachineCode, 86}}))), Texts{"sm_86"});
}

TEST(FatBinary, ObjectWithoutTheSectionHasNone) {
  EXPECT_EQ(*targets_of(object_with(fat_binary({{kPtx, 80}}), ".nv_other")), Texts{});
  EXPECT_EQ(*targets_of(object_with("")), Texts{});
}

TEST(FatBinary, StrippedSectionHeadersAreAnError) {
  auto bytes = object_with(fat_binary({{kMachineCode, 80}}));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shoff = header.e_shnum = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_FALSE(targets_of(bytes));
}

TEST(FatBinary, WhatIsNoElfFileIsAnError) {
  EXPECT_FALSE(targets_of(""));
  EXPECT_FALSE(targets_of("version https://git-lfs.github.com/spec/v1\n"));
}

TEST(FatBinary, SectionOutsideTheFileIsAnError) {
  auto bytes = object_with(fat_binary({{kMachineCode, 80}}));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint64_t beyond = bytes.size();
  std::memcpy(bytes.data() + header.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
              &beyond, sizeof beyond);
  EXPECT_FALSE(targets_of(bytes));
}

TEST(FatBinary, EveryTruncationEndsQuietly) {
  const auto bytes = object_with(fat_binary({{kMachineCode, 80}, {kPtx, 90}}));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    targets_of(bytes.substr(0, size)).has_value();
}

TEST(FatBinary, SizesBeyondTheFatBinaryEndTheReading) {
  EXPECT_EQ(*targets_of(object_with(fat_binary({{kMachineCode, 80}, {kMachineCode, 90, ~0ull}}))),
            Texts{"sm_80"});
}

}  // namespace
}  // namespace gpuwright::loader
