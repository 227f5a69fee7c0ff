#include "loader/refusal.h"

// The tests of glibc's _dl_map_object_from_fd (elf/dl-load.c), which come after those of the ELF
// header. Their messages name what was asked for, not the file.

namespace gpuwright::loader {

namespace {
constexpr std::uint16_t kSharedObject = 3;  // ET_DYN
}  // namespace

std::string refusal_words(const ElfObject& elf, bool by_dlopen) {
  if (!elf.page_aligned) return "ELF load command address/offset not page-aligned";
  if (!elf.has_load_segment) return "object file has no loadable segments";
  if (elf.type != kSharedObject) return "cannot dynamically load executable";
  if (!elf.has_dynamic) return "object file has no dynamic section";
  if (elf.position_independent_executable())
    return "cannot dynamically load position-independent executable";
  if (elf.no_open() && by_dlopen) return "shared object cannot be dlopen()ed";
  return {};
}

}  // namespace gpuwright::loader
