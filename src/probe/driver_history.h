#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"

// When which package of the driver or of the kernel came, went or changed: the logs of dpkg, APT,
// DNF, zypper and pacman. They make a story of "it worked yesterday". Only the logs that stand
// there as text are read, not the rotated and compressed ones; a month is more than enough.

namespace gpuwright {

/// True for a package of the driver or of a kernel: "libnvidia-compute-550", "kernel-core"; false
/// for the container toolkit, settings panels and CUDA's toolkit.
bool is_driver_or_kernel_package(std::string_view package);

/// "2026-11-20 06:12:33 upgrade libnvidia-compute-550:amd64 550.54.14-0ubuntu1 550.54.15-0ubuntu1"
std::vector<PackageEvent> parse_dpkg_log(std::string_view text);

/// "2026-11-20T06:12:33+0100 SUBDEBUG Upgrade: nvidia-driver-cuda-3:550.54.15-1.el9.x86_64", with
/// "Upgraded:" of the old package on a line of its own.
std::vector<PackageEvent> parse_dnf_log(std::string_view text);

/// "2026-11-20 06:12:33|install|nvidia-compute-G06|550.54.15-lp155.1.1|x86_64|root@host|repo|…|"
std::vector<PackageEvent> parse_zypp_history(std::string_view text);

/// "[2026-11-20T06:12:33+0100] [ALPM] upgraded nvidia-utils (550.54.14-1 -> 550.54.15-1)"
std::vector<PackageEvent> parse_pacman_log(std::string_view text);

/// Begin and end of the runs of unattended-upgrade in APT's history.log: "2026-11-20 06:12:30".
struct RunTimes {
  std::string begin, end;
};
std::vector<RunTimes> parse_unattended_runs(std::string_view history);

/// The action of an event of dpkg inside one of these runs becomes "unattended upgrade".
void mark_unattended(const std::vector<RunTimes>& runs, std::vector<PackageEvent>& events);

/// Fills package_history with the newest 50 events, newest last.
void fill_package_history(const System& system, Driver& driver);

}  // namespace gpuwright
