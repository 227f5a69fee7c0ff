#include "probe/python_distributions.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
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

MetadataHead parse_metadata_head(std::string_view text) {
  constexpr std::size_t kMost = 200;
  constexpr std::string_view kRequires = "Requires-Dist:";
  constexpr std::string_view kPython = "Requires-Python:";
  MetadataHead head;
  // The description that follows is often longer than the head.
  text = text.substr(0, text.find("\n\n"));
  for (const auto line : lines(text)) {
    if (line.empty()) break;  // the description follows
    if (line.starts_with(kPython))
      head.requires_python = printable(trim(line.substr(kPython.size())));
    if (!line.starts_with(kRequires) || head.requirements.size() >= kMost) continue;
    const auto requirement = trim(line.substr(kRequires.size()));
    const auto marker = requirement.find(';');
    const bool extra = marker != std::string_view::npos &&
                       requirement.find("extra", marker) != std::string_view::npos;
    if (!extra && requirement.size() < 500) head.requirements.push_back(printable(requirement));
  }
  return head;
}

std::string parse_wheel_tag(std::string_view text) {
  return printable(value_after(text, "Tag:").value_or(""));
}

bool is_gpu_package(std::string_view name) {
  constexpr std::array kPatterns = {"tensorflow*",
                                    "tf-nightly*",
                                    "intel-tensorflow*",
                                    "nvidia-tensorflow",
                                    "tf-keras",
                                    "keras*",
                                    "torch",
                                    "torchvision",
                                    "torchaudio",
                                    "torchtext",
                                    "triton",
                                    "jax",
                                    "jaxlib",
                                    "jax-cuda*",
                                    "flax",
                                    "optax",
                                    "chex",
                                    "equinox",
                                    "numpy",
                                    "ml-dtypes",
                                    "protobuf"};
  return std::any_of(kPatterns.begin(), kPatterns.end(),
                     [&](const char* pattern) { return glob_match(pattern, name); });
}

namespace {

// The directory's name is not in the distribution, and a name may be written in several ways.
std::vector<std::string> metadata_directories(const System& system, const std::string& location) {
  std::vector<std::string> found;
  const auto entries = system.list(location);
  if (!entries) return found;
  for (const auto& entry : *entries)
    if (entry.name.ends_with(".dist-info")) found.push_back(entry.name);
  return found;
}

void read_one(const System& system, const std::string& directory, Distribution& distribution) {
  constexpr std::size_t kHeadBytes = 1 << 16;  // TensorFlow's head has 5 KB
  if (const auto text = system.read(path_join(directory, "METADATA"), kHeadBytes)) {
    // Half a line at the end of what was read would be another requirement.
    const bool whole = text->size() < kHeadBytes || text->find("\n\n") != std::string::npos;
    auto head = parse_metadata_head(whole ? *text : text->substr(0, text->rfind('\n')));
    distribution.requirements = std::move(head.requirements);
    distribution.requires_python = std::move(head.requires_python);
  }
  if (const auto text = system.read(path_join(directory, "WHEEL"), 1 << 12))
    distribution.tag = parse_wheel_tag(*text);
}

}  // namespace

void read_metadata(const System& system, std::vector<Distribution>& distributions) {
  constexpr std::size_t kMost = 100;
  std::map<std::string, std::vector<std::string>> directories;
  std::size_t read = 0;
  for (auto& distribution : distributions) {
    if (!is_gpu_package(distribution.name) || ++read > kMost) continue;
    const auto& location = distribution.location;
    if (!directories.contains(location))
      directories[location] = metadata_directories(system, location);
    for (const auto& name : directories[location]) {
      const auto parsed = parse_distribution_name(name);
      if (!parsed || parsed->name != distribution.name || parsed->version != distribution.version)
        continue;
      read_one(system, path_join(location, name), distribution);
      break;
    }
  }
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
