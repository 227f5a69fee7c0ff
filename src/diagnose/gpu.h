#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/finding.h"
#include "machine/machine.h"

// GPUs by name, and which driver drives which GPU.

namespace gpuwright {

/// As the loaded driver calls it ("NVIDIA H200"), else as the catalogue does, else the PCI id.
std::string gpu_name(const Machine& machine, const Catalog& catalog, const PciGpu& gpu);

/// "NVIDIA H200", "8 x NVIDIA A100-SXM4-80GB", "NVIDIA T4 and NVIDIA RTX A4000"; "" for none.
std::string counted_names(const std::vector<std::string>& names);

/// The same of all GPUs on the bus; "" when they are unknown or there is none.
std::string gpu_names(const Machine& machine, const Catalog& catalog);

/// The driver of this system, loaded or only on disk.
struct InstalledDriver {
  Version version;
  std::optional<ModuleFlavour> flavour;  ///< kOpen or kProprietary; nothing when it is unknown.
  std::vector<Evidence> evidence;        ///< Where both were read.
};
/// Of the loaded module; else of the module file of the running kernel; else of its DKMS build.
std::optional<InstalledDriver> installed_driver(const Machine& machine);

/// How a driver stands to a GPU, by the catalogue.
enum class Fit {
  kUnknown,           ///< The catalogue does not know the GPU, or nothing speaks against it.
  kDropped,           ///< The last branch for its architecture is older than this driver.
  kTooNew,            ///< The first branch for its architecture is newer than this driver.
  kNeedsProprietary,  ///< The open module is installed; this GPU has no GSP for it.
  kNeedsOpen,         ///< The proprietary module is installed; this GPU needs the open one.
};
Fit fit(const Catalog& catalog, const PciGpu& gpu, const InstalledDriver& driver);

/// Which driver serves all of some GPUs.
struct DriverNeed {
  std::optional<std::uint64_t> last_branch;   ///< Newest branch that still drives them all.
  std::optional<std::uint64_t> first_branch;  ///< Oldest that does.
  ModuleFlavour flavour = ModuleFlavour::kEither;
  bool impossible = false;  ///< Two of them need different flavours or branches.
};
DriverNeed driver_need(const Catalog& catalog, const std::vector<PciGpu>& gpus);

}  // namespace gpuwright
