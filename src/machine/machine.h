#pragma once

#include <string>
#include <vector>

#include "machine/cuda.h"
#include "machine/driver.h"
#include "machine/event.h"
#include "machine/framework.h"
#include "machine/hardware.h"
#include "machine/host.h"
#include "machine/python.h"
#include "machine/run.h"

// Everything known about a machine, as plain data. Probes fill it from the live system, a snapshot
// from another machine, the text readers (partly) from pasted output. Rules judge it and nothing
// else. The JSON form comes from the field lists in machine/fields.h: a new field is a line here
// and a line there. Facts of the catalogue (names of GPUs, what a driver supports) are not facts of
// a machine and are not stored.

namespace gpuwright {

/// What a probe could not do as a whole: its deadline passed, or it threw.
struct ProbeNote {
  std::string probe;
  std::string text;
  friend bool operator==(const ProbeNote&, const ProbeNote&) = default;
};

struct Machine {
  Host host;
  Hardware hardware;
  Driver driver;
  Cuda cuda;
  Python python;
  std::vector<Framework> frameworks;
  Run run;
  std::vector<Event> events;  ///< Of pasted text and logs, in their order; empty without.
  std::vector<ProbeNote> notes;
  friend bool operator==(const Machine&, const Machine&) = default;
};

}  // namespace gpuwright
