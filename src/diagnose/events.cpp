#include "diagnose/events.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {

std::vector<const Event*> events_of(const Machine& machine, std::string_view id) {
  std::vector<const Event*> found;
  for (const auto& event : machine.events)
    if (event.id == id) found.push_back(&event);
  return found;
}

const Event* first_event(const Machine& machine, std::string_view id) {
  for (const auto& event : machine.events)
    if (event.id == id) return &event;
  return nullptr;
}

const Event* last_event(const Machine& machine, std::string_view id) {
  for (auto it = machine.events.rbegin(); it != machine.events.rend(); ++it)
    if (it->id == id) return &*it;
  return nullptr;
}

bool has_event(const Machine& machine, std::string_view id) {
  return first_event(machine, id) != nullptr;
}

const Event* event_with(const Machine& machine, std::string_view id, const char* name,
                        std::string_view wanted) {
  for (const auto& event : machine.events)
    if (event.id == id && lower(value_of(event, name)) == lower(wanted)) return &event;
  return nullptr;
}

const Event* event_saying(const Machine& machine, std::string_view id, std::string_view text) {
  for (const auto& event : machine.events)
    if (event.id == id && lower(event.text).find(lower(text)) != std::string::npos) return &event;
  return nullptr;
}

std::string value_of(const Event& event, const char* name) {
  const auto found = event.values.find(name);
  return found == event.values.end() ? std::string() : found->second;
}

Evidence cite(const Event& event) {
  const auto times = event.count > 1 ? " (" + std::to_string(event.count) + " times)" : "";
  return {std::string(trim(event.text)) + times, event.source};
}

std::vector<Evidence> cite(std::initializer_list<const Event*> events) {
  std::vector<Evidence> out;
  for (const auto* event : events)
    if (event != nullptr) out.push_back(cite(*event));
  return out;
}

const Event* package_event(const Machine& machine, std::string_view name) {
  for (const auto& event : machine.events) {
    if (event.id != "package") continue;
    auto given = lower(value_of(event, "name"));
    std::replace(given.begin(), given.end(), '_', '-');
    if (given == name) return &event;
  }
  return nullptr;
}

std::string package_version(const Machine& machine, std::string_view name) {
  const auto* event = package_event(machine, name);
  return event == nullptr ? "" : value_of(*event, "version");
}

}  // namespace gpuwright
