#include "loader/versions.h"

#include <algorithm>

// Symbol versions are checked by name before anything is relocated (_dl_check_map_versions of
// glibc's elf/dl-version.c): every (file, version) that an object was linked against must be
// defined by the mapped object of that name. GLIBC_ABI_* are such names too, without symbols: they
// make an old libc.so.6 refuse an object that uses a newer feature of the format.

namespace gpuwright::loader {
namespace {

bool defines(const ElfObject& provider, const std::string& version) {
  const auto& known = provider.version_definitions;
  return std::find(known.begin(), known.end(), version) != known.end();
}

// Packed relative relocations were read wrongly by old loaders without a word. Linkers therefore
// add the version; since glibc 2.36 its absence from an object that needs libc is an error.
bool lacks_relr_mark(const ElfObject& elf) {
  if (!elf.relative_relocations || elf.version_needs.empty()) return false;
  const bool marked =
      std::any_of(elf.version_needs.begin(), elf.version_needs.end(),
                  [](const VersionNeed& need) { return need.version == "GLIBC_ABI_DT_RELR"; });
  return !marked && std::any_of(elf.needed.begin(), elf.needed.end(), [](const std::string& name) {
    return name.starts_with("libc.so.");
  });
}

}  // namespace

std::vector<Miss> version_errors(const Mapped& object, const Providers& providers) {
  std::vector<Miss> errors;
  const auto add = [&](const std::string& subject, std::string reason) {
    errors.push_back({Outcome::State::kUnloadable, subject, std::move(reason), 0});
  };
  for (const auto& need : object.elf.version_needs) {
    const Mapped* provider = providers(need.file);
    if (provider == nullptr) {
      // The record without its DT_NEEDED, as after `patchelf --remove-needed`: an assertion in
      // ld.so, which ends the process.
      add(object.path,
          "needs version `" + need.version + "' of " + need.file + ", which is not mapped");
      continue;
    }
    // A provider without any definitions passes: it is taken for an unversioned build.
    if (need.weak || !provider->elf.has_version_definitions) continue;
    if (!defines(provider->elf, need.version))
      add(provider->path,
          "version `" + need.version + "' not found (required by " + object.path + ")");
  }
  if (lacks_relr_mark(object.elf)) add(object.path, "DT_RELR without GLIBC_ABI_DT_RELR dependency");
  return errors;
}

}  // namespace gpuwright::loader
