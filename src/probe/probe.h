#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/system.h"
#include "catalog/catalog.h"
#include "machine/machine.h"

// Live system -> Machine. A probe of a subject is a file: pure parse_*(text) functions that tests
// feed with real samples, and a short fill that reads through the System door. To add one: a file
// probe/<subject>.cpp and a row in probe/probes.cpp. A probe does not fail: what it cannot read it
// records as unknown with the reason, and goes on.

namespace gpuwright {

struct ProbeOptions {
  std::string python;     ///< --python: interpreter or environment directory; empty to choose.
  std::string framework;  ///< Examine this one alone; empty for all.
};

/// What a probe works on. The runner keeps it alive for as long as the probe runs, past its
/// deadline too; the catalogue has to outlive the process's threads. A Fill must hold values of its
/// own and no reference to any of this.
struct ProbeInput {
  const System& system;
  const Machine& machine;  ///< What earlier probes filled.
  const Catalog& catalog;
  const ProbeOptions& options;
};

/// Applied to the machine when the probe finished in time.
using Fill = std::function<void(Machine&)>;

struct Probe {
  const char* name;
  Fill (*run)(const ProbeInput&);
  std::chrono::milliseconds deadline;
};

/// Runs all probes in order, each with its deadline; one that does not finish is noted and its part
/// stays "not looked at". The abandoned thread goes on reading until the process ends, so a caller
/// must leave by std::quick_exit or _exit when `machine.notes` is not empty.
Machine probe_machine(std::shared_ptr<const System> system, const Catalog& catalog,
                      const ProbeOptions& options);

/// The same with a table of one's own.
Machine run_probes(std::span<const Probe> probes, std::shared_ptr<const System> system,
                   const Catalog& catalog, const ProbeOptions& options);

Fill probe_host(const ProbeInput& input);
Fill probe_hardware(const ProbeInput& input);
Fill probe_driver(const ProbeInput& input);
Fill probe_cuda(const ProbeInput& input);
Fill probe_declared(const ProbeInput& input);  ///< Rung cuda: start-up files of shells.
Fill probe_python(const ProbeInput& input);
Fill probe_limits(const ProbeInput& input);          ///< Rung host: room, memory, clock.
Fill probe_library_copies(const ProbeInput& input);  ///< Rung libraries.
Fill probe_frameworks(const ProbeInput& input);

}  // namespace gpuwright
