#pragma once

#include <string>

#include "loader/elf.h"

namespace gpuwright::loader {

/// Why ld.so will not map an object that opened well, in its words and in the order of its tests;
/// empty for a sound one. `by_dlopen`: the request goes back to a dlopen, not to the start.
std::string refusal_words(const ElfObject& elf, bool by_dlopen);

}  // namespace gpuwright::loader
