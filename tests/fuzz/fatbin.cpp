// GPU code in an object. The input is the section; the object around it is sound, since a broken
// one is the business of the entry for ELF.

#include "loader/fatbin.h"

#include <elf.h>

#include <algorithm>

#include "fuzz/fuzz.h"

using namespace gpuwright;        // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;  // NOLINT(google-build-using-namespace)

namespace {

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string object_with(const std::string& section) {
  const std::string names("\0.nv_fatbin\0.shstrtab\0", 22);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof header + section.size() + names.size();
  Elf64_Shdr code{}, strings{};
  code.sh_name = 1;
  code.sh_offset = sizeof header;
  code.sh_size = section.size();
  strings.sh_name = 12;
  strings.sh_offset = sizeof header + section.size();
  strings.sh_size = names.size();
  std::string bytes;
  append(bytes, header);
  bytes += section + names;
  append(bytes, Elf64_Shdr{});
  append(bytes, code);
  append(bytes, strings);
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto targets = loader::fat_binary_targets(Bytes(object_with(text_of(data, size))));
  if (!targets) return 0;
  for (const auto& target : *targets)
    require(target.starts_with("sm_") || target.starts_with("compute_"),
            "a target is machine code or PTX");
  auto once = *targets;
  std::sort(once.begin(), once.end());
  require(std::adjacent_find(once.begin(), once.end()) == once.end(), "each target comes once");
  return 0;
}
