#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

// What the fake driver libraries share. FAKE_INIT tells what the first call does: a number is its
// answer, "hang" never comes back, "crash" ends the process with SIGSEGV.

inline bool fake_wish(const char* variable, const char* value) {
  const char* given = std::getenv(variable);
  return given != nullptr && std::strcmp(given, value) == 0;
}
inline int fake_number(const char* variable, int otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : std::atoi(given);
}
inline int fake_init() {
  if (fake_wish("FAKE_INIT", "hang"))
    for (;;) ::pause();
  if (fake_wish("FAKE_INIT", "crash")) std::raise(SIGSEGV);
  return fake_number("FAKE_INIT", 0);
}
