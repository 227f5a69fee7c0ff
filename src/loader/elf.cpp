#include "loader/elf.h"

#include <elf.h>

#include "loader/elf_image.h"

// From the dynamic section of an object to names: DT_NEEDED and the like are offsets into the
// string table at DT_STRTAB; .gnu.version_r (DT_VERNEED) and .gnu.version_d (DT_VERDEF) are chains
// of records linked by relative offsets, laid out alike in 32- and 64-bit files (LSB Core, "Symbol
// Versioning").

#ifndef DT_RELR
#define DT_RELR 36  // in <elf.h> since glibc 2.36
#endif

namespace gpuwright::loader {
namespace {

// No name longer than PATH_MAX can be opened; only search lists may be longer.
constexpr std::size_t kMaxName = 4096;
constexpr std::size_t kMaxSearchList = 16 << 20;

// libstdc++.so.6 defines some 60 versions and large programs need some 200; the walk must end even
// when crafted records overlap.
constexpr std::size_t kMaxVersionRecords = 65536;

constexpr std::uint64_t kPageSize = 4096;

ElfError outside(const std::string& what) {
  return {ElfProblem::kTruncated, "its " + what + " lies outside the file"};
}

/// The strings of DT_STRTAB, by the offsets that other tables hold.
class Strings {
 public:
  explicit Strings(ElfImage& image) : image_(image), start_(image.offset_of_table(DT_STRTAB)) {}

  std::optional<std::string> at(std::uint64_t offset, std::size_t max_length = kMaxName) const {
    if (!start_ || offset > image_.bytes().size()) return std::nullopt;
    return image_.bytes().text(*start_ + offset, max_length);
  }

 private:
  ElfImage& image_;
  std::optional<std::uint64_t> start_;
};

ElfError read_names(ElfImage& image, const Strings& strings, ElfObject& object) {
  const auto assign = [&](std::uint64_t tag, std::size_t max, auto& field) {
    const auto offset = image.dynamic_value(tag);
    if (!offset) return true;
    auto text = strings.at(*offset, max);
    if (text) field = std::move(*text);
    return text.has_value();
  };
  if (!assign(DT_SONAME, kMaxName, object.soname)) return outside("DT_SONAME");
  if (!assign(DT_RPATH, kMaxSearchList, object.rpath)) return outside("DT_RPATH");
  if (!assign(DT_RUNPATH, kMaxSearchList, object.runpath)) return outside("DT_RUNPATH");
  for (const auto& entry : image.dynamic()) {
    if (entry.tag != DT_NEEDED) continue;
    auto name = strings.at(entry.value);
    if (!name) return outside("DT_NEEDED");
    object.needed.push_back(std::move(*name));
  }
  return {};
}

ElfError read_version_needs(ElfImage& image, const Strings& strings, ElfObject& object) {
  const auto address = image.dynamic_value(DT_VERNEED);
  if (!address) return {};
  auto at = image.offset_of(*address);
  std::size_t budget = kMaxVersionRecords;
  while (at) {
    const auto need = image.bytes().value<Elf64_Verneed>(*at);
    if (!need) break;
    const auto file = strings.at(need->vn_file);
    if (!file) break;
    for (std::uint64_t aux_at = *at + need->vn_aux;;) {
      const auto aux = image.bytes().value<Elf64_Vernaux>(aux_at);
      const auto name = aux ? strings.at(aux->vna_name) : std::nullopt;
      if (!name || budget-- == 0) return outside(".gnu.version_r");
      object.version_needs.push_back({*file, *name, (aux->vna_flags & VER_FLG_WEAK) != 0});
      if (aux->vna_next == 0) break;
      aux_at += aux->vna_next;
    }
    if (need->vn_next == 0) return {};
    *at += need->vn_next;
  }
  return outside(".gnu.version_r");
}

ElfError read_version_definitions(ElfImage& image, const Strings& strings, ElfObject& object) {
  const auto address = image.dynamic_value(DT_VERDEF);
  if (!address) return {};
  object.has_version_definitions = true;
  auto at = image.offset_of(*address);
  for (std::size_t budget = kMaxVersionRecords; at && budget > 0; --budget) {
    const auto definition = image.bytes().value<Elf64_Verdef>(*at);
    if (!definition) break;
    const auto aux = image.bytes().value<Elf64_Verdaux>(*at + definition->vd_aux);
    const auto name = aux ? strings.at(aux->vda_name) : std::nullopt;
    if (!name) break;
    if ((definition->vd_flags & VER_FLG_BASE) == 0) object.version_definitions.push_back(*name);
    if (definition->vd_next == 0) return {};
    *at += definition->vd_next;
  }
  return outside(".gnu.version_d");
}

// What the segments say. An x86 object without PT_GNU_STACK is taken to need an executable stack
// (DEFAULT_STACK_PERMS of glibc's stackinfo.h); on aarch64 it is not.
void read_segment_facts(const ElfImage& image, ElfObject& object) {
  const bool x86 = image.machine() == EM_X86_64 || image.machine() == EM_386;
  const Segment* stack = image.segment(PT_GNU_STACK);
  object.executable_stack = stack != nullptr ? (stack->flags & PF_X) != 0 : x86;
  const Segment* dynamic = image.segment(PT_DYNAMIC);
  object.has_dynamic = dynamic != nullptr && dynamic->file_size > 0;
  for (const auto& row : image.segments()) {
    if (row.type != PT_LOAD) continue;
    object.has_load_segment = true;
    if ((row.address - row.offset) % kPageSize != 0) object.page_aligned = false;
  }
}

tl::expected<ElfObject, ElfError> read_elf_for(const RandomAccessFile& file,
                                               const std::optional<Host>& host) {
  auto image = ElfImage::open(file, host);
  if (!image) return tl::unexpected(image.error());
  ElfObject object;
  object.elf_class = image->elf_class();
  object.machine = image->machine();
  object.type = image->type();
  object.flags_1 = image->dynamic_value(DT_FLAGS_1).value_or(0);
  object.relative_relocations = image->dynamic_value(DT_RELR).has_value();
  object.x86_isa_needed = x86_isa_needed(*image);
  read_segment_facts(*image, object);
  if (const Segment* interpreter = image->segment(PT_INTERP)) {
    auto text = image->bytes().text(interpreter->offset, kMaxName);
    if (!text) return tl::unexpected(outside("PT_INTERP"));
    object.interpreter = std::move(*text);
  }
  const Strings strings(*image);
  for (const auto read : {read_names, read_version_needs, read_version_definitions})
    if (auto error = read(*image, strings, object); error.problem != ElfProblem::kNone)
      return tl::unexpected(std::move(error));
  return object;
}

}  // namespace

tl::expected<ElfObject, ElfError> read_elf(const RandomAccessFile& file) {
  return read_elf_for(file, std::nullopt);
}

tl::expected<ElfObject, ElfError> read_elf(const RandomAccessFile& file, const Host& host) {
  return read_elf_for(file, host);
}

}  // namespace gpuwright::loader
