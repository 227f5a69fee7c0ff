#include "diagnose/gpu.h"

#include <algorithm>

#include "base/text.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

namespace gpuwright {
namespace {

std::optional<ModuleFlavour> flavour_of(const Fact<std::string>& text) {
  if (text.is("open")) return ModuleFlavour::kOpen;
  if (text.is("proprietary")) return ModuleFlavour::kProprietary;
  return std::nullopt;
}

std::optional<InstalledDriver> loaded_driver(const Driver& driver) {
  if (!driver.module_version.is_known()) return std::nullopt;
  return InstalledDriver{.version = *driver.module_version,
                         .flavour = flavour_of(driver.module_flavour),
                         .evidence = {cite("loaded module", driver.module_version),
                                      cite("flavour of the loaded module", driver.module_flavour)}};
}

std::optional<InstalledDriver> driver_on_disk(const Machine& machine, const std::string& kernel) {
  const ModuleFile* file = module_file(machine, kernel);
  if (file == nullptr || !file->version.is_known()) return std::nullopt;
  return InstalledDriver{.version = *file->version,
                         .flavour = flavour_of(file->flavour),
                         .evidence = {cite("module on disk", file->version),
                                      cite("flavour of the module on disk", file->flavour)}};
}

std::optional<InstalledDriver> driver_of_dkms(const Fact<std::vector<DkmsBuild>>& dkms,
                                              const std::string& kernel) {
  if (!dkms.is_known()) return std::nullopt;
  for (const auto& build : *dkms) {
    if (std::find(build.built_for.begin(), build.built_for.end(), kernel) == build.built_for.end())
      continue;
    return InstalledDriver{
        .version = build.version,
        .flavour = std::nullopt,
        .evidence = {{"DKMS built " + build.module + " " + build.version.text() + " for " + kernel,
                      dkms.source()}}};
  }
  return std::nullopt;
}

std::optional<ArchitectureSupport> support_of(const Catalog& catalog, const PciGpu& gpu) {
  const auto model = catalog.gpu(gpu.device_id);
  return model ? catalog.architecture(model->architecture) : std::nullopt;
}

std::string with_count(const std::string& name, std::size_t count) {
  return count == 1 ? name : std::to_string(count) + " x " + name;
}

}  // namespace

std::string gpu_name(const Machine& machine, const Catalog& catalog, const PciGpu& gpu) {
  const auto& listed = machine.hardware.driver_gpus;
  if (listed.is_known()) {
    for (const auto& other : *listed)
      if (other.address == gpu.address && other.model.is_known()) return *other.model;
  }
  const auto model = catalog.gpu(gpu.device_id);
  if (model && !model->name.empty()) return "NVIDIA " + model->name;
  return "NVIDIA GPU 10de:" + gpu.device_id;
}

std::string counted_names(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::size_t>> kinds;
  for (const auto& name : names) {
    const auto same = [&](const auto& kind) { return kind.first == name; };
    const auto kind = std::find_if(kinds.begin(), kinds.end(), same);
    if (kind == kinds.end()) {
      kinds.emplace_back(name, 1);
    } else {
      ++kind->second;
    }
  }
  std::vector<std::string> pieces;
  for (const auto& [name, count] : kinds) pieces.push_back(with_count(name, count));
  return join(pieces, " and ");
}

std::string gpu_names(const Machine& machine, const Catalog& catalog) {
  std::vector<std::string> names;
  for (const auto& gpu : machine.hardware.gpus.value_or({}))
    names.push_back(gpu_name(machine, catalog, gpu));
  return counted_names(names);
}

std::optional<InstalledDriver> installed_driver(const Machine& machine) {
  if (auto driver = loaded_driver(machine.driver)) return driver;
  if (!machine.host.kernel_release.is_known()) return std::nullopt;
  const std::string& kernel = *machine.host.kernel_release;
  if (auto driver = driver_on_disk(machine, kernel)) return driver;
  return driver_of_dkms(machine.driver.dkms, kernel);
}

Fit fit(const Catalog& catalog, const PciGpu& gpu, const InstalledDriver& driver) {
  const auto support = support_of(catalog, gpu);
  if (!support) return Fit::kUnknown;
  const auto branch = driver.version.major_part();
  if (support->last_branch && branch > *support->last_branch) return Fit::kDropped;
  if (support->first_branch && branch < *support->first_branch) return Fit::kTooNew;
  if (driver.flavour == ModuleFlavour::kOpen &&
      support->kernel_module == ModuleFlavour::kProprietary)
    return Fit::kNeedsProprietary;
  if (driver.flavour == ModuleFlavour::kProprietary &&
      support->kernel_module == ModuleFlavour::kOpen)
    return Fit::kNeedsOpen;
  return Fit::kUnknown;
}

DriverNeed driver_need(const Catalog& catalog, const std::vector<PciGpu>& gpus) {
  DriverNeed need;
  for (const auto& gpu : gpus) {
    const auto support = support_of(catalog, gpu);
    if (!support) continue;
    if (support->last_branch)
      need.last_branch =
          std::min(need.last_branch.value_or(*support->last_branch), *support->last_branch);
    if (support->first_branch)
      need.first_branch = std::max(need.first_branch.value_or(0), *support->first_branch);
    if (support->kernel_module == ModuleFlavour::kEither) continue;
    if (need.flavour != ModuleFlavour::kEither && need.flavour != support->kernel_module)
      need.impossible = true;
    need.flavour = support->kernel_module;
  }
  if (need.first_branch && need.last_branch && *need.first_branch > *need.last_branch)
    need.impossible = true;
  return need;
}

}  // namespace gpuwright
