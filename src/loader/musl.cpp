#include "loader/musl.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "loader/search.h"
#include "loader/tokens.h"

// How musl turns a name into a file (load_library of ldso/dynlink.c, musl 1.2): LD_LIBRARY_PATH,
// then DT_RUNPATH or else DT_RPATH (one meaning) of the asker and of everything that needed it,
// then the system path. No cache, no hwcaps sub-directories, only $ORIGIN expands, and empty
// elements of a list mean nothing. The C library's own names never leave the loader itself.

namespace gpuwright::loader {
namespace {

class MuslSearch : public Search {
 public:
  MuslSearch(const System& system, const Config& config)
      : system_(system), config_(config), files_(system, {config.elf_class, config.machine}) {}

  tl::expected<Hit, Miss> find(const Request& request, const std::vector<Mapped>& objects) override;
  std::vector<Candidate> candidates(const Request& request,
                                    const std::vector<Mapped>& objects) override;
  void forget_from(std::size_t) override {}

 private:
  struct Place {
    std::string directory;
    Stage stage;
    std::string detail;
  };
  std::vector<Place> places(const Request& request, const std::vector<Mapped>& objects) const;

  const System& system_;
  const Config& config_;
  CandidateFiles files_;
};

// A list with a token that musl does not know, or with $ORIGIN in a secure process, is dropped as a
// whole (fixup_rpath), not element by element as in glibc.
std::string expanded(const std::string& list, const Mapped& object, const Config& config) {
  std::string result;
  for (std::size_t at = 0; at < list.size();) {
    const std::string_view rest = std::string_view(list).substr(at);
    if (list[at] != '$') {
      result += list[at++];
      continue;
    }
    const std::string_view token = rest.starts_with("${ORIGIN}") ? "${ORIGIN}"
                                   : rest.starts_with("$ORIGIN") ? "$ORIGIN"
                                                                 : "";
    if (token.empty() || config.secure) return {};
    result += object.origin;
    at += token.size();
  }
  return result;
}

std::vector<MuslSearch::Place> MuslSearch::places(const Request& request,
                                                  const std::vector<Mapped>& objects) const {
  std::vector<Place> places;
  const auto add = [&](std::string_view list, Stage stage, const std::string& detail) {
    for (const auto line : split(list, '\n'))
      for (const auto directory : split(line, ':'))
        if (!directory.empty()) places.push_back({std::string(directory), stage, detail});
  };
  if (!config_.secure)
    add(config_.library_path.value_or(""), Stage::kLibraryPath, "LD_LIBRARY_PATH");
  for (std::optional<std::size_t> level = request.asker; level; level = objects[*level].loader) {
    const Mapped& object = objects[*level];
    if (object.elf.runpath)
      add(expanded(*object.elf.runpath, object, config_), Stage::kRunpath,
          "DT_RUNPATH of " + object.path);
    else if (object.elf.rpath)
      add(expanded(*object.elf.rpath, object, config_), Stage::kRpath,
          "DT_RPATH of " + object.path);
  }
  for (const auto& directory : config_.default_directories)
    add(directory, Stage::kDefaultDirectory, "default directory");
  return places;
}

tl::expected<Hit, Miss> MuslSearch::find(const Request& request,
                                         const std::vector<Mapped>& objects) {
  std::vector<Place> places{{"", Stage::kAbsolutePath, ""}};
  if (request.name.find('/') == std::string::npos) places = this->places(request, objects);
  int code = ENOENT;
  for (const auto& place : places) {
    const std::string path =
        place.directory.empty() ? request.name : path_join(place.directory, request.name);
    Attempt attempt = files_.open(absolute(path, config_));
    if (attempt.kind == Attempt::Kind::kOpened)
      return Hit{path, attempt.status, attempt.elf, place.stage, place.detail};
    code = attempt.code;
    if (attempt.problem != ElfProblem::kNone)  // the first file of that name is the last
      return tl::unexpected(
          Miss{attempt.certain ? Outcome::State::kUnloadable : Outcome::State::kUnknown,
               "Error loading shared library " + request.name, "Exec format error", 0});
    if (code != ENOENT && code != ENOTDIR && code != EACCES && code != ENAMETOOLONG) break;
  }
  return tl::unexpected(Miss{Outcome::State::kMissing,
                             "Error loading shared library " + request.name,
                             "No such file or directory", 0, true});
}

std::vector<Candidate> MuslSearch::candidates(const Request& request,
                                              const std::vector<Mapped>& objects) {
  std::vector<Candidate> found;
  for (const auto& place : places(request, objects))
    if (auto candidate = candidate_at(system_, files_, path_join(place.directory, request.name),
                                      config_, place.stage, place.detail))
      found.push_back(std::move(*candidate));
  return found;
}

}  // namespace

bool is_musl_itself(std::string_view name) {
  constexpr std::string_view kParts[] = {"c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."};
  if (!name.starts_with("lib")) return false;
  name.remove_prefix(3);
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return name.starts_with(part); });
}

std::unique_ptr<Search> make_musl_search(const System& system, const Config& config) {
  return std::make_unique<MuslSearch>(system, config);
}

}  // namespace gpuwright::loader
