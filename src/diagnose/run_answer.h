#pragma once

#include "diagnose/diagnose.h"
#include "machine/machine.h"

// What a run (`check --run`) does to the answers: what was seen counts more than what was
// predicted.

namespace gpuwright {

/// `confidence` of an answer that a run has confirmed.
inline constexpr const char* kConfirmed = "confirmed";

/// What the framework did; null when it was not run.
const FrameworkRun* run_of(const Machine& machine, const Framework& framework);

/// It saw a GPU and computed rightly on it.
bool works(const FrameworkRun& run);

/// MIG or an MPS server decides how many devices a program sees, whatever the number of GPUs.
bool gpus_are_divided(const Machine& machine);

/// Puts the run's answer in the place of the predicted one where the run decides.
void apply_run(const Machine& machine, const Framework& framework, FrameworkAnswer& answer);

/// With a framework at work on the GPU, what could not be read below it leaves nothing open.
void forget_what_a_run_answers(Diagnosis& diagnosis);

}  // namespace gpuwright
