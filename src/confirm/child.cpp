#include "confirm/child.h"

#include <unistd.h>

#include <tuple>

namespace gpuwright {

int run_as_child(const std::vector<std::string>& words) {
  constexpr int kWrongUsage = 2;
  if (words.size() != 3) return kWrongUsage;
  const auto& [what, path, marker] = std::tie(words[0], words[1], words[2]);
  const Speaker speaker(marker);
  Run run;
  if (what == "nvml") {
    run.nvml = Fact<NvmlRun>::known(ask_nvml(path, speaker), path);
  } else if (what == "driver") {
    run.driver = Fact<DriverRun>::known(ask_driver(path, speaker), path);
  } else {
    return kWrongUsage;
  }
  speaker.tell(run);
  ::_exit(0);
}

}  // namespace gpuwright
