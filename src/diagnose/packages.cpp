#include "diagnose/packages.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/framework_rule.h"

namespace gpuwright {

const Distribution* installed(const Machine& machine, std::string_view name) {
  const auto& all = machine.python.distributions;
  const auto found = std::ranges::find(all, name, &Distribution::name);
  return found == all.end() ? nullptr : &*found;
}

std::optional<Version> version_of(const Distribution& distribution) {
  const auto version = Version::parse(distribution.version);
  return version ? std::optional(*version) : std::nullopt;
}

const Distribution* owner_of(const Machine& machine, const Framework& framework) {
  if (framework.name == "jax") return installed(machine, "jaxlib");
  const auto site = path_directory(framework.location);
  for (const auto& distribution : machine.python.distributions)
    if (distribution.name == framework.distribution && distribution.location == site)
      return &distribution;
  return nullptr;
}

std::vector<Requirement> requirements_on(const Machine& machine, const Distribution& distribution,
                                         std::string_view package) {
  const auto& python = machine.python.interpreter;
  const MarkerEnvironment environment{
      python.is_known() && python->version.is_known() ? python->version->text() : "",
      machine.host.architecture.value_or("")};
  std::vector<Requirement> found;
  for (const auto& line : distribution.requirements) {
    auto requirement = Requirement::parse(line);
    if (!requirement || requirement->name != package) continue;
    if (marker_holds(requirement->marker, environment) == true)
      found.push_back(std::move(*requirement));
  }
  return found;
}

std::optional<Requirement> unmet(const Machine& machine, const Distribution& distribution,
                                 std::string_view package, const Version& version) {
  for (auto& requirement : requirements_on(machine, distribution, package))
    if (!requirement.range.contains(version)) return std::move(requirement);
  return std::nullopt;
}

Evidence cite_package(const Distribution& distribution) {
  return {distribution.name + " " + distribution.version, distribution.location};
}

Evidence cite_requirement(const Distribution& distribution, const Requirement& requirement) {
  return {distribution.name + " " + distribution.version + " asks for " + requirement.name +
              requirement.range.text(),
          "its metadata in " + distribution.location};
}

std::string python_series(const Machine& machine) {
  const auto& python = machine.python.interpreter;
  if (!python.is_known() || !python->version.is_known() || python->version->size() < 2) return "";
  return std::to_string(python->version->part(0)) + "." + std::to_string(python->version->part(1));
}

bool is_conda_build(const Machine& machine, const Framework& framework) {
  if (framework.conda_build.is_known()) return true;
  return framework.conda_build.is_unknown() && in_conda(machine);
}

}  // namespace gpuwright
