#pragma once

#include <optional>
#include <string>

#include "machine/machine.h"

namespace gpuwright {

/// A file that bears the name of a library and is why it cannot be loaded.
struct BadFile {
  const char* finding;  ///< Id of the rule that tells of it: "libraries.file-damaged".
  std::string path;
  std::string what;  ///< "is empty (0 bytes)"
};

/// A directory that a start-up file puts into LD_LIBRARY_PATH, that is not in it here, and that
/// holds what is missed.
struct LostPath {
  DeclaredVariable declared;
  std::string directory;
};
std::optional<LostPath> lost_path(const Machine& machine, const ResolvedLibrary& library);

/// Why `library`, which was not found or not loaded, is not: the file where its search ended, or
/// one of that name that the search passed over. Nothing when no such file is known.
std::optional<BadFile> bad_file(const Machine& machine, const ResolvedLibrary& library);

}  // namespace gpuwright
