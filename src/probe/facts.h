#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/system.h"
#include "machine/fact.h"

// Small steps that every probe repeats: read a file, keep its name with what it said.

namespace gpuwright {

/// The text of a file with the path it was read from.
struct SourcedText {
  std::string text;
  std::string path;
};

/// The first of `paths` that is there. An error other than "not there" ends the search, since what
/// a later path says would contradict the one that we may not read.
[[nodiscard]] Result<SourcedText> read_first(const System& system,
                                             std::initializer_list<const char*> paths);

/// The trimmed text of a small file of /proc or /sys.
Fact<std::string> text_fact(const System& system, const std::string& path);

/// True when `path` leads to something, of whatever kind.
bool exists(const System& system, const std::string& path);

/// True when the tree shows a /proc of a running kernel. In an unpacked image it does not, and then
/// a missing /proc file means "could not look", not "not there".
bool has_proc(const System& system);

/// `error` about a file of /proc: absent when /proc is there without it, else unknown.
template <class T>
Fact<T> fact_of_proc_error(const System& system, const std::string& path, const Error& error) {
  if (is_not_there(error) && !has_proc(system))
    return Fact<T>::unknown(path, "no /proc of a running kernel in this tree");
  return Fact<T>::from_error(path, error);
}

/// A variable of the environment that a command started here and now would get.
Fact<std::string> variable_fact(const System& system, const std::string& name);

}  // namespace gpuwright
