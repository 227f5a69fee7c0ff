#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The smallest ELF files that the probes tell apart. Only what they look at is filled in.

namespace gpuwright {

template <class T>
void append_struct(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline Elf64_Ehdr elf_header(std::uint16_t type, std::uint16_t programs) {
  Elf64_Ehdr header{};
  for (int i = 0; i < SELFMAG; ++i) header.e_ident[i] = static_cast<unsigned char>(ELFMAG[i]);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = programs;
  header.e_shentsize = sizeof(Elf64_Shdr);
  return header;
}

inline Elf64_Phdr program_header(std::uint32_t type, std::uint64_t offset, std::uint64_t size) {
  Elf64_Phdr program{};
  program.p_type = type;
  program.p_flags = PF_R;
  program.p_offset = program.p_vaddr = program.p_paddr = offset;
  program.p_filesz = program.p_memsz = size;
  program.p_align = type == PT_LOAD ? 4096 : 8;
  return program;
}

/// A shared object with a SONAME, `size` bytes long; a program when `interpreter` is not empty.
inline std::string small_library(const std::string& soname, std::size_t size = 2 << 20,
                                 const std::string& interpreter = "") {
  const std::string strings = std::string(1, '\0') + soname + '\0';
  const Elf64_Dyn dynamic[] = {
      {DT_STRTAB, {0}}, {DT_STRSZ, {strings.size()}}, {DT_SONAME, {1}}, {DT_NULL, {0}}};
  const std::uint16_t programs = interpreter.empty() ? 2 : 3;
  const std::uint64_t dynamic_at = sizeof(Elf64_Ehdr) + programs * sizeof(Elf64_Phdr);
  const std::uint64_t strings_at = dynamic_at + sizeof dynamic;
  const std::uint64_t interpreter_at = strings_at + strings.size();

  std::string bytes;
  append_struct(bytes, elf_header(ET_DYN, programs));
  if (!interpreter.empty())
    append_struct(bytes, program_header(PT_INTERP, interpreter_at, interpreter.size() + 1));
  append_struct(bytes, program_header(PT_LOAD, 0, size));
  append_struct(bytes, program_header(PT_DYNAMIC, dynamic_at, sizeof dynamic));
  for (auto entry : dynamic) {
    if (entry.d_tag == DT_STRTAB) entry.d_un.d_ptr = strings_at;
    append_struct(bytes, entry);
  }
  bytes += strings + interpreter + '\0';
  if (bytes.size() < size) bytes.resize(size, '\0');
  return bytes;
}

/// A 32-bit object for i386 without any contents.
inline std::string small_32_bit_library() {
  Elf32_Ehdr header{};
  for (int i = 0; i < SELFMAG; ++i) header.e_ident[i] = static_cast<unsigned char>(ELFMAG[i]);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_386;
  header.e_version = EV_CURRENT;
  header.e_ehsize = header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  Elf32_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_filesz = load.p_memsz = sizeof header + sizeof load;
  std::string bytes;
  append_struct(bytes, header);
  append_struct(bytes, load);
  return bytes;
}

/// A kernel module: no program headers, a section .modinfo with this text.
inline std::string small_module(const std::string& modinfo) {
  const std::string names = std::string("\0.modinfo\0.shstrtab\0", 20);
  std::string bytes;
  auto header = elf_header(ET_REL, 0);
  header.e_shoff = sizeof header + modinfo.size() + names.size();
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  append_struct(bytes, header);
  bytes += modinfo + names;
  Elf64_Shdr section{};
  append_struct(bytes, section);
  section.sh_name = 1;
  section.sh_offset = sizeof header;
  section.sh_size = modinfo.size();
  append_struct(bytes, section);
  section.sh_name = 10;
  section.sh_offset = sizeof header + modinfo.size();
  section.sh_size = names.size();
  append_struct(bytes, section);
  return bytes;
}

}  // namespace gpuwright
