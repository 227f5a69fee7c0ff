#include "probe/library_copies.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "probe/driver_libraries.h"
#include "probe/facts.h"
#include "probe/probe.h"

namespace gpuwright {
namespace {

constexpr std::size_t kMostCopies = 500;
constexpr std::size_t kHeader = 64;  ///< Elf64_Ehdr.

struct Family {
  std::string_view stem;
  const char* name;
};
constexpr Family kFamilies[] = {
    {"libcudart", "cudart"},       {"libcublasLt", "cublas"},     {"libcublas", "cublas"},
    {"libcufft", "cufft"},         {"libcurand", "curand"},       {"libcusolver", "cusolver"},
    {"libcusparse", "cusparse"},   {"libcudnn", "cudnn"},         {"libnccl", "nccl"},
    {"libnvrtc", "nvrtc"},         {"libnvJitLink", "nvjitlink"}, {"libcupti", "cupti"},
    {"libcusolverMg", "cusolver"},
};

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

// Section headers stand at the end of a library, so a file that was cut short says where it ends
// and does not reach so far.
bool is_cut_short(std::string_view head, std::uint64_t size) {
  const auto table = number_at(head, 40, 8);
  const auto entry = number_at(head, 58, 2), count = number_at(head, 60, 2);
  return table > size || entry * count > size - std::min(table, size);
}

/// A directory to look into, and how a search would come there.
struct Place {
  std::string path;
  const char* origin;
};

void add_place(const std::string& path, const char* origin, std::vector<Place>& places) {
  if (!path.starts_with('/')) return;
  for (const auto& place : places)
    if (place.path == path) return;
  places.push_back({path, origin});
}

void add_wheels(const System& system, const Machine& machine, std::vector<Place>& places) {
  for (const auto& entry : machine.python.sys_path) {
    const auto root = path_join(entry.path, "nvidia");
    const auto listed = system.list(root);
    if (!listed) continue;
    for (const auto& product : *listed)
      add_place(path_join(root, product.name) + "/lib", "wheel", places);
  }
}

std::vector<Place> places_of(const System& system, const Machine& machine) {
  std::vector<Place> places;
  if (machine.cuda.library_path.is_known())
    for (const auto& element : *machine.cuda.library_path)
      if (element.exists) add_place(element.text, "LD_LIBRARY_PATH", places);
  add_wheels(system, machine, places);
  const auto& interpreter = machine.python.interpreter;
  if (interpreter.is_known() && interpreter->kind == "conda")
    add_place(interpreter->prefix + "/lib", "conda", places);
  if (machine.cuda.toolkits.is_known())
    for (const auto& toolkit : *machine.cuda.toolkits)
      if (toolkit.root != "/usr") add_place(toolkit.root + "/lib64", "toolkit", places);
  if (machine.cuda.declared.is_known())
    for (const auto& declared : *machine.cuda.declared)
      if (declared.name == "LD_LIBRARY_PATH")
        for (const auto part : split(declared.value, ':'))
          add_place(std::string(part), "declared", places);
  const auto architecture = machine.host.architecture.value_or("x86_64");
  add_place("/usr/lib/" + architecture + "-linux-gnu", "ld.so.cache", places);
  add_place("/usr/lib64", "ld.so.cache", places);
  return places;
}

std::string kind_of(const System& system, const std::string& path, std::uint16_t machine) {
  const auto file = system.open(path);
  if (!file) {
    if (is_not_there(file.error())) return "broken-link";
    return file.error().code == EACCES || file.error().code == EPERM ? "unreadable" : "";
  }
  std::string head(kHeader, '\0');
  const auto got = (*file)->read_at(0, std::as_writable_bytes(std::span(head.data(), head.size())));
  if (!got) return "";
  head.resize(*got);
  return kind_of_bytes(head, (*file)->status().size, machine);
}

Fact<Version> version_of(const std::string& real_path) {
  const auto name = path_name(real_path);
  const auto at = name.find(".so.");
  const auto version = at == std::string_view::npos ? Result<Version>(fail(""))
                                                    : Version::parse(name.substr(at + 4));
  if (version && version->size() >= 2) return Fact<Version>::known(*version, real_path);
  return Fact<Version>::unknown(real_path, "the file's name carries no full version");
}

// "libcudnn.so.9.1.0" lies beside the link "libcudnn.so.9" that a search asks for.
bool is_asked_for(std::string_view name) {
  const auto numbers = split(name.substr(name.find(".so.") + 4), '.');
  return numbers.size() == 1 || (numbers.size() == 2 && numbers[1] == "0") ||
         (numbers.size() == 2 && numbers[0].size() == 2);
}

void look_into(const System& system, const Place& place, std::uint16_t machine,
               std::vector<LibraryCopy>& copies) {
  const auto listed = system.list(place.path);
  if (!listed) return;
  for (const auto& entry : *listed) {
    const auto family = library_family(entry.name);
    if (family.empty() || !is_asked_for(entry.name) || copies.size() >= kMostCopies) continue;
    if (entry.kind != FileKind::kRegular && entry.kind != FileKind::kSymlink) continue;
    LibraryCopy copy;
    copy.family = family;
    copy.path = path_join(place.path, entry.name);
    copy.real_path = system.resolve(copy.path).value_or("");
    copy.kind = kind_of(system, copy.path, machine);
    if (copy.kind.empty()) continue;
    if (copy.kind == "library" && path_directory(copy.path).ends_with("/stubs")) copy.kind = "stub";
    copy.soname = copy.kind == "library" ? entry.name : "";
    copy.version = version_of(copy.real_path);
    copy.origin = place.origin;
    copies.push_back(std::move(copy));
  }
}

}  // namespace

std::string library_family(std::string_view file_name) {
  const auto at = file_name.find(".so.");
  if (at == std::string_view::npos) return "";
  const auto stem = file_name.substr(0, at);
  for (const auto& family : kFamilies)
    if (stem == family.stem) return family.name;
  return stem.starts_with("libcudnn_") ? "cudnn" : "";
}

std::uint16_t elf_machine_of(std::string_view architecture) {
  if (architecture == "x86_64") return 62;
  return architecture == "aarch64" ? 183 : 0;
}

std::string kind_of_bytes(std::string_view head, std::uint64_t size, std::uint16_t machine) {
  if (size == 0) return "empty";
  if (head.starts_with("version https://git-lfs")) return "lfs-pointer";
  if (!head.starts_with("\x7f"
                        "ELF"))
    return "text";
  if (head.size() < kHeader) return "damaged";
  const bool is_64_bit_little = head[4] == 2 && head[5] == 1;
  if (!is_64_bit_little || (machine != 0 && number_at(head, 18, 2) != machine))
    return "other-architecture";
  return is_cut_short(head, size) ? "damaged" : "library";
}

// Reads directories that a search could reach, and the first bytes of what bears the name of a GPU
// library there.
Fill probe_library_copies(const ProbeInput& input) {
  std::vector<LibraryCopy> copies;
  const auto machine = elf_machine_of(input.machine.host.architecture.value_or("x86_64"));
  for (const auto& place : places_of(input.system, input.machine))
    look_into(input.system, place, machine, copies);
  return [copies = std::move(copies)](Machine& filled) {
    filled.cuda.copies = Fact<std::vector<LibraryCopy>>::known(copies, "directories of a search");
  };
}

}  // namespace gpuwright
