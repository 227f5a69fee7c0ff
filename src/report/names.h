#pragma once

#include "diagnose/diagnose.h"

namespace gpuwright {

/// The words of the JSON report; the text report shows the same with blanks for hyphens.
const char* name_of(RungState state);
const char* name_of(Answer answer);
const char* name_of(Outcome outcome);

}  // namespace gpuwright
