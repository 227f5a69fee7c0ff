#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "base/text.h"
#include "loader/config_parts.h"
#include "loader/loader.h"
#include "loader/musl.h"
#include "loader/refusal.h"
#include "loader/search.h"
#include "loader/versions.h"

// The objects of one process and how they come: identity by name, SONAME and inode
// (_dl_map_object, _dl_map_object_from_fd of glibc's elf/dl-load.c), the closure of DT_NEEDED in
// breadth-first order (elf/dl-deps.c), the start of a program (elf/rtld.c) and dlopen
// (elf/dl-open.c). What is not modelled: relocation (an undefined symbol), constructors, audit
// modules, DT_AUXILIARY and DT_FILTER, and other namespaces than the first.

namespace gpuwright::loader {
namespace {

constexpr const char* kPreloadFile = "/etc/ld.so.preload";

// `culprit` is empty when the very object that was asked for failed.
Outcome failure(const Miss& miss, const std::string& culprit) {
  Outcome outcome;
  outcome.state = miss.state;
  outcome.error = miss.text();
  outcome.culprit = culprit;
  if (miss.subject.find('/') != std::string::npos) outcome.path = miss.subject;
  return outcome;
}

}  // namespace

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::kAlreadyMapped:
      return "already mapped";
    case Stage::kAbsolutePath:
      return "absolute path";
    case Stage::kRpath:
      return "DT_RPATH";
    case Stage::kLibraryPath:
      return "LD_LIBRARY_PATH";
    case Stage::kRunpath:
      return "DT_RUNPATH";
    case Stage::kCache:
      return "ld.so.cache";
    case Stage::kDefaultDirectory:
      return "default directory";
    case Stage::kPreload:
      return "preload";
    case Stage::kProgram:
      return "program";
  }
  return "";
}

struct Process::Impl {
  Impl(const System& system_in, Config config_in)
      : system(system_in),
        config(std::move(config_in)),
        files(system, {config.elf_class, config.machine}),
        search(config.musl ? make_musl_search(system, config) : make_glibc_search(system, config)) {
  }

  /// The object that a request ended at.
  struct Reached {
    std::size_t object = 0;
    bool fresh = false;  ///< Mapped by this very request.
    Stage stage = Stage::kAlreadyMapped;
    std::string detail;
  };

  /// A request that failed, and what it asked for.
  struct Failed {
    Miss miss;
    std::string name;
  };

  std::optional<std::size_t> named(const std::string& name) const;
  std::optional<std::size_t> same_file(const FileStatus& status) const;
  void add_name(std::size_t index, const std::string& name);
  std::size_t map(Hit hit, std::optional<std::size_t> loader);
  std::optional<Miss> stack_refusal(const ElfObject& elf, const std::string& name);
  tl::expected<Reached, Miss> request(const Request& wanted, std::optional<std::size_t> loader);

  std::optional<Miss> map_program(const std::string& path);
  std::optional<Miss> map_interpreter();
  void preload(const std::vector<std::string>& names, const std::string& source,
               std::vector<std::size_t>& roots);
  std::optional<Failed> map_closure(std::vector<std::size_t> queue, bool tolerate_missing);
  std::optional<std::string> expanded(const std::string& name, std::size_t asker) const;
  std::optional<Failed> check_from(std::size_t first) const;
  void unmap_from(std::size_t first);

  Outcome found(const Reached& reached) const;
  Outcome start(const std::string& program);
  Outcome dlopen(const std::string& name, std::size_t caller);

  const System& system;
  const Config config;
  CandidateFiles files;  // for the program and its interpreter, which no search finds
  std::unique_ptr<Search> search;
  std::vector<Mapped> objects;
  std::unordered_map<std::string, std::size_t> by_name;
  std::vector<std::string> warnings;
  std::vector<MissingName> missing;
  std::optional<Failed> first_missing;
  std::size_t first_library = 0;  // program and interpreter lie before it
  bool by_dlopen = false;
  bool stack_is_executable = false;
};

std::optional<std::size_t> Process::Impl::named(const std::string& name) const {
  if (name.empty() && !objects.empty()) return 0;  // dlopen(""): the program
  if (config.musl && is_musl_itself(name) && first_library == 2) return 1;
  const auto known = by_name.find(name);
  if (known == by_name.end()) return std::nullopt;
  return known->second;
}

// The kernel maps program and interpreter, and the loader does not know their inodes: opened again
// by path, either is mapped a second time.
std::optional<std::size_t> Process::Impl::same_file(const FileStatus& status) const {
  for (std::size_t i = first_library; i < objects.size(); ++i)
    if (objects[i].status.same_file(status)) return i;
  return std::nullopt;
}

// The first object in mapping order keeps a name that two could answer to. musl remembers only bare
// names that its search found.
void Process::Impl::add_name(std::size_t index, const std::string& name) {
  if (config.musl && name.find('/') != name.npos) return;
  auto& names = objects[index].names;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  by_name.emplace(name, index);
}

std::size_t Process::Impl::map(Hit hit, std::optional<std::size_t> loader) {
  const std::string place = absolute(hit.path, config);
  Mapped object;
  object.real_path = system.resolve(place).value_or(place);
  object.origin = path_directory(place);
  object.path = std::move(hit.path);
  object.status = hit.status;
  object.elf = *hit.elf;
  object.loader = loader;
  object.stage = hit.stage;
  object.stage_detail = std::move(hit.detail);
  objects.push_back(std::move(object));
  return objects.size() - 1;
}

// Until 2.40 the loader made all stacks executable for such an object, whenever it came.
std::optional<Miss> Process::Impl::stack_refusal(const ElfObject& elf, const std::string& name) {
  if (!elf.executable_stack || stack_is_executable || config.musl) return std::nullopt;
  if (config.glibc_before("2.41") || (!by_dlopen && config.executable_stack == 1)) {
    stack_is_executable = true;
    return std::nullopt;
  }
  return Miss{Outcome::State::kUnloadable, name,
              "cannot enable executable stack as shared object requires", EINVAL};
}

tl::expected<Process::Impl::Reached, Miss> Process::Impl::request(
    const Request& wanted, std::optional<std::size_t> loader) {
  if (const auto index = named(wanted.name)) {
    add_name(*index, wanted.name);
    return Reached{*index, false, Stage::kAlreadyMapped, "mapped as " + objects[*index].path};
  }
  auto hit = search->find(wanted, objects);
  if (!hit) return tl::unexpected(hit.error());
  if (const auto index = same_file(hit->status)) {
    add_name(*index, wanted.name);
    return Reached{*index, false, hit->stage, hit->detail};
  }
  if (auto reason = refusal_words(*hit->elf, by_dlopen); !reason.empty())
    return tl::unexpected(Miss{Outcome::State::kUnloadable, wanted.name, std::move(reason), 0});
  if (auto refused = stack_refusal(*hit->elf, wanted.name)) return tl::unexpected(*refused);
  const std::size_t index = map(std::move(*hit), loader);
  add_name(index, wanted.name);
  if (!config.musl) {
    by_name.emplace(objects[index].path, index);
    if (!objects[index].elf.soname.empty()) by_name.emplace(objects[index].elf.soname, index);
  }
  return Reached{index, true, objects[index].stage, objects[index].stage_detail};
}

std::optional<Miss> Process::Impl::map_program(const std::string& path) {
  const Attempt attempt = files.open(absolute(path, config));
  if (attempt.kind != Attempt::Kind::kOpened) return miss_of(attempt, path);
  map({path, attempt.status, attempt.elf, Stage::kProgram, "program"}, std::nullopt);
  Mapped& program = objects.front();
  program.origin = path_directory(program.real_path);  // from /proc/self/exe, so never of a link
  if (!program.elf.soname.empty()) by_name.emplace(program.elf.soname, 0);
  stack_is_executable = program.elf.executable_stack || config.executable_stack == 2;
  first_library = 1;
  return std::nullopt;
}

// A library that is started as a program, as `ld.so --list` does, has no PT_INTERP; the usual
// loader of its kind is taken. A program without a dynamic section is on its own.
std::optional<Miss> Process::Impl::map_interpreter() {
  const ElfObject& program = objects.front().elf;
  const bool named_by_program = !program.interpreter.empty();
  if (!named_by_program && !program.has_dynamic) return std::nullopt;
  const std::string path = named_by_program ? program.interpreter
                                            : usual_interpreter(program.elf_class, program.machine);
  const Attempt attempt = files.open(absolute(path, config));
  if (attempt.kind != Attempt::Kind::kOpened)
    return named_by_program ? std::optional(miss_of(attempt, path)) : std::nullopt;
  const auto index = map({path, attempt.status, attempt.elf, Stage::kProgram, "PT_INTERP"}, 0);
  add_name(index, path);
  if (!objects[index].elf.soname.empty()) add_name(index, objects[index].elf.soname);
  first_library = 2;
  return std::nullopt;
}

void Process::Impl::preload(const std::vector<std::string>& names, const std::string& source,
                            std::vector<std::size_t>& roots) {
  for (const auto& name : names) {
    const auto reached = request({name, 0, Request::Why::kPreload}, 0);
    if (!reached) {
      warnings.push_back("ERROR: ld.so: object '" + name + "' from " + source +
                         " cannot be preloaded (" + reached.error().reason + "): ignored.");
    } else if (reached->fresh) {
      Mapped& object = objects[reached->object];
      object.stage_detail = source + ", " + object.stage_detail;
      object.stage = Stage::kPreload;
      roots.push_back(reached->object);
    }
  }
}

// Nothing when the loader would pass over the name: one of its tokens has no value here.
std::optional<std::string> Process::Impl::expanded(const std::string& name,
                                                   std::size_t asker) const {
  if (config.musl || !has_tokens(name)) return name;
  auto text = expand_tokens(name, tokens_of(objects[asker], asker == 0, config));
  if (text.empty()) return std::nullopt;
  return text;
}

std::optional<Process::Impl::Failed> Process::Impl::map_closure(std::vector<std::size_t> queue,
                                                                bool tolerate_missing) {
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::size_t asker = queue[next];
    const auto needed = objects[asker].elf.needed;  // a copy: `objects` grows below
    for (const auto& text : needed) {
      if (config.secure && !config.musl && has_tokens(text))
        return Failed{
            {Outcome::State::kUnloadable, text, "DST not allowed in SUID/SGID programs", 0}, text};
      const auto name = expanded(text, asker);
      if (!name) continue;
      auto reached = request({*name, asker, Request::Why::kNeeded}, asker);
      if (reached) {
        if (reached->fresh) queue.push_back(reached->object);
        continue;
      }
      Miss& miss = reached.error();
      if (config.musl) miss.reason += " (needed by " + objects[asker].path + ")";
      if (!tolerate_missing || !miss.exhausted) return Failed{std::move(miss), *name};
      missing.push_back({*name, asker});
      if (!first_missing) first_missing = Failed{std::move(miss), *name};
    }
  }
  return std::nullopt;
}

// Versions in mapping order, then the x86 levels in the reverse of it: the loader walks its list
// for initialisation, dependencies last in mapping order and first in that one.
std::optional<Process::Impl::Failed> Process::Impl::check_from(std::size_t first) const {
  if (config.musl) return std::nullopt;
  const auto provider = [&](const std::string& file) -> const Mapped* {
    const auto index = named(file);
    return index ? &objects[*index] : nullptr;
  };
  for (std::size_t i = first; i < objects.size(); ++i) {
    auto errors = version_errors(objects[i], provider);
    if (!errors.empty()) return Failed{std::move(errors.front()), objects[i].path};
  }
  const std::uint32_t levels = (2U << config.cpu_levels.size()) - 1;
  for (std::size_t i = objects.size(); config.cpu_known && i-- > first;)
    if ((objects[i].elf.x86_isa_needed & ~levels) != 0)
      return Failed{
          {Outcome::State::kUnloadable, objects[i].path, "CPU ISA level is lower than required", 0},
          objects[i].path};
  return std::nullopt;
}

void Process::Impl::unmap_from(std::size_t first) {
  objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(first), objects.end());
  std::erase_if(by_name, [&](const auto& item) { return item.second >= first; });
  search->forget_from(first);
}

Outcome Process::Impl::found(const Reached& reached) const {
  Outcome outcome;
  outcome.state = Outcome::State::kFound;
  outcome.object = reached.object;
  outcome.stage = reached.stage;
  outcome.stage_detail = reached.detail;
  outcome.path = objects[reached.object].path;
  outcome.newly_mapped = reached.fresh;
  return outcome;
}

Outcome Process::Impl::start(const std::string& program) {
  if (const auto miss = map_program(program)) return failure(*miss, "");
  if (const auto miss = map_interpreter()) return failure(*miss, miss->subject);
  std::vector<std::size_t> roots{0};
  if (first_library == 2) {
    preload(parse_preload_variable(config.preload, config.secure), "LD_PRELOAD", roots);
    if (const auto list = system.read(kPreloadFile); list && !config.musl)
      preload(parse_preload_file(*list), kPreloadFile, roots);
  }
  auto failed = map_closure(std::move(roots), true);
  if (!failed && !missing.empty()) failed = first_missing;
  if (!failed) failed = check_from(0);
  if (failed) return failure(failed->miss, failed->name);
  return found({0, true, Stage::kProgram, "program"});
}

Outcome Process::Impl::dlopen(const std::string& name, std::size_t caller) {
  const std::size_t first = objects.size();
  by_dlopen = true;
  // The new object gets no loader: the chain of DT_RPATH ends with it.
  const auto reached = request({name, caller, Request::Why::kDlopen}, std::nullopt);
  if (!reached) return failure(reached.error(), "");
  if (!reached->fresh) return found(*reached);
  auto failed = map_closure({reached->object}, false);
  if (!failed) failed = check_from(first);
  if (!failed) return found(*reached);
  unmap_from(first);
  return failure(failed->miss, failed->name);
}

Process::Process(const System& system, Config config)
    : impl_(std::make_unique<Impl>(system, std::move(config))) {}
Process::~Process() = default;
Process::Process(Process&&) noexcept = default;
Process& Process::operator=(Process&&) noexcept = default;

Outcome Process::start(const std::string& program) { return impl_->start(program); }

Outcome Process::dlopen(const std::string& name, std::optional<std::size_t> caller) {
  if (impl_->objects.empty()) return Outcome{};  // no program: nothing can be said
  return impl_->dlopen(name, caller.value_or(0));
}

std::vector<Candidate> Process::candidates(const std::string& name,
                                           std::optional<std::size_t> caller) const {
  std::vector<Candidate> all;
  if (impl_->objects.empty()) return all;
  if (const auto mapped = find(name)) {
    const Mapped& object = impl_->objects[*mapped];
    all.push_back({object.path, object.real_path, Stage::kAlreadyMapped, "", ElfProblem::kNone});
  }
  for (auto& candidate :
       impl_->search->candidates({name, caller.value_or(0), Request::Why::kDlopen}, impl_->objects))
    if (all.empty() || all.front().path != candidate.path) all.push_back(std::move(candidate));
  return all;
}

const std::vector<Mapped>& Process::objects() const { return impl_->objects; }

std::optional<std::size_t> Process::find(const std::string& name) const {
  return impl_->named(name);
}

std::optional<std::size_t> Process::find_path(const std::string& real_path) const {
  const auto& all = impl_->objects;
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Mapped& object) { return object.real_path == real_path; });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

const Config& Process::config() const { return impl_->config; }
const std::vector<std::string>& Process::warnings() const { return impl_->warnings; }
const std::vector<MissingName>& Process::missing() const { return impl_->missing; }

}  // namespace gpuwright::loader
