#include "loader/search.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/text.h"
#include "loader/directories.h"

// How glibc turns a name into a file: _dl_map_object and open_path of elf/dl-load.c. A name with a
// slash is a path and nothing is searched. Any other name goes through these lists, in this order:
//   DT_RPATH of the asker, of the object that needed the asker, and so on up, then of the program;
//     all of it only when the asker has no DT_RUNPATH, and a level with DT_RUNPATH gives nothing
//   LD_LIBRARY_PATH as it was when the process started
//   DT_RUNPATH of the asker alone
//   /etc/ld.so.cache: one row, and when its file cannot be opened no other
//   the default directories, unless the asker is marked DF_1_NODEFLIB

namespace gpuwright::loader {

namespace {
constexpr const char* kCannotOpen = "cannot open shared object file";
}  // namespace

Miss miss_of(const Attempt& attempt, const std::string& path) {
  if (attempt.reason.empty()) return {Outcome::State::kMissing, path, kCannotOpen, attempt.code};
  const auto state = attempt.certain ? Outcome::State::kUnloadable : Outcome::State::kUnknown;
  const bool stopped = attempt.kind == Attempt::Kind::kStop;
  return {state, path, attempt.reason, stopped ? attempt.code : 0};
}

std::string Miss::text() const {
  std::string result = subject + ": " + reason;
  if (code != 0) result += std::string(": ") + std::strerror(code);
  return result;
}

Tokens tokens_of(const Mapped& object, bool is_program, const Config& config) {
  return {object.origin, config.lib_token, config.platform_token,
          config.secure, is_program,       &config.default_directories};
}

std::string absolute(const std::string& path, const Config& config) {
  return path.starts_with('/') ? path : path_join(config.working_directory, path);
}

std::optional<Candidate> candidate_at(const System& system, CandidateFiles& files,
                                      const std::string& path, const Config& config, Stage stage,
                                      const std::string& detail) {
  const std::string place = absolute(path, config);
  if (!system.link_status(place)) return std::nullopt;
  const Attempt attempt = files.open(place);
  Candidate candidate{path, system.resolve(place).value_or(place), stage, detail, attempt.problem};
  if (attempt.kind != Attempt::Kind::kOpened && candidate.problem == ElfProblem::kNone)
    candidate.problem = ElfProblem::kUnreadable;
  return candidate;
}

namespace {

constexpr const char* kCachePath = "/etc/ld.so.cache";
constexpr std::size_t kMaxCacheBytes = 64 << 20;
constexpr std::uint32_t kSetUserId = 04000;

/// One step of the search: a list of directories, or the cache.
struct Step {
  Stage stage;
  std::string detail;
  const SearchList* list;  // null for the cache
};

/// How walking one list ended.
struct Walk {
  std::optional<Hit> hit;
  std::optional<Miss> stop;
};

class GlibcSearch : public Search {
 public:
  GlibcSearch(const System& system, const Config& config)
      : system_(system),
        config_(config),
        files_(system, {config.elf_class, config.machine}),
        directories_(system, config) {
    for (const auto& directory : config.default_directories) {
      auto list = directories_.parse(directory, ":", {});
      default_list_.insert(default_list_.end(), list.begin(), list.end());
    }
  }

  tl::expected<Hit, Miss> find(const Request& request, const std::vector<Mapped>& objects) override;
  std::vector<Candidate> candidates(const Request& request,
                                    const std::vector<Mapped>& objects) override;
  void forget_from(std::size_t index) override {
    if (own_lists_.size() > index) own_lists_.resize(index);
  }

 private:
  /// DT_RPATH or DT_RUNPATH of one object (it cannot have both in effect).
  struct OwnList {
    bool parsed = false;
    SearchList list;
  };

  const SearchList& own_list(const std::vector<Mapped>& objects, std::size_t index);
  void add_rpath_steps(const std::vector<Mapped>& objects, std::size_t asker,
                       std::vector<Step>& steps);
  const SearchList& library_path(const std::vector<Mapped>& objects);
  std::vector<Step> steps(const Request& request, const std::vector<Mapped>& objects);

  tl::expected<Hit, Miss> find_path(const Request& request, const std::vector<Mapped>& objects);
  bool is_untrusted(const Request& request) const {
    return config_.secure && request.why == Request::Why::kPreload;
  }
  Walk walk(const Step& step, const Request& request);
  Walk try_file(const std::string& path, const Step& step, const Request& request);
  bool ends_list(const Directory& directory) const;
  Walk try_cache(const Step& step, const Request& request, const Mapped& asker);
  std::optional<std::string> cached_path(const std::string& name, const Mapped& asker);
  Miss not_found(const std::string& name) const;
  std::string expanded_path(const Request& request, const std::vector<Mapped>& objects) const {
    return expand_tokens(request.name,
                         tokens_of(objects[request.asker], request.asker == 0, config_));
  }

  const System& system_;
  const Config& config_;
  CandidateFiles files_;
  Directories directories_;
  SearchList default_list_;
  std::optional<SearchList> library_path_;
  std::optional<Cache> cache_;
  bool cache_read_ = false;
  std::deque<OwnList> own_lists_;  // steps point into it while it grows

  // As errno in the loader: what the last open left, 0 after a good one. Names of DT_NEEDED start
  // with what the name before left, which shows when nothing at all is tried for them.
  int last_code_ = 0;
  std::string wrong_class_;  // of the request in progress, as found_other_class
};

const SearchList& GlibcSearch::own_list(const std::vector<Mapped>& objects, std::size_t index) {
  if (own_lists_.size() <= index) own_lists_.resize(objects.size());
  OwnList& own = own_lists_[index];
  if (own.parsed) return own.list;
  own.parsed = true;
  const ElfObject& elf = objects[index].elf;
  const auto& text = elf.runpath ? elf.runpath : elf.rpath;
  if (text && !text->empty())
    own.list = directories_.parse(*text, ":", tokens_of(objects[index], index == 0, config_));
  return own.list;
}

void GlibcSearch::add_rpath_steps(const std::vector<Mapped>& objects, std::size_t asker,
                                  std::vector<Step>& steps) {
  bool program_done = false;
  const auto add = [&](std::size_t index) {
    program_done |= index == 0;
    if (!objects[index].elf.rpath || objects[index].elf.runpath) return;
    steps.push_back(
        {Stage::kRpath, "DT_RPATH of " + objects[index].path, &own_list(objects, index)});
  };
  for (std::optional<std::size_t> level = asker; level; level = objects[*level].loader) add(*level);
  if (!program_done) add(0);
}

const SearchList& GlibcSearch::library_path(const std::vector<Mapped>& objects) {
  if (!library_path_) {
    library_path_.emplace();
    if (!config_.secure && config_.library_path && !config_.library_path->empty())
      *library_path_ =
          directories_.parse(*config_.library_path, ":;", tokens_of(objects[0], true, config_));
  }
  return *library_path_;
}

std::vector<Step> GlibcSearch::steps(const Request& request, const std::vector<Mapped>& objects) {
  const Mapped& asker = objects[request.asker];
  std::vector<Step> steps;
  if (!asker.elf.runpath) add_rpath_steps(objects, request.asker, steps);
  steps.push_back({Stage::kLibraryPath, "LD_LIBRARY_PATH", &library_path(objects)});
  if (asker.elf.runpath)
    steps.push_back(
        {Stage::kRunpath, "DT_RUNPATH of " + asker.path, &own_list(objects, request.asker)});
  if (!is_untrusted(request)) steps.push_back({Stage::kCache, kCachePath, nullptr});
  if (!asker.elf.no_default_dirs())
    steps.push_back({Stage::kDefaultDirectory, "default directory", &default_list_});
  return steps;
}

// In a secure process a preloaded library must itself have the set-user-ID bit, or it is passed
// over.
Walk GlibcSearch::try_file(const std::string& path, const Step& step, const Request& request) {
  Attempt attempt = files_.open(absolute(path, config_));
  const bool untrusted = is_untrusted(request) && step.stage != Stage::kAbsolutePath;
  if (attempt.kind == Attempt::Kind::kOpened && untrusted &&
      (attempt.status.mode & kSetUserId) == 0) {
    attempt.kind = Attempt::Kind::kNext;
    attempt.code = ENOENT;
  }
  if (attempt.kind == Attempt::Kind::kOpened) last_code_ = 0;
  if (attempt.kind == Attempt::Kind::kOpened)
    return {Hit{path, attempt.status, attempt.elf, step.stage, step.detail}, std::nullopt};
  if (attempt.kind == Attempt::Kind::kStop) return {std::nullopt, miss_of(attempt, path)};
  last_code_ = attempt.code;
  if (attempt.problem == ElfProblem::kWrongClass) wrong_class_ = attempt.reason;
  return {};
}

// ELOOP, EMFILE, EIO and the like end the list but not the search. ENOTDIR can only come from a
// relative element here, and has been harmless since glibc 2.39 (BZ 31035).
bool GlibcSearch::ends_list(const Directory& directory) const {
  if (last_code_ == ENOTDIR) return directory.relative() && config_.glibc_before("2.39");
  return last_code_ != ENOENT && last_code_ != EACCES;
}

Walk GlibcSearch::walk(const Step& step, const Request& request) {
  for (Directory* directory : *step.list) {
    const bool first_look = !directory->looked_at;
    if (!directories_.look_at(*directory)) {
      if (first_look) last_code_ = ENOENT;
      continue;
    }
    for (const auto& prefix : directory->tried) {
      auto result = try_file(prefix + request.name, step, request);
      if (result.hit || result.stop) return result;
    }
    if (ends_list(*directory)) break;
  }
  return {};
}

std::optional<std::string> GlibcSearch::cached_path(const std::string& name, const Mapped& asker) {
  if (!cache_read_) {
    cache_read_ = true;
    auto parsed = system_.read(kCachePath, kMaxCacheBytes).and_then([](std::string text) {
      return Cache::parse(std::move(text));
    });
    if (parsed) cache_ = std::move(*parsed);
  }
  if (!cache_) return std::nullopt;
  auto path = cache_->look_up(name, config_);
  if (path && asker.elf.no_default_dirs())
    for (const Directory* directory : default_list_)
      if (path->starts_with(directory->text)) return std::nullopt;
  return path;
}

Walk GlibcSearch::try_cache(const Step& step, const Request& request, const Mapped& asker) {
  const auto path = cached_path(request.name, asker);
  return path ? try_file(*path, step, request) : Walk{};
}

Miss GlibcSearch::not_found(const std::string& name) const {
  if (!wrong_class_.empty()) return {Outcome::State::kUnloadable, name, wrong_class_, 0, true};
  return {Outcome::State::kMissing, name, kCannotOpen, last_code_, true};
}

tl::expected<Hit, Miss> GlibcSearch::find_path(const Request& request,
                                               const std::vector<Mapped>& objects) {
  const auto path = expanded_path(request, objects);
  if (path.empty()) return tl::unexpected(not_found(request.name));  // a token without a value
  auto result = try_file(path, {Stage::kAbsolutePath, "", nullptr}, request);
  if (result.hit) return std::move(*result.hit);
  return tl::unexpected(result.stop ? std::move(*result.stop) : not_found(request.name));
}

tl::expected<Hit, Miss> GlibcSearch::find(const Request& request,
                                          const std::vector<Mapped>& objects) {
  if (request.why != Request::Why::kNeeded) last_code_ = ENOENT;
  wrong_class_.clear();
  if (request.name.find('/') != std::string::npos) return find_path(request, objects);
  for (const auto& step : steps(request, objects)) {
    auto result = step.list != nullptr ? walk(step, request)
                                       : try_cache(step, request, objects[request.asker]);
    if (result.hit) return std::move(*result.hit);
    if (result.stop) return tl::unexpected(std::move(*result.stop));
  }
  return tl::unexpected(not_found(request.name));
}

std::vector<Candidate> GlibcSearch::candidates(const Request& request,
                                               const std::vector<Mapped>& objects) {
  std::vector<Candidate> found;
  std::vector<std::string> seen;
  const auto add = [&](const std::string& path, Stage stage, const std::string& detail) {
    if (std::find(seen.begin(), seen.end(), path) != seen.end()) return;
    auto candidate = candidate_at(system_, files_, path, config_, stage, detail);
    if (!candidate) return;
    seen.push_back(path);
    found.push_back(std::move(*candidate));
  };
  if (request.name.find('/') != std::string::npos) {
    add(expanded_path(request, objects), Stage::kAbsolutePath, "");
    return found;
  }
  for (const auto& step : steps(request, objects)) {
    if (step.list == nullptr) {
      if (const auto path = cached_path(request.name, objects[request.asker]))
        add(*path, step.stage, step.detail);
      continue;
    }
    for (Directory* directory : *step.list)
      if (directories_.look_at(*directory))
        for (const auto& prefix : directory->tried)
          add(prefix + request.name, step.stage, step.detail);
  }
  return found;
}

}  // namespace

std::unique_ptr<Search> make_glibc_search(const System& system, const Config& config) {
  return std::make_unique<GlibcSearch>(system, config);
}

}  // namespace gpuwright::loader
