#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/rule.h"
#include "machine/machine.h"

// What rules about lines of logs ask.

namespace gpuwright {

/// The first event of a kind, null when there is none; the last one where the newest counts.
const Event* first_event(const Machine& machine, std::string_view id);
const Event* last_event(const Machine& machine, std::string_view id);
std::vector<const Event*> events_of(const Machine& machine, std::string_view id);
bool has_event(const Machine& machine, std::string_view id);

/// The first event of a kind whose value `name` is `wanted`, upper and lower case alike.
const Event* event_with(const Machine& machine, std::string_view id, const char* name,
                        std::string_view wanted);
/// The first event of a kind whose line holds `text`, upper and lower case alike.
const Event* event_saying(const Machine& machine, std::string_view id, std::string_view text);

/// A value of an event, empty when its line does not tell it.
std::string value_of(const Event& event, const char* name);

/// The line and its place, "(5 times)" when it stood there more than once.
Evidence cite(const Event& event);
/// All of them that are not null.
std::vector<Evidence> cite(std::initializer_list<const Event*> events);

/// The version of a distribution that a list of packages names; empty when none does.
std::string package_version(const Machine& machine, std::string_view name);
/// Its line.
const Event* package_event(const Machine& machine, std::string_view name);

}  // namespace gpuwright
