#pragma once

#include <string>

#include "base/system.h"
#include "loader/loader.h"

// What the dynamic loader does for an ordinary program of this machine. The C library, the C++
// runtime and the driver libraries are the files that *it* would map, not the first ones on a disk.

namespace gpuwright {

/// A modelled process of a program that everybody can start.
struct PlainProgram {
  loader::Process process;
  std::string program;  ///< "/bin/sh"; empty when no candidate could be modelled.
  std::string problem;  ///< Why there is none; empty when the process stands.
};

PlainProgram start_plain_program(const System& system);

}  // namespace gpuwright
