#include "base/text.h"
#include "diagnose/events.h"
#include "diagnose/fix.h"
#include "diagnose/log_gpu.h"
#include "diagnose/rule.h"

// CUDA against the driver's age: libraries of forward compatibility where they are not allowed, and
// runtimes that are newer than the driver.

namespace gpuwright {
namespace {

const Event* says(const Machine& machine, std::string_view code, std::string_view words) {
  if (const auto* event = event_with(machine, "cuda.count-failed", "code", code)) return event;
  for (const auto& event : machine.events)
    if (!event.id.starts_with("kernel.") && lower(event.text).find(words) != std::string::npos)
      return &event;
  return nullptr;
}

// The compat library of an image stands in for a newer driver, on data-centre cards only.
Verdict compat_is_allowed(const Machine& machine, const Catalog& catalog) {
  const auto* code =
      says(machine, "804", "forward compatibility was attempted on non supported hw");
  if (code == nullptr) return NotApplicable{};
  const Event* compat = nullptr;
  for (const auto* event : events_of(machine, "loader.libcuda"))
    if (compat == nullptr && value_of(*event, "path").find("compat") != std::string::npos)
      compat = event;
  const auto driver = told_driver(machine);
  const auto name = told_gpu_name(machine, catalog);
  return Finding{
      .statement = "the compat libcuda.so.1 of the image is used over driver " +
                   (driver ? driver->version : std::string("of the host")) +
                   ", which only data-centre GPUs allow" +
                   (name == "the GPU" ? "" : ", not " + name),
      .evidence = cite({code, compat, driver ? driver->line : nullptr}),
      .cause =
          "cuda-compat lets a newer CUDA run on an older driver; images put it first on the "
          "library path, and GeForce cards refuse it",
      .fix = {user_step("docker run --gpus all -e LD_LIBRARY_PATH= IMAGE",
                        "leaves the compat directory out, when the driver is new enough by itself; "
                        "in the image: apt remove 'cuda-compat-*'",
                        "this container", "start it as before"),
              advice("or upgrade the host's driver, so that compat is not needed"),
              advice("or take an image for an older CUDA, which this driver serves by itself")}};
}

// --------------------------------------------------------------------------------- age

// 10010 is 10.1, 12020 is 12.2.
std::string cuda_of_code(const std::string& code) {
  const auto number = parse_unsigned(code);
  if (!number || *number < 1000 || *number > 99999) return "";
  return std::to_string(*number / 1000) + "." + std::to_string(*number % 1000 / 10);
}

// "cu118" is 11.8, "cu92" 9.2.
std::string cuda_of_wheel(const std::string& digits) {
  if (digits.size() < 2) return "";
  return digits.substr(0, digits.size() - 1) + "." + digits.substr(digits.size() - 1);
}

std::string cuda_of_build(const Machine& machine, const Event*& line) {
  for (const auto* event : events_of(machine, "torch.cuda-of-build")) {
    line = event;
    for (const auto* name : {"conda", "said"})
      if (const auto value = value_of(*event, name); !value.empty()) return value;
    if (const auto wheel = value_of(*event, "wheel"); !wheel.empty()) return cuda_of_wheel(wheel);
  }
  line = nullptr;
  return "";
}

Verdict driver_is_young_enough(const Machine& machine, const Catalog& catalog) {
  const auto* line = first_event(machine, "cuda.driver-too-old");
  if (line == nullptr)
    line = says(machine, "35", "driver version is insufficient for cuda runtime");
  if (line == nullptr) return NotApplicable{};
  const auto driver = told_driver(machine);
  std::string offers = cuda_of_code(value_of(*line, "found"));
  if (offers.empty() && driver && driver->line->values.contains("cuda"))
    offers = value_of(*driver->line, "cuda");
  if (offers.empty() && driver)
    if (const auto version = Version::parse(driver->version))
      if (const auto cuda = catalog.cuda_of_driver(*version)) offers = cuda->text();
  const Event* build = nullptr;
  const auto wants = cuda_of_build(machine, build);
  std::string floor;
  if (const auto version = Version::parse(wants))
    if (const auto least = catalog.driver_floor(*version)) floor = least->text();
  return Finding{
      .statement = "driver " + (driver ? driver->version : std::string("of this machine")) +
                   " offers CUDA up to " + (offers.empty() ? "an older version" : offers) +
                   ", the environment is built for CUDA " +
                   (wants.empty() ? "that is newer" : wants),
      .evidence = cite({line, driver ? driver->line : nullptr, build}),
      .cause = "the driver is older than the CUDA that the framework brings along",
      .fix = {user_step(
                  "pip install torch --index-url "
                  "https://download.pytorch.org/whl/cu" +
                      [&] {
                        std::string tag;
                        for (const char c : offers)
                          if (c != '.') tag += c;
                        return tag.empty() ? std::string("118") : tag;
                      }(),
                  "a build for CUDA " + (offers.empty() ? "of this driver" : offers) +
                      " or older (conda: pytorch-cuda= or cudatoolkit=" +
                      (offers.empty() ? "VERSION" : offers) + ")",
                  "the package in this environment", "install the former version"),
              advice("or have the driver upgraded" +
                     (floor.empty() ? std::string() : " to " + floor + " or newer"))},
      .certainty = Certainty::kProven};
}

constexpr Rule kRules[] = {
    {"cuda.compat-shadows-driver", "forward compatibility is allowed here", compat_is_allowed,
     Standing::kOwn},
};
constexpr Rule kAgeRules[] = {
    {"framework.driver-too-old", "the driver is new enough for the framework",
     driver_is_young_enough},
};

}  // namespace

std::span<const Rule> log_compat_rules() { return kRules; }
std::span<const Rule> log_age_rules() { return kAgeRules; }

}  // namespace gpuwright
