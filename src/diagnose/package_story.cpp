#include "diagnose/package_story.h"

#include <cctype>

namespace gpuwright {
namespace {

// "6.12.2.arch1-1" and "6.12.2-arch1-1" are one release.
std::string letters_and_digits(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) out += c;
  return out;
}

bool brings_kernel(const PackageEvent& event, const std::string& release) {
  if (event.action == "remove" || event.to.empty()) return false;
  if (event.package.starts_with("linux-image-"))
    return event.package.ends_with("-" + release) || event.package == "linux-image-" + release;
  const bool of_a_kernel = event.package.starts_with("kernel") || event.package == "linux" ||
                           event.package.starts_with("linux-");
  return of_a_kernel && letters_and_digits(release).starts_with(letters_and_digits(event.to));
}

}  // namespace

const PackageEvent* newest_event(const Machine& machine,
                                 const std::function<bool(const PackageEvent&)>& is) {
  const auto& history = machine.driver.package_history;
  if (!history.is_known()) return nullptr;
  for (auto event = history->rbegin(); event != history->rend(); ++event)
    if (is(*event)) return &*event;
  return nullptr;
}

const PackageEvent* arrival_of_kernel(const Machine& machine, const std::string& release) {
  return newest_event(machine,
                      [&](const PackageEvent& event) { return brings_kernel(event, release); });
}

std::string told(const PackageEvent& event) {
  const std::string what = event.action == "unattended upgrade" ? "an unattended upgrade"
                           : event.action == "install"          ? "an installation"
                           : event.action == "downgrade"        ? "a downgrade"
                                                                : "an upgrade";
  if (event.from.empty())
    return "on " + event.time + " " + what + " brought " + event.package + " " + event.to;
  return "on " + event.time + " " + what + " replaced " + event.package + " " + event.from +
         " by " + event.to;
}

Evidence cite_event(const PackageEvent& event) { return {told(event), event.log}; }

}  // namespace gpuwright
