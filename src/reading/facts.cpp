#include "reading/facts.h"

#include "base/text.h"

namespace gpuwright {
namespace {

std::string value_of(const Event& event, const char* name) {
  const auto found = event.values.find(name);
  return found == event.values.end() ? std::string() : found->second;
}

void set_version(Fact<Version>& fact, const Event& event, const char* name) {
  if (fact.is_known()) return;
  if (const auto version = Version::parse(value_of(event, name)))
    fact = Fact<Version>::known(*version, event.source);
}

void loaded_module(const Event& event, Machine& machine) {
  // Later lines of a kernel log are newer.
  if (const auto version = Version::parse(value_of(event, "version")))
    machine.driver.module_version = Fact<Version>::known(*version, event.source);
  const bool open = value_of(event, "flavour").starts_with("Open");
  machine.driver.module_flavour =
      Fact<std::string>::known(open ? "open" : "proprietary", event.source);
}

void smi_header(const Event& event, Machine& machine) {
  set_version(machine.driver.module_version, event, "driver");
}

void package(const Event& event, Machine& machine) {
  Distribution distribution;
  distribution.name = value_of(event, "name");
  distribution.version = value_of(event, "version");
  distribution.location = event.source;
  machine.python.distributions.push_back(std::move(distribution));
}

struct Meaning {
  const char* event;
  void (*fill)(const Event&, Machine&);
};

constexpr Meaning kMeanings[] = {
    {"kernel.module-loaded", loaded_module},
    {"smi.header", smi_header},
    {"package", package},
};

}  // namespace

void fill_facts(Machine& machine) {
  for (const auto& event : machine.events)
    for (const auto& meaning : kMeanings)
      if (event.id == meaning.event) meaning.fill(event, machine);
}

}  // namespace gpuwright
