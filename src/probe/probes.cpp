#include <fmt/format.h>

#include <array>
#include <exception>
#include <future>
#include <thread>

#include "probe/probe.h"

namespace gpuwright {
namespace {

using std::chrono_literals::operator""s;

// In the order of the ladder: a later probe sees what the earlier ones filled. A warm run takes
// milliseconds; the deadlines leave room for a cold disk, and for Python environments on a network
// file system. What they guard against is a file system that has stopped answering.
constexpr std::array kProbes = {
    // name, probe, deadline
    Probe{"host", probe_host, 2s},
    Probe{"hardware", probe_hardware, 2s},
    Probe{"driver", probe_driver, 3s},
    Probe{"cuda", probe_cuda, 3s},
    Probe{"declared", probe_declared, 2s},
    Probe{"python", probe_python, 10s},
    Probe{"limits", probe_limits, 3s},
    Probe{"copies", probe_library_copies, 5s},
    Probe{"framework", probe_frameworks, 20s},
};

// Held by the probe's thread, so that an abandoned one never reads freed memory. The machine is a
// copy that nobody changes any more.
struct Work {
  std::shared_ptr<const System> system;
  std::shared_ptr<const Machine> machine;
  const Catalog* catalog;
  ProbeOptions options;
};

std::future<Fill> start(const Probe& probe, Work work) {
  std::packaged_task<Fill()> task([run = probe.run, work = std::move(work)] {
    return run({*work.system, *work.machine, *work.catalog, work.options});
  });
  auto fill = task.get_future();
  std::thread(std::move(task)).detach();
  return fill;
}

// Exceptions end here: whatever a probe or a library below it throws becomes a note.
Result<Fill> fill_of(const Probe& probe, Work work) try {
  auto fill = start(probe, std::move(work));
  if (fill.wait_for(probe.deadline) != std::future_status::ready)
    return fail(fmt::format("did not finish within {} ms", probe.deadline.count()));
  return fill.get();
} catch (const std::exception& error) {
  return fail(fmt::format("failed: {}", error.what()));
} catch (...) {
  return fail("failed: unknown exception");
}

}  // namespace

Machine run_probes(std::span<const Probe> probes, std::shared_ptr<const System> system,
                   const Catalog& catalog, const ProbeOptions& options) {
  auto machine = std::make_shared<const Machine>();
  for (const Probe& probe : probes) {
    const auto fill = fill_of(probe, {system, machine, &catalog, options});
    auto next = std::make_shared<Machine>(*machine);
    if (fill)
      (*fill)(*next);
    else
      next->notes.push_back({probe.name, fill.error().message});
    machine = std::move(next);
  }
  return *machine;
}

Machine probe_machine(std::shared_ptr<const System> system, const Catalog& catalog,
                      const ProbeOptions& options) {
  return run_probes(kProbes, std::move(system), catalog, options);
}

}  // namespace gpuwright
