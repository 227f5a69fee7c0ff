#include "loader/directories.h"

#include <unordered_set>

#include "base/text.h"
#include "loader/search.h"

namespace gpuwright::loader {

// As fillin_rpath: trailing slashes are cut to one, so that "/x" and "/x//" are one directory.
SearchList Directories::parse(std::string_view text, std::string_view separators,
                              const Tokens& tokens) {
  SearchList list;
  std::unordered_set<const Directory*> seen;
  for (bool more = true; more;) {
    const auto end = text.find_first_of(separators);
    more = end != std::string_view::npos;
    const auto element = text.substr(0, end);
    if (more) text.remove_prefix(end + 1);
    std::string path = expand_tokens(element, tokens);
    if (path.empty() && !element.empty()) continue;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (!path.empty() && path.back() != '/') path += '/';
    Directory* directory = known(std::move(path));
    if (seen.insert(directory).second) list.push_back(directory);
  }
  return list;
}

Directory* Directories::known(std::string text) {
  auto& place = all_[text];
  if (place == nullptr) place = std::make_unique<Directory>(Directory{std::move(text), {}, {}, {}});
  return place.get();
}

bool Directories::is_directory(const std::string& path) const {
  const auto status = system_.status(absolute(path, config_));
  return status && status->kind == FileKind::kDirectory;
}

// The loader finds out which sub-directories exist by failing to open a file in them; asking once
// for each gives the same. A relative directory is never written off: the current directory may
// change.
bool Directories::look_at(Directory& directory) {
  if (directory.looked_at) return directory.exists;
  directory.looked_at = true;
  directory.exists = directory.relative() || is_directory(directory.text);
  if (!directory.exists) return false;
  std::unordered_map<std::string, bool> first_parts;  // "tls" missing settles tls/x86_64 and others
  for (const auto& sub : config_.hwcaps) {
    const std::string first = sub.substr(0, sub.find('/'));
    const auto known_part = first_parts.find(first);
    const bool possible = known_part != first_parts.end()
                              ? known_part->second
                              : (first_parts[first] = is_directory(directory.text + first));
    if (possible && (first == sub || is_directory(directory.text + sub)))
      directory.tried.push_back(directory.text + sub + "/");
  }
  directory.tried.push_back(directory.text);
  return true;
}

}  // namespace gpuwright::loader
