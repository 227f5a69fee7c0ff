#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/system.h"
#include "machine/machine.h"

// What stands beside the driver and may switch a GPU off for CUDA: NVIDIA's installer, MIG, MPS,
// the licence of a virtual GPU, the firmware of the GSP, options of the modules.

namespace gpuwright {

/// Version in the first line of the installer's list of files (/var/lib/nvidia/log): "550.54.14",
/// long ago "1.0-9755 (97.55)".
std::optional<Version> parse_installer_list(std::string_view text);

/// Version in the installer's log: "installer version: 550.54.14".
std::optional<Version> parse_installer_log(std::string_view text);

/// Adds the options of NVIDIA's modules in a modprobe.d(5) file: "options nvidia NVreg_A=1" gives
/// "nvidia.NVreg_A" = "1". Debian's module nvidia-current counts as nvidia.
void add_module_options(std::string_view modprobe_text, std::map<std::string, std::string>& into);

/// The same of the kernel's command line: "nvidia.NVreg_A=1", "nvidia-drm.modeset=1".
void add_command_line_options(std::string_view command_line,
                              std::map<std::string, std::string>& into);

/// True for the name that a share of a GPU bears in a guest: "GRID V100D-32C", "NVIDIA A10-24Q";
/// false for a whole card: "NVIDIA A100-SXM4-80GB".
bool is_vgpu_name(std::string_view model);

/// True when gridd.conf(5) names a licence server or a place for tokens that is not the usual one.
bool names_licence_server(std::string_view gridd_conf);

/// Fills runfile, mig, mps_*, vgpu_guest, licence_* and gsp_firmware; needs module_version.
void fill_driver_services(const System& system, const Machine& before, Driver& driver);

}  // namespace gpuwright
