#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpuwright {

/// A shared library (or program) to fabricate. What is left at its default is not in the file:
///
///   system.add_file("/x/liba.so.1", write_elf({.soname = "liba.so.1", .needed = {"libb.so"}}));
///
/// The result is sound enough for the real ld.so to map it: one loaded segment with headers, tables
/// and dynamic section, no code, no relocations, no section headers.
struct ElfSpec {
  struct VersionNeed {
    std::string file;
    std::string version;
    bool weak = false;
  };
  struct Note {
    std::string owner;
    std::uint32_t type = 0;
    std::string payload;
  };

  std::uint8_t elf_class = 2;    ///< 1: 32 bits, 2: 64 bits.
  std::uint16_t machine = 62;    ///< 62 x86-64, 183 aarch64, 3 i386.
  std::uint16_t type = 3;        ///< 3 ET_DYN, 2 ET_EXEC.
  std::string interpreter = {};  ///< PT_INTERP: makes it a program.
  std::string soname = {};
  std::vector<std::string> needed = {};
  std::optional<std::string> rpath = {};
  std::optional<std::string> runpath = {};
  std::uint64_t flags_1 = 0;  ///< DT_FLAGS_1: 0x800 NODEFLIB, 0x40 NOOPEN, 0x8000000 PIE.
  bool stack_header = true;   ///< PT_GNU_STACK is there.
  bool executable_stack = false;
  std::vector<VersionNeed> version_needs = {};        ///< Those of one file stand together.
  std::vector<std::string> version_definitions = {};  ///< The base definition comes by itself.
  std::vector<std::string> defines = {};              ///< Symbols that it defines.
  std::vector<std::string> uses = {};                 ///< Symbols that it leaves undefined.
  bool gnu_hash = true;                               ///< DT_GNU_HASH; otherwise DT_HASH.
  std::uint32_t x86_isa_needed = 0;   ///< GNU property note: 1 baseline, 2 v2, 4 v3, 8 v4.
  std::vector<Note> notes = {};       ///< Further notes in a PT_NOTE.
  bool relative_relocations = false;  ///< An empty DT_RELR.
  bool dynamic_section = true;        ///< PT_DYNAMIC is there.
};

/// The bytes of the file.
std::string write_elf(const ElfSpec& spec);

}  // namespace gpuwright
