#include <dlfcn.h>

// A library that calls dlopen from its own code, so that its tags decide the search.
extern "C" void* open_from_here(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
