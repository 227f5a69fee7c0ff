#pragma once

#include <memory>
#include <string>

#include "base/system.h"
#include "catalog/catalog.h"
#include "cli/output.h"
#include "machine/machine.h"

namespace gpuwright::cli {

/// Where a machine comes from, as typed.
struct MachineOptions {
  std::string root;              ///< --root; empty for this machine.
  std::string from;              ///< --from: a snapshot; empty to look.
  std::string python;            ///< --python; empty to choose.
  std::string framework;         ///< --framework; empty for all.
  std::string service{};         ///< --service: a systemd unit.
  std::string user{};            ///< --user: somebody's login.
  std::string environ_file{};    ///< --environ: a file of variables.
  bool cron = false;             ///< --cron
  bool sudo = false;             ///< --sudo
  std::string environment_of{};  ///< Whose view these come to; see Host::environment_of.
};

/// The file tree that --root names, or this machine.
[[nodiscard]] Result<std::shared_ptr<const System>> open_system(const std::string& root);

/// The tables of --catalog, or the built-in ones. They live until the process ends, since a probe
/// past its deadline may still read them.
[[nodiscard]] Result<const Catalog*> open_catalog(const std::string& directory);

/// Probes the system, or reads the snapshot.
[[nodiscard]] Result<Machine> open_machine(const MachineOptions& options, const Catalog& catalog,
                                           Output& output);

/// A file that the user named, whatever it is: also a pipe, and "-" for standard input. More than
/// `limit` bytes are an error.
[[nodiscard]] Result<std::string> read_input(const std::string& name, std::size_t limit);

}  // namespace gpuwright::cli
