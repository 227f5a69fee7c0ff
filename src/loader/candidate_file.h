#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "loader/loader.h"

namespace gpuwright::loader {

/// What became of one file that the search came upon.
struct Attempt {
  enum class Kind {
    kOpened,  ///< It is the one.
    kNext,    ///< As if it were not there: the search goes on.
    kStop,    ///< The whole request fails here.
  } kind = Kind::kNext;
  int code = 0;  ///< errno as the loader leaves it.
  ElfProblem problem = ElfProblem::kNone;
  std::string reason;   ///< Of kStop, the loader's words.
  bool certain = true;  ///< False when the loader's behaviour cannot be told from here.
  FileStatus status;    ///< Of kOpened.
  std::shared_ptr<const ElfObject> elf;  ///< Of kOpened.
};

/// Opens candidates as glibc's open_verify does, and parses each file once, however many names and
/// stages lead to it.
class CandidateFiles {
 public:
  CandidateFiles(const System& system, const Host& host) : system_(system), host_(host) {}

  Attempt open(const std::string& absolute_path);

 private:
  // Size and time belong to the key because a file may be rewritten under the same inode.
  using Identity = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t>;

  const System& system_;
  Host host_;
  std::map<Identity, Attempt> known_;
};

}  // namespace gpuwright::loader
