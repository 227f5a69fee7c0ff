#include <array>

#include "base/text.h"
#include "probe/framework.h"

// How a framework came here: the local part of its version, and conda's record.

namespace gpuwright {
namespace {

struct CondaPackage {
  const char* framework;
  std::array<const char*, 2> names;  ///< The one with the code first.
};
constexpr std::array kPackages = {
    CondaPackage{"tensorflow", {"tensorflow-base", "tensorflow"}},
    CondaPackage{"torch", {"pytorch", "torch"}},
    CondaPackage{"jax", {"jaxlib", "jax"}},
};

Fact<std::string> local_part(const Framework& framework) {
  const auto& source = framework.version.source();
  if (!framework.version.is_known()) return Fact<std::string>::unknown(source, "no version");
  const auto& text = framework.version->text();
  const auto plus = text.find('+');
  if (plus == std::string::npos) return Fact<std::string>::absent(source);
  return Fact<std::string>::known(text.substr(plus + 1), source);
}

std::optional<std::string> build_in(const std::vector<DirectoryEntry>& records,
                                    const std::string& name, const Version& version) {
  for (const auto& entry : records) {
    const auto record = parse_conda_build(entry.name);
    if (!record || record->name != name) continue;
    const auto recorded = Version::parse(record->version);
    if (recorded && recorded->same_series(version, 3)) return record->build;
  }
  return std::nullopt;
}

}  // namespace

std::optional<CondaBuild> parse_conda_build(std::string_view entry) {
  constexpr std::string_view kSuffix = ".json";
  if (!entry.ends_with(kSuffix)) return std::nullopt;
  entry.remove_suffix(kSuffix.size());
  const auto build = entry.rfind('-');
  if (build == std::string_view::npos || build == 0) return std::nullopt;
  const auto version = entry.rfind('-', build - 1);
  if (version == std::string_view::npos) return std::nullopt;
  return CondaBuild{std::string(entry.substr(0, version)),
                    std::string(entry.substr(version + 1, build - version - 1)),
                    printable(entry.substr(build + 1))};
}

void describe_origin(const FrameworkScene& scene, Framework& framework) {
  framework.variant = local_part(framework);
  const auto& interpreter = scene.python().interpreter;
  if (!interpreter.is_known()) return;
  const auto directory = path_join(interpreter->prefix, "conda-meta");
  framework.conda_build = Fact<std::string>::absent(directory);
  const auto records = scene.system().list(directory);
  const auto& version = framework.name == "jax" ? framework.core_version : framework.version;
  if (!records || !version.is_known()) return;
  for (const auto& package : kPackages) {
    if (framework.name != package.framework) continue;
    for (const auto* name : package.names)
      if (auto build = build_in(*records, name, *version)) {
        framework.conda_build = Fact<std::string>::known(std::move(*build), directory);
        return;
      }
  }
}

}  // namespace gpuwright
