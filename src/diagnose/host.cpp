#include "diagnose/fix.h"
#include "diagnose/rule.h"

namespace gpuwright {
namespace {

// WSL 1 translates system calls and has no kernel of its own, so there is nothing that a GPU driver
// could hang on to; only WSL 2 has /dev/dxg. Distributions made before 2020, and those on machines
// without virtualisation, still are version 1.
Verdict is_not_wsl1(const Machine& machine, const Catalog&) {
  const auto& wsl = machine.host.wsl;
  if (wsl.is_absent()) return NotApplicable{};
  if (!wsl.is_known()) return Undecided{{cite("WSL", wsl)}};
  if (*wsl != 1) return Fine{};
  return Finding{
      .statement = "this is WSL 1, which has no GPU; only WSL 2 does",
      .evidence = {cite("WSL version", wsl), cite("kernel", machine.host.kernel_release)},
      .cause =
          "the distribution was installed as version 1, or virtualisation was off in the "
          "firmware when it was",
      .fix = {user_step("wsl.exe --set-version DISTRIBUTION 2",
                        "in PowerShell; wsl.exe --list shows the distribution's name",
                        "converts the distribution to a virtual disk", "the same with 1"),
              advice("WSL 2 needs virtualisation switched on in the firmware and the Windows "
                     "feature Virtual Machine Platform")},
  };
}

constexpr Rule kRules[] = {
    {"host.wsl1", "under Windows this is WSL 2", is_not_wsl1},
};

}  // namespace

std::span<const Rule> host_rules() { return kRules; }

}  // namespace gpuwright
