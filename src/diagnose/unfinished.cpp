#include <algorithm>

#include "diagnose/ladder.h"

namespace gpuwright {
namespace {

// A probe bears the name of its rung. "framework" and "python" fill what rules take for "none
// installed" when it is empty, so that nobody else would miss them.
bool is_probe_of(Rung rung, const ProbeNote& note) { return note.probe == name_of(rung); }

bool is_open(Rung rung, const Diagnosis& diagnosis) {
  return std::any_of(diagnosis.undecided.begin(), diagnosis.undecided.end(),
                     [&](const Undecision& one) { return one.rung == rung; });
}

}  // namespace

void doubt_what_was_cut_off(const Machine& machine, Diagnosis& diagnosis) {
  for (const auto& note : machine.notes)
    for (const Rung rung : {Rung::kHost, Rung::kHardware, Rung::kDriver, Rung::kCuda, Rung::kPython,
                            Rung::kFramework})
      if (is_probe_of(rung, note) && !is_open(rung, diagnosis))
        diagnosis.undecided.push_back(
            {note.probe, rung, {{"probe " + note.probe + ": " + note.text, ""}}});
}

}  // namespace gpuwright
