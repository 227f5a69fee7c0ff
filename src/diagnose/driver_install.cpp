#include <algorithm>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/rule.h"
#include "diagnose/setting.h"

// How the driver came here: two ways over each other, a package that was left half done.

namespace gpuwright {
namespace {

// Packages that bring files which NVIDIA's installer brings too.
std::vector<std::string> driver_packages(const Machine& machine) {
  return installed_packages(machine, {"nvidia-driver", "nvidia-dkms", "nvidia-kernel",
                                      "nvidia-open", "libnvidia-compute", "libcuda1"});
}

std::vector<FixStep> keep_one(const Machine& machine) {
  const std::string again =
      "sudo apt install --reinstall " + join(driver_packages(machine), " ") + " && sudo ldconfig";
  return {root_step("sudo nvidia-uninstall",
                    "takes out what NVIDIA's installer wrote; then the next step at once",
                    "removes the driver of the .run file, libraries and module alike",
                    "run the .run file again"),
          root_step(again, "writes the packages' files anew, which the installer had replaced",
                    "the driver's packages", "none needed"),
          reboot("loads the module of the packages")};
}

// Each way knows only its own files. The installer's libraries lie over the packages', or beside
// them, and the next upgrade of one of the two leaves a mixture.
Verdict is_installed_once(const Machine& machine, const Catalog&) {
  if (setting_of(machine) != Setting::kHost) return NotApplicable{};
  const Driver& driver = machine.driver;
  if (!driver.runfile.is_known())
    return driver.runfile.is_absent() ? Verdict(Fine{}) : NotApplicable{};
  const auto packages = driver_packages(machine);
  if (packages.empty()) return driver.packages.is_known() ? Verdict(Fine{}) : NotApplicable{};
  std::vector<Evidence> evidence = {
      {"NVIDIA's installer wrote " + driver.runfile->text(), driver.runfile.source()}};
  for (const auto& package : *driver.packages)
    if (evidence.size() < 5 && std::any_of(packages.begin(), packages.end(), [&](const auto& name) {
          return package.starts_with(name + " ");
        }))
      evidence.push_back({"package " + package, driver.packages.source()});
  return Finding{
      .severity = Severity::kWarning,
      .statement = "the driver is installed twice: by NVIDIA's .run file (" +
                   driver.runfile->text() + ") and by packages (" + packages.front() + ")",
      .evidence = std::move(evidence),
      .cause =
          "NVIDIA's installer ran on a system that has the distribution's driver, or packages "
          "(cuda, nvidia-driver) came after it; the next upgrade leaves a mixture of both",
      .fix = keep_one(machine),
  };
}

// Others, such as triggers-pending, pass by themselves.
bool is_unfinished(const std::string& package) {
  for (const std::string_view state : {"(half-", "(unpacked"})
    if (package.find(state) != std::string::npos) return true;
  return false;
}

// dpkg stops in the middle when a maintainer's script fails: DKMS did not build, the disk was full.
Verdict packages_are_finished(const Machine& machine, const Catalog&) {
  const auto& packages = machine.driver.packages;
  if (!packages.is_known()) return NotApplicable{};
  std::vector<std::string> names;
  std::vector<Evidence> evidence;
  for (const auto& package : *packages) {
    if (!is_unfinished(package)) continue;
    names.push_back(package.substr(0, package.find(' ')));
    evidence.push_back({package, packages.source()});
  }
  if (names.empty()) return Fine{};
  return Finding{
      .severity = Severity::kWarning,
      .statement = "dpkg has not finished " + join(names, ", ") + ": " + evidence.front().text,
      .evidence = std::move(evidence),
      .cause =
          "its last installation or upgrade broke off: the module did not build, the disk was "
          "full, or it was interrupted",
      .fix = {root_step("sudo dpkg --configure -a", "goes on; an error here names the reason",
                        "the packages named", "none needed"),
              root_step("sudo apt --fix-broken install", "when packages are missing",
                        "the packages named", "none needed")},
  };
}

constexpr Rule kRules[] = {
    {"driver.two-installs", "the driver is installed one way only", is_installed_once,
     Standing::kAdvice},
    {"driver.package-unfinished", "the driver's packages are fully installed",
     packages_are_finished, Standing::kAdvice},
};

}  // namespace

std::span<const Rule> driver_install_rules() { return kRules; }

}  // namespace gpuwright
