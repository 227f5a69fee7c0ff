#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loader/loader.h"
#include "loader/tokens.h"

namespace gpuwright::loader {

/// A directory of some search list. There is one object for each text in a process, because the
/// loader never looks again into a directory that it once found missing.
struct Directory {
  std::string text;  ///< With a slash at its end; empty for the current directory.
  bool looked_at = false;
  bool exists = false;
  std::vector<std::string>
      tried;  ///< Prefixes of the name, in order: "/x/glibc-hwcaps/x86-64-v3/".

  bool relative() const { return !text.starts_with('/'); }
};

using SearchList = std::vector<Directory*>;

/// All directories of the process.
class Directories {
 public:
  Directories(const System& system, const Config& config) : system_(system), config_(config) {}

  /// `text` split at any of `separators`, tokens expanded, dropped elements and repetitions left
  /// out. An empty element is the current directory.
  SearchList parse(std::string_view text, std::string_view separators, const Tokens& tokens);

  /// False when there is no such directory. The answer is final, as in the loader.
  bool look_at(Directory& directory);

 private:
  Directory* known(std::string text);
  bool is_directory(const std::string& path) const;

  const System& system_;
  const Config& config_;
  std::unordered_map<std::string, std::unique_ptr<Directory>> all_;
};

}  // namespace gpuwright::loader
