#include <elf.h>

#include "loader/elf_image.h"

// Looking one name up in an object's dynamic symbols without reading the table: DT_GNU_HASH (a
// Bloom filter, buckets, and one 32-bit hash for each symbol; written by every linker since 2006)
// or the gABI's DT_HASH (buckets and chains of symbol numbers; Go and some vendors write only
// that).

namespace gpuwright::loader {
namespace {

// A chain longer than this means that the table is crafted: linkers aim at one or two.
constexpr std::size_t kMaxChain = 1 << 20;

struct GnuHashHeader {
  std::uint32_t bucket_count;
  std::uint32_t first_symbol;  // symbols below it (undefined ones) are not hashed
  std::uint32_t bloom_words;
  std::uint32_t bloom_shift;
};

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<std::uint8_t>(c);
  return hash;
}

std::uint32_t sysv_hash(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<std::uint8_t>(c);
    const std::uint32_t high = hash & 0xf0000000;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

/// The symbol table, read one row at a time.
class Symbols {
 public:
  Symbols(ElfImage& image, std::uint64_t table, std::uint64_t strings)
      : image_(image), table_(table), strings_(strings) {}

  /// True when row `index` defines `name`; nothing when the row cannot be read.
  std::optional<bool> defines(std::uint64_t index, std::string_view name) const {
    return image_.elf_class() == ELFCLASS64 ? defines_in<Elf64_Sym>(index, name)
                                            : defines_in<Elf32_Sym>(index, name);
  }

 private:
  template <class Row>
  std::optional<bool> defines_in(std::uint64_t index, std::string_view name) const {
    const auto row = image_.bytes().value<Row>(table_ + index * sizeof(Row));
    if (!row) return std::nullopt;
    if (row->st_shndx == SHN_UNDEF) return false;
    // A longer text than the name cannot be equal, so an unterminated one needs no error.
    return image_.bytes().text(strings_ + row->st_name, name.size()) == name;
  }

  ElfImage& image_;
  std::uint64_t table_;
  std::uint64_t strings_;
};

std::optional<bool> probe_gnu(ElfImage& image, const Symbols& symbols, std::uint64_t start,
                              std::string_view name) {
  auto& bytes = image.bytes();
  const auto header = bytes.value<GnuHashHeader>(start);
  if (!header || header->bucket_count == 0) return std::nullopt;
  const std::uint32_t hash = gnu_hash(name);
  const std::uint64_t word_size = image.elf_class() == ELFCLASS64 ? 8 : 4;
  const std::uint64_t buckets = start + sizeof(GnuHashHeader) + header->bloom_words * word_size;
  const auto bucket = bytes.value<std::uint32_t>(buckets + 4ULL * (hash % header->bucket_count));
  if (!bucket) return std::nullopt;
  if (*bucket < header->first_symbol) return false;
  const std::uint64_t hashes = buckets + 4ULL * header->bucket_count;
  for (std::uint64_t index = *bucket; index - *bucket < kMaxChain; ++index) {
    const auto entry = bytes.value<std::uint32_t>(hashes + 4ULL * (index - header->first_symbol));
    if (!entry) return std::nullopt;
    if ((*entry | 1) == (hash | 1)) {
      const auto found = symbols.defines(index, name);
      if (!found || *found) return found;
    }
    if ((*entry & 1) != 0) return false;
  }
  return std::nullopt;
}

std::optional<bool> probe_sysv(ElfImage& image, const Symbols& symbols, std::uint64_t start,
                               std::string_view name) {
  auto& bytes = image.bytes();
  const auto bucket_count = bytes.value<std::uint32_t>(start);
  if (!bucket_count || *bucket_count == 0) return std::nullopt;
  const std::uint64_t buckets = start + 8;
  const std::uint64_t chains = buckets + 4ULL * *bucket_count;
  auto index = bytes.value<std::uint32_t>(buckets + 4ULL * (sysv_hash(name) % *bucket_count));
  for (std::size_t steps = 0; index && steps < kMaxChain; ++steps) {
    if (*index == STN_UNDEF) return false;
    const auto found = symbols.defines(*index, name);
    if (!found || *found) return found;
    index = bytes.value<std::uint32_t>(chains + 4ULL * *index);
  }
  return std::nullopt;
}

}  // namespace

Result<bool> defines_symbol(const RandomAccessFile& file, std::string_view symbol) {
  auto image = ElfImage::open(file, std::nullopt);
  if (!image) return fail(image.error().message);
  const auto table = image->offset_of_table(DT_SYMTAB);
  const auto strings = image->offset_of_table(DT_STRTAB);
  if (!table || !strings) return fail("it has no dynamic symbol table");
  const Symbols symbols(*image, *table, *strings);
  std::optional<bool> found;
  if (const auto gnu = image->offset_of_table(DT_GNU_HASH))
    found = probe_gnu(*image, symbols, *gnu, symbol);
  else if (const auto sysv = image->offset_of_table(DT_HASH))
    found = probe_sysv(*image, symbols, *sysv, symbol);
  if (!found) return fail("its symbol hash table cannot be read");
  return *found;
}

}  // namespace gpuwright::loader
