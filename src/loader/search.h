#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader/cache.h"
#include "loader/candidate_file.h"
#include "loader/loader.h"
#include "loader/tokens.h"

namespace gpuwright::loader {

/// The file that a name became.
struct Hit {
  std::string path;  ///< Text as the loader composed it; relative when a search element was.
  FileStatus status;
  std::shared_ptr<const ElfObject> elf;
  Stage stage = Stage::kAbsolutePath;
  std::string detail;
};

/// Why a name became nothing, as _dl_signal_error gets it.
struct Miss {
  Outcome::State state = Outcome::State::kMissing;
  std::string subject;     ///< The name asked for, or the path of the file that ended the search.
  std::string reason;      ///< "cannot open shared object file"
  int code = 0;            ///< errno behind it, 0 for none.
  bool exhausted = false;  ///< All places were tried; otherwise one file ended the search.

  /// The text that dlerror gives.
  std::string text() const;
};

/// Of a file at `path` that was not opened.
Miss miss_of(const Attempt& attempt, const std::string& path);

/// Who asks for what. The program is object 0.
struct Request {
  std::string name;
  std::size_t asker = 0;
  enum class Why { kDlopen, kNeeded, kPreload } why = Why::kDlopen;
};

/// A way from names to files: glibc's, or musl's.
class Search {
 public:
  virtual ~Search() = default;
  [[nodiscard]] virtual tl::expected<Hit, Miss> find(const Request& request,
                                                     const std::vector<Mapped>& objects) = 0;
  /// All places with such a file, in order, whether or not the search would get there.
  virtual std::vector<Candidate> candidates(const Request& request,
                                            const std::vector<Mapped>& objects) = 0;
  /// Objects from this index on are no longer mapped.
  virtual void forget_from(std::size_t index) = 0;
};

std::unique_ptr<Search> make_glibc_search(const System& system, const Config& config);
std::unique_ptr<Search> make_musl_search(const System& system, const Config& config);

/// For texts that stand in `object`.
Tokens tokens_of(const Mapped& object, bool is_program, const Config& config);

/// `path` made absolute, the way open(2) takes it.
std::string absolute(const std::string& path, const Config& config);

/// The row of the report for a file at `path`; nothing when there is none.
std::optional<Candidate> candidate_at(const System& system, CandidateFiles& files,
                                      const std::string& path, const Config& config, Stage stage,
                                      const std::string& detail);

}  // namespace gpuwright::loader
