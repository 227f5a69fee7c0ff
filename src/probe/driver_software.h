#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"

// What surrounds the driver: packages that installed it, and the two daemons that it may need.

namespace gpuwright {

/// The driver's packages in stanzas of dpkg's status file (deb-control(5) fields), as
/// "name version", with "(half-configured)" or the like behind when dpkg did not finish one.
std::vector<std::string> parse_driver_packages(std::string_view stanzas);

/// Upstream part of a Debian version: "1:550.54.15-0ubuntu1" gives "550.54.15".
std::string_view upstream_version(std::string_view debian_version);

/// Whether a process of this name runs. Asked only where the program is installed: the walk costs a
/// read for each process.
Fact<bool> is_process_running(const System& system, std::string_view name);

/// Fills packages, persistence_daemon and the fabric manager's two fields. `container` decides what
/// a missing process proves: inside one, the host's are not shown.
void fill_driver_software(const System& system, const Fact<std::string>& container, Driver& driver);

}  // namespace gpuwright
