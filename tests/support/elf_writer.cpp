#include "support/elf_writer.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#define DT_RELRENT 37
#endif

namespace gpuwright {
namespace {

struct Class32 {
  using Header = Elf32_Ehdr;
  using ProgramHeader = Elf32_Phdr;
  using Dynamic = Elf32_Dyn;
  using Symbol = Elf32_Sym;
  using Word = std::uint32_t;
};
struct Class64 {
  using Header = Elf64_Ehdr;
  using ProgramHeader = Elf64_Phdr;
  using Dynamic = Elf64_Dyn;
  using Symbol = Elf64_Sym;
  using Word = std::uint64_t;
};

constexpr std::uint32_t kPage = 4096;

std::uint32_t gnu_hash(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const unsigned char c : name) hash = hash * 33 + c;
  return hash;
}

std::uint32_t sysv_hash(const std::string& name) {
  std::uint32_t hash = 0;
  for (const unsigned char c : name) {
    hash = (hash << 4) + c;
    hash ^= (hash & 0xf0000000) >> 24;
    hash &= 0x0fffffff;
  }
  return hash;
}

/// Builds the file front to back; addresses equal offsets.
template <class Class>
class Writer {
 public:
  explicit Writer(const ElfSpec& spec) : spec_(spec) {}

  std::string write() {
    image_.resize(sizeof(typename Class::Header) +
                  kMaxProgramHeaders * sizeof(typename Class::ProgramHeader));
    add_interpreter();
    add_notes();
    if (spec_.dynamic_section) add_dynamic();
    add_header(PT_LOAD, PF_R | PF_W, 0, image_.size(), kPage);
    if (spec_.stack_header)
      add_header(PT_GNU_STACK, PF_R | PF_W | (spec_.executable_stack ? PF_X : 0), 0, 0, 16);
    add_file_header();
    return image_;
  }

 private:
  static constexpr std::size_t kMaxProgramHeaders = 8;

  void align(std::size_t unit) { image_.resize((image_.size() + unit - 1) / unit * unit); }

  std::size_t append(const std::string& bytes) {
    const auto at = image_.size();
    image_ += bytes;
    return at;
  }

  template <class T>
  static std::string bytes_of(const T& value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::uint32_t string(const std::string& text) {
    if (const auto known = string_at_.find(text); known != string_at_.end()) return known->second;
    const auto at = static_cast<std::uint32_t>(strings_.size());
    strings_ += text;
    strings_ += '\0';
    return string_at_[text] = at;
  }

  void entry(std::uint64_t tag, std::uint64_t value) {
    typename Class::Dynamic row{};
    row.d_tag = static_cast<decltype(row.d_tag)>(tag);
    row.d_un.d_val = static_cast<decltype(row.d_un.d_val)>(value);
    dynamic_ += bytes_of(row);
  }

  void add_header(std::uint32_t type, std::uint32_t flags, std::size_t offset, std::size_t size,
                  std::size_t alignment) {
    typename Class::ProgramHeader row{};
    row.p_type = type;
    row.p_flags = flags;
    row.p_offset = row.p_vaddr = row.p_paddr = static_cast<typename Class::Word>(offset);
    row.p_filesz = row.p_memsz = static_cast<typename Class::Word>(size);
    row.p_align = static_cast<typename Class::Word>(alignment);
    headers_.push_back(row);
  }

  void add_interpreter() {
    if (spec_.interpreter.empty()) return;
    const auto at = append(spec_.interpreter + '\0');
    add_header(PT_INTERP, PF_R, at, spec_.interpreter.size() + 1, 1);
  }

  std::string note(const ElfSpec::Note& note, std::size_t unit) const {
    const auto padded = [&](std::string text) {
      text.resize((text.size() + unit - 1) / unit * unit);
      return text;
    };
    const std::uint32_t header[] = {static_cast<std::uint32_t>(note.owner.size() + 1),
                                    static_cast<std::uint32_t>(note.payload.size()), note.type};
    return padded(bytes_of(header) + note.owner + '\0') + padded(note.payload);
  }

  void add_notes() {
    if (spec_.x86_isa_needed != 0) {
      const std::uint32_t property[] = {0xc0008002, 4, spec_.x86_isa_needed, 0};
      align(8);
      const auto text = note({"GNU", 5, bytes_of(property)}, 8);
      add_header(PT_NOTE, PF_R, append(text), text.size(), 8);
    }
    if (spec_.notes.empty()) return;
    std::string text;
    for (const auto& item : spec_.notes) text += note(item, 4);
    align(4);
    add_header(PT_NOTE, PF_R, append(text), text.size(), 4);
  }

  typename Class::Symbol symbol(const std::string& name, bool defined) {
    typename Class::Symbol row{};
    row.st_name = string(name);
    row.st_info = (STB_GLOBAL << 4) | (defined ? STT_OBJECT : STT_NOTYPE);
    row.st_shndx = defined ? SHN_ABS : SHN_UNDEF;
    return row;
  }

  // The undefined symbols come first, as DT_GNU_HASH demands; the others by bucket.
  void add_symbols() {
    auto defined = spec_.defines;
    const auto buckets = static_cast<std::uint32_t>(std::max<std::size_t>(1, defined.size() / 2));
    std::stable_sort(defined.begin(), defined.end(), [&](const auto& a, const auto& b) {
      return gnu_hash(a) % buckets < gnu_hash(b) % buckets;
    });
    std::string table = bytes_of(typename Class::Symbol{});
    for (const auto& name : spec_.uses) table += bytes_of(symbol(name, false));
    for (const auto& name : defined) table += bytes_of(symbol(name, true));
    symbol_count_ = 1 + spec_.uses.size() + defined.size();
    align(8);
    entry(DT_SYMTAB, append(table));
    entry(DT_SYMENT, sizeof(typename Class::Symbol));
    align(8);
    if (spec_.gnu_hash)
      entry(DT_GNU_HASH, append(gnu_hash_table(defined, buckets)));
    else
      entry(DT_HASH, append(sysv_hash_table(defined, buckets)));
  }

  std::string gnu_hash_table(const std::vector<std::string>& defined, std::uint32_t buckets) {
    const auto first = static_cast<std::uint32_t>(1 + spec_.uses.size());
    std::vector<std::uint32_t> heads(buckets, 0);
    std::vector<std::uint32_t> hashes;
    for (std::uint32_t i = 0; i < defined.size(); ++i) {
      const auto hash = gnu_hash(defined[i]);
      auto& head = heads[hash % buckets];
      if (head == 0) head = first + i;
      const bool last =
          i + 1 == defined.size() || gnu_hash(defined[i + 1]) % buckets != hash % buckets;
      hashes.push_back((hash & ~1U) | (last ? 1 : 0));
    }
    const std::uint32_t header[] = {buckets, first, 1, 0};
    std::string table = bytes_of(header) + bytes_of(static_cast<typename Class::Word>(-1));
    for (const auto head : heads) table += bytes_of(head);
    for (const auto hash : hashes) table += bytes_of(hash);
    return table;
  }

  std::string sysv_hash_table(const std::vector<std::string>& defined, std::uint32_t buckets) {
    std::vector<std::uint32_t> heads(buckets, 0);
    std::vector<std::uint32_t> chains(symbol_count_, 0);
    for (std::size_t i = 0; i < defined.size(); ++i) {
      const auto index = static_cast<std::uint32_t>(1 + spec_.uses.size() + i);
      auto& head = heads[sysv_hash(defined[i]) % buckets];
      chains[index] = head;
      head = index;
    }
    const std::uint32_t header[] = {buckets, static_cast<std::uint32_t>(symbol_count_)};
    std::string table = bytes_of(header);
    for (const auto head : heads) table += bytes_of(head);
    for (const auto next : chains) table += bytes_of(next);
    return table;
  }

  void add_version_needs() {
    if (spec_.version_needs.empty()) return;
    std::string table;
    std::size_t files = 0;
    const auto& needs = spec_.version_needs;
    for (std::size_t i = 0; i < needs.size();) {
      std::size_t end = i;
      while (end < needs.size() && needs[end].file == needs[i].file) ++end;
      const auto count = static_cast<std::uint16_t>(end - i);
      const auto size = sizeof(Elf64_Verneed) + count * sizeof(Elf64_Vernaux);
      table += bytes_of(Elf64_Verneed{1, count, string(needs[i].file), sizeof(Elf64_Verneed),
                                      static_cast<std::uint32_t>(end < needs.size() ? size : 0)});
      for (; i < end; ++i)
        table += bytes_of(
            Elf64_Vernaux{sysv_hash(needs[i].version),
                          static_cast<std::uint16_t>(needs[i].weak ? VER_FLG_WEAK : 0),
                          next_version_++, string(needs[i].version),
                          static_cast<std::uint32_t>(i + 1 < end ? sizeof(Elf64_Vernaux) : 0)});
      ++files;
    }
    align(4);
    entry(DT_VERNEED, append(table));
    entry(DT_VERNEEDNUM, files);
  }

  void add_version_definitions() {
    if (spec_.version_definitions.empty()) return;
    std::vector<std::string> names{spec_.soname.empty() ? "base" : spec_.soname};
    names.insert(names.end(), spec_.version_definitions.begin(), spec_.version_definitions.end());
    std::string table;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::uint32_t size = sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux);
      table +=
          bytes_of(Elf64_Verdef{1, static_cast<std::uint16_t>(i == 0 ? VER_FLG_BASE : 0),
                                i == 0 ? std::uint16_t{1} : next_version_++, 1, sysv_hash(names[i]),
                                sizeof(Elf64_Verdef), i + 1 < names.size() ? size : 0});
      table += bytes_of(Elf64_Verdaux{string(names[i]), 0});
    }
    align(4);
    entry(DT_VERDEF, append(table));
    entry(DT_VERDEFNUM, names.size());
  }

  void add_dynamic() {
    for (const auto& name : spec_.needed) entry(DT_NEEDED, string(name));
    if (!spec_.soname.empty()) entry(DT_SONAME, string(spec_.soname));
    if (spec_.rpath) entry(DT_RPATH, string(*spec_.rpath));
    if (spec_.runpath) entry(DT_RUNPATH, string(*spec_.runpath));
    if (spec_.flags_1 != 0) entry(DT_FLAGS_1, spec_.flags_1);
    add_symbols();
    add_version_needs();
    add_version_definitions();
    if (next_version_ > 2) entry(DT_VERSYM, append(std::string(2 * symbol_count_, '\0')));
    if (spec_.relative_relocations) {
      entry(DT_RELR, image_.size() - sizeof(typename Class::Word));
      entry(DT_RELRSZ, 0);
      entry(DT_RELRENT, sizeof(typename Class::Word));
    }
    entry(DT_STRTAB, append(strings_));
    entry(DT_STRSZ, strings_.size());
    entry(DT_NULL, 0);
    align(8);
    add_header(PT_DYNAMIC, PF_R | PF_W, append(dynamic_), dynamic_.size(), 8);
  }

  void add_file_header() {
    typename Class::Header header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = spec_.elf_class;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = spec_.type;
    header.e_machine = spec_.machine;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(typename Class::ProgramHeader);
    header.e_phnum = static_cast<std::uint16_t>(headers_.size());
    std::memcpy(image_.data(), &header, sizeof header);
    std::memcpy(image_.data() + sizeof header, headers_.data(),
                headers_.size() * sizeof headers_[0]);
  }

  const ElfSpec& spec_;
  std::string image_;
  std::string strings_ = std::string(1, '\0');
  std::map<std::string, std::uint32_t> string_at_{{"", 0}};
  std::string dynamic_;
  std::vector<typename Class::ProgramHeader> headers_;
  std::size_t symbol_count_ = 0;
  std::uint16_t next_version_ = 2;  // 0 is local, 1 the base definition
};

}  // namespace

std::string write_elf(const ElfSpec& spec) {
  return spec.elf_class == ELFCLASS64 ? Writer<Class64>(spec).write()
                                      : Writer<Class32>(spec).write();
}

}  // namespace gpuwright
