#include "probe/python_distributions.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"

// What is installed, by the names of metadata directories: NAME-VERSION.dist-info (PEP 376 and the
// wheel format; '-' in a name is written '_'), NAME-VERSION[-pyX.Y].egg-info (setuptools,
// distutils) and NAME-VERSION-pyX.Y.egg on sys.path. The names tell what pip believes, which is
// what a reader of `pip list` would be told; files inside are opened only where the name has no
// version.

namespace gpuwright {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// pip leaves "~ensorflow-2.10.0.dist-info" behind when an upgrade is interrupted, and passes it
// over.
bool is_valid_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

std::optional<std::string_view> without_suffix(std::string_view text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return std::nullopt;
  return text.substr(0, text.size() - suffix.size());
}

std::optional<Distribution> distribution_of(std::string_view name, std::string_view version) {
  if (!is_valid_name(name)) return std::nullopt;
  return Distribution{normalised_name(name), printable(version), {}};
}

std::string metadata_version(const System& system, const std::string& path) {
  constexpr std::size_t kHeadBytes = 1 << 14;  // the version stands among the first lines
  for (const auto* name : {"METADATA", "PKG-INFO"})
    if (const auto text = system.read(path_join(path, name), kHeadBytes))
      return parse_metadata_version(*text);
  return parse_metadata_version(system.read(path, kHeadBytes).value_or(""));
}

}  // namespace

std::string normalised_name(std::string_view name) {
  std::string out;
  for (const char c : lower(name)) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator)
      out += c;
    else if (out.empty() || out.back() != '-')
      out += '-';
  }
  return out;
}

std::optional<Distribution> parse_distribution_name(std::string_view entry) {
  if (const auto stem = without_suffix(entry, ".dist-info")) {
    // A version has no '-', a name written by an old tool may have.
    const auto dash = stem->rfind('-');
    if (dash == std::string_view::npos) return distribution_of(*stem, "");
    return distribution_of(stem->substr(0, dash), stem->substr(dash + 1));
  }
  auto stem = without_suffix(entry, ".egg-info");
  if (!stem) stem = without_suffix(entry, ".egg");
  if (!stem) return std::nullopt;
  const auto pieces = split(*stem, '-');
  return distribution_of(pieces[0], pieces.size() > 1 ? pieces[1] : "");
}

std::optional<Distribution> parse_conda_record_name(std::string_view entry) {
  const auto stem = without_suffix(entry, ".json");
  if (!stem) return std::nullopt;
  const auto build = stem->rfind('-');
  if (build == std::string_view::npos || build == 0) return std::nullopt;
  const auto version = stem->rfind('-', build - 1);
  if (version == std::string_view::npos) return std::nullopt;
  return distribution_of(stem->substr(0, version), stem->substr(version + 1, build - version - 1));
}

std::string parse_metadata_version(std::string_view text) {
  constexpr std::string_view kKey = "Version:";
  for (const auto line : lines(text)) {
    if (line.empty()) break;  // the description follows
    if (line.starts_with(kKey)) return printable(trim(line.substr(kKey.size())));
  }
  return {};
}

std::vector<Distribution> distributions_in(const System& system, const std::string& directory) {
  std::vector<Distribution> found;
  const auto add = [&](std::string_view name, const std::string& metadata) {
    auto distribution = parse_distribution_name(name);
    if (!distribution) return;
    if (distribution->version.empty()) distribution->version = metadata_version(system, metadata);
    distribution->location = directory;
    found.push_back(std::move(*distribution));
  };
  if (directory.ends_with(".egg")) add(path_name(directory), path_join(directory, "EGG-INFO"));
  const auto entries = system.list(directory);
  if (!entries) return found;
  for (const auto& entry : *entries)
    if (entry.name.ends_with(".dist-info") || entry.name.ends_with(".egg-info"))
      add(entry.name, path_join(directory, entry.name));
  return found;
}

std::vector<Distribution> find_distributions(const System& system,
                                             const std::vector<SysPathEntry>& search_path) {
  std::vector<Distribution> found;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const auto& entry : search_path) {
    if (!entry.exists) continue;
    const auto status = system.status(entry.path);
    if (!status || !seen.emplace(status->device, status->inode).second) continue;
    auto here = distributions_in(system, entry.path);
    std::move(here.begin(), here.end(), std::back_inserter(found));
  }
  return found;
}

std::vector<Distribution> find_conda_packages(const System& system, const std::string& prefix,
                                              const std::vector<Distribution>& already) {
  std::set<std::string_view> names;
  for (const auto& distribution : already) names.insert(distribution.name);
  std::vector<Distribution> found;
  const auto location = path_join(prefix, "conda-meta");
  const auto entries = system.list(location);
  if (!entries) return found;
  for (const auto& entry : *entries) {
    auto package = parse_conda_record_name(entry.name);
    if (!package || names.contains(package->name)) continue;
    package->location = location;
    found.push_back(std::move(*package));
  }
  return found;
}

}  // namespace gpuwright
