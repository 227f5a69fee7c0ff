#pragma once

#include <string>

#include "diagnose/diagnose.h"

// Sentences that every form of the report shares.

namespace gpuwright {

/// The statement, with the subject before it where it does not name it.
std::string headline(const Finding& finding);

/// "follows from what was read"
const char* meaning_of(Certainty certainty);

/// "libcuda.so.1 -> libcuda.so.550.54.14 (/usr/lib/libcuda.so.1)"
std::string with_source(const Evidence& evidence);

/// "will use GPU 0 (NVIDIA H200)", "will not use the GPU: ...", "cannot tell: ..."
std::string answer_sentence(const FrameworkAnswer& answer);

/// What a step is for, or "run" where only its command says it.
std::string text_of(const FixStep& step);

/// "the link is fixed next week (until 2026-12-07, /etc/gpuwright/ignore:3)"
std::string reason_of(const Ignore& ignore);

}  // namespace gpuwright
