#pragma once

#include <functional>
#include <string>
#include <vector>

#include "loader/loader.h"
#include "loader/search.h"

namespace gpuwright::loader {

/// The mapped object that answers to the file name of a version-need record; null for none.
using Providers = std::function<const Mapped*(const std::string& file)>;

/// What the loader would say about the versions that `object` needs, one for each that is not
/// there:
/// "/lib/libc.so.6: version `GLIBC_2.38' not found (required by /x/liba.so)". At a program's start
/// it prints them all and gives up; dlopen fails with the first.
std::vector<Miss> version_errors(const Mapped& object, const Providers& providers);

}  // namespace gpuwright::loader
