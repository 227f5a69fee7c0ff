#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "machine/machine.h"

namespace gpuwright {

/// The first processor of /proc/cpuinfo.
struct CpuInfo {
  std::string model;                  ///< "model name"; empty on most ARM machines.
  std::vector<std::string> features;  ///< "flags" (x86) or "Features" (ARM); those that builds are
                                      ///< made for, in the kernel's order.
  bool has_features = false;          ///< The line was there.
};
CpuInfo parse_cpu_info(std::string_view text);

void fill_cpu(const System& system, Host& host);

}  // namespace gpuwright
