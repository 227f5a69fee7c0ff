#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"

// ELF: the System V gABI's object format with the GNU extensions, as linkers write it and ld.so
// reads it. Only program headers are used: section headers may be stripped, or stale after
// patchelf. Objects of a gigabyte cost a handful of reads. Every count and offset is bounded by the
// file.

namespace gpuwright::loader {

/// One name of a version-need record (.gnu.version_r).
struct VersionNeed {
  std::string file;     ///< SONAME of the provider: "libc.so.6".
  std::string version;  ///< "GLIBC_2.34"
  bool weak = false;    ///< VER_FLG_WEAK: a miss is tolerated.
};

enum class ElfProblem {
  kNone,
  kTooShort,      ///< "file too short": fewer bytes than an ELF header, zero included.
  kNotElf,        ///< "invalid ELF header": wrong magic.
  kWrongClass,    ///< 32-bit in a 64-bit process or the reverse.
  kWrongMachine,  ///< Built for another processor.
  kBadHeader,     ///< ELF version, OSABI, phentsize, or neither ET_DYN nor ET_EXEC.
  kTruncated,     ///< A table lies outside the file, or is larger than any real one.
  kUnreadable,    ///< Not a regular file, or reading it failed.
};

/// What the loader and we need of one object.
struct ElfObject {
  std::uint8_t elf_class = 0;              ///< 1: 32 bits, 2: 64 bits.
  std::uint16_t machine = 0;               ///< e_machine: 62 x86-64, 183 aarch64.
  std::uint16_t type = 0;                  ///< e_type: 2 EXEC, 3 DYN.
  std::string interpreter;                 ///< PT_INTERP; empty for most libraries.
  std::string soname;                      ///< DT_SONAME; empty when there is none.
  std::vector<std::string> needed;         ///< DT_NEEDED, in order.
  std::optional<std::string> rpath;        ///< DT_RPATH, text as written.
  std::optional<std::string> runpath;      ///< DT_RUNPATH; when present, the loader ignores rpath.
  std::uint64_t flags_1 = 0;               ///< DT_FLAGS_1.
  bool executable_stack = false;           ///< PT_GNU_STACK with PF_X, or none of it on x86.
  bool has_dynamic = false;                ///< A PT_DYNAMIC with something in it.
  bool has_load_segment = false;           ///< At least one PT_LOAD.
  bool page_aligned = true;                ///< Every PT_LOAD has address = offset modulo a page.
  bool relative_relocations = false;       ///< DT_RELR: packed relative relocations.
  std::vector<VersionNeed> version_needs;  ///< In the file's order.
  bool has_version_definitions = false;    ///< DT_VERDEF is there, with or without further names.
  std::vector<std::string> version_definitions;  ///< Without the base definition.
  std::uint32_t x86_isa_needed = 0;  ///< GNU_PROPERTY_X86_ISA_1_NEEDED bits; 0 when not stated.

  bool no_default_dirs() const { return (flags_1 & 0x800) != 0; }
  bool no_delete() const { return (flags_1 & 0x8) != 0; }
  bool no_open() const { return (flags_1 & 0x40) != 0; }
  bool position_independent_executable() const { return (flags_1 & 0x8000000) != 0; }
};

struct ElfError {
  ElfProblem problem = ElfProblem::kNone;
  std::string message;  ///< ld.so's own words where it has them: "file too short".
};

/// The kind of object that a process can map.
struct Host {
  std::uint8_t elf_class = 2;
  std::uint16_t machine = 62;
};

/// Reads the parts above. Fails with the loader's words in the order in which the loader tests.
[[nodiscard]] tl::expected<ElfObject, ElfError> read_elf(const RandomAccessFile& file);

/// The same as the loader of a `host` process would: another class or machine is a failure, found
/// in its place among the loader's tests.
[[nodiscard]] tl::expected<ElfObject, ElfError> read_elf(const RandomAccessFile& file,
                                                         const Host& host);

/// True when the object's dynamic symbol table *defines* `symbol` (one DT_GNU_HASH probe; DT_HASH
/// as a fallback). An error when the tables cannot be read.
[[nodiscard]] Result<bool> defines_symbol(const RandomAccessFile& file, std::string_view symbol);

/// NVIDIA's note of a cuda-compat libcuda (.note.cuda.fwd_compatibility), as JSON text; nothing
/// when the object has no such note.
[[nodiscard]] std::optional<std::string> forward_compatibility_note(const RandomAccessFile& file);

}  // namespace gpuwright::loader
