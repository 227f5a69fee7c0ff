#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <thread>

#include "base/text.h"
#include "loader/child.h"
#include "loader/loader.h"
#include "support/elf_writer.h"

// The model against real processes: a program opens names from itself and from libraries with every
// kind of search tag, in many orders and environments, among good, bad and missing files. After
// each step the link map, the files in /proc/self/maps and dlerror's text must be those of the
// model.

namespace gpuwright::loader {
namespace {

namespace fs = std::filesystem;

const std::string kFixtures = std::string(GPUWRIGHT_BINARY_DIR) + "/tests/loader/";

void write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void write_library(const fs::path& path, const ElfSpec& spec) { write(path, write_elf(spec)); }

// Two directories that both have a name, LD_LIBRARY_PATH's, the program's, the libraries' own: each
// file is an inode of its own, so a wrong choice shows.
void write_good_libraries(const fs::path& root) {
  for (const char* directory : {"one", "two", "path", "program_lib", "one/own"}) {
    const auto at = root / directory;
    write_library(at / "liba.so.1", {.soname = "liba.so.1", .needed = {"libb.so.1"}});
    write_library(at / "libb.so.1", {.soname = "libb.so.1", .version_definitions = {"B_1", "B_2"}});
    write_library(at / "libplain.so", {.needed = {"libc.so.6"}});
  }
  write_library(root / "one/libonly_one.so", {.soname = "libonly_one.so"});
  write_library(root / "two/libonly_two.so", {.soname = "libonly_two.so"});
  write_library(root / "path/libonly_path.so", {.soname = "libonly_path.so"});
  write_library(root / "program_lib/libonly_program.so", {.soname = "libonly_program.so"});
  write_library(root / "one/glibc-hwcaps/x86-64-v2/libonly_one.so", {.soname = "libonly_one.so"});
  write_library(root / "path/tls/libonly_path.so", {.soname = "libonly_path.so"});
  write_library(root / "two/libb_old.so", {.soname = "libb.so.1", .version_definitions = {"B_1"}});
  write_library(root / "two/libother_name.so", {.soname = "liba.so.1"});
}

// Chains: a root with a tag, a middle without one or with another, and leaves in several places.
void write_chains(const fs::path& root) {
  const auto at = root / "chain";
  write_library(at / "libroot_rpath.so", {.needed = {"libmid_none.so"}, .rpath = "$ORIGIN/leaves"});
  write_library(at / "libroot_runpath.so",
                {.needed = {"libmid_none.so"}, .runpath = "$ORIGIN/leaves"});
  write_library(
      at / "libroot_both.so",
      {.needed = {"libmid_runpath.so"}, .rpath = "$ORIGIN/../one", .runpath = "$ORIGIN/leaves"});
  write_library(at / "libroot_over_runpath.so",
                {.needed = {"libmid_runpath.so"}, .rpath = "${ORIGIN}/leaves:$ORIGIN/../two"});
  write_library(at / "leaves/libmid_none.so", {.needed = {"libleaf.so", "libonly_two.so"}});
  write_library(at / "leaves/libmid_runpath.so",
                {.needed = {"libunder.so", "libonly_two.so"}, .runpath = "$ORIGIN:/nowhere"});
  write_library(at / "leaves/libunder.so", {.needed = {"libonly_two.so"}});
  write_library(at / "leaves/libleaf.so", {.soname = "libleaf.so", .needed = {"liba.so.1"}});
  write_library(at / "libcycle_a.so", {.needed = {"libcycle_b.so"}, .rpath = "$ORIGIN"});
  write_library(at / "libcycle_b.so", {.needed = {"libcycle_a.so", "libcycle_c.so"}});
  write_library(at / "libcycle_c.so", {.soname = "libcycle_c.so", .needed = {"libcycle_b.so"}});
  write_library(at / "libby_path.so", {.needed = {"$ORIGIN/../two/liba.so.1", "liba.so.1"}});
  write_library(at / "libopens.so", {.needed = {"opener_none.so"}, .rpath = "$ORIGIN/../one"});
  write_library(at / "libnodeflib.so", {.needed = {"libz.so.1"}, .flags_1 = 0x800});
  write_library(at / "libcached.so", {.needed = {"libz.so.1", "libm.so.6"}});
  write_library(at / "libold_new.so", {.needed = {"libb.so.1"},
                                       .runpath = "$ORIGIN/../two",
                                       .version_needs = {{"libb.so.1", "B_2"}}});
  write_library(at / "libweak.so", {.needed = {"libb.so.1"},
                                    .runpath = "$ORIGIN/../two",
                                    .version_needs = {{"libb.so.1", "B_9", true}}});
  write_library(at / "libunversioned.so", {.needed = {"libonly_two.so"},
                                           .runpath = "$ORIGIN/../two",
                                           .version_needs = {{"libonly_two.so", "X_1"}}});
  write_library(at / "libfuture.so",
                {.needed = {"libc.so.6"}, .version_needs = {{"libc.so.6", "GLIBC_2.99"}}});
  write_library(at / "libtoken.so",
                {.needed = {"libonly_one.so"},
                 .runpath = "$ORIGINAL:$NOTHING/x:$ORIGIN/../$PLATFORM:../one:"});
}

std::string patched(std::string image, std::size_t offset, char value) {
  image.at(offset) = value;
  return image;
}

void write_bad_files(const fs::path& root) {
  const auto at = root / "bad";
  const std::string good = write_elf({.soname = "libgood.so"});
  fs::create_directories(at / "libdirectory.so");
  write(at / "libzero.so", "");
  write(at / "libshort.so", good.substr(0, 63));
  write(at / "libtext.so", "version https://git-lfs.github.com/spec/v1\n" + std::string(100, 'x'));
  write(at / "libcut.so", good.substr(0, 80));
  write_library(at / "lib32.so", {.elf_class = 1, .machine = 3});
  write_library(at / "libarm.so", {.machine = 183});
  write_library(at / "libexecutable.so", {.type = 2});
  write_library(at / "libpie.so", {.flags_1 = 0x8000000});
  write_library(at / "libnoopen.so", {.flags_1 = 0x40});
  write_library(at / "libdebug.so", {.dynamic_section = false});
  write(at / "libbigendian.so", patched(good, 5, 2));
  write(at / "libident.so", patched(good, 6, 7));
  write(at / "libosabi.so", patched(good, 7, 9));
  write(at / "libabiversion.so", patched(good, 8, 1));
  write(at / "libpadding.so", patched(good, 12, 1));
  write(at / "libversion.so", patched(good, 20, 2));
  write(at / "libobject.so", patched(good, 16, 1));
  write(at / "libphentsize.so", patched(good, 54, 55));
  fs::create_symlink("libloop.so", at / "libloop.so");
  fs::create_symlink("nothing.so", at / "libdangling.so");
  // The same names, good, behind the bad ones.
  for (const char* name : {"libzero.so", "lib32.so", "libarm.so", "libloop.so", "libdangling.so",
                           "libtext.so", "libdirectory.so"})
    write_library(root / "behind" / name, {.soname = name});
  for (const char* name : {"libzero.so", "lib32.so", "libarm.so", "libtext.so", "libdirectory.so"})
    write_library(root / "chain" / ("libneeds_" + std::string(name)),
                  {.needed = {"liba.so.1", name}, .runpath = "$ORIGIN/../one:$ORIGIN/../bad"});
  write_library(root / "chain/libneeds_nothing.so",
                {.needed = {"liba.so.1", "libnone.so.7"}, .runpath = "$ORIGIN/../one"});
  write_library(root / "chain/libneeds_behind.so",
                {.needed = {"lib32.so", "libarm.so", "libdangling.so"},
                 .runpath = "$ORIGIN/../bad:$ORIGIN/../behind"});
}

void copy_fixtures(const fs::path& root) {
  fs::create_directories(root / "bin");
  for (const char* tag : {"none", "rpath", "runpath"}) {
    const std::string program = std::string("dlopen_program_") + tag;
    fs::copy_file(kFixtures + program, root / "bin" / program);
    const std::string opener = std::string("opener_") + tag + ".so";
    for (const char* directory : {"one", "two"})
      fs::copy_file(kFixtures + opener, root / directory / opener);
  }
  fs::copy_file(kFixtures + "opener_soname.so", root / "one/opener_soname.so");
  fs::create_hard_link(root / "one/liba.so.1", root / "two/libhard.so");
  fs::create_symlink("../one/liba.so.1", root / "two/libsoft.so");
  fs::create_directory_symlink("one", root / "linked");
}

void add_paths(const System& system, const std::string& directory,
               std::vector<std::string>& paths) {
  const auto entries = system.list(directory);
  for (const auto& entry : *entries) {
    const std::string path = path_join(directory, entry.name);
    if (entry.name.find(".so") != std::string::npos) paths.push_back(path);
    if (entry.kind == FileKind::kDirectory) add_paths(system, path, paths);
  }
}

// Everything that a step may open.
std::vector<std::string> names_to_open(const System& system, const fs::path& root) {
  std::vector<std::string> names{"liba.so.1",
                                 "libb.so.1",
                                 "libplain.so",
                                 "libonly_one.so",
                                 "libonly_two.so",
                                 "libonly_path.so",
                                 "libonly_program.so",
                                 "libz.so.1",
                                 "libm.so.6",
                                 "libnone.so.7",
                                 "libhard.so",
                                 "libsoft.so",
                                 "libopener.so.1",
                                 "opener_none.so",
                                 "libzero.so",
                                 "lib32.so",
                                 "libarm.so",
                                 "libloop.so",
                                 "libdirectory.so",
                                 "libtext.so",
                                 "libdangling.so",
                                 "libc.so.6",
                                 "ld-linux-x86-64.so.2",
                                 "$ORIGIN/../two/libb.so.1",
                                 "one/liba.so.1",
                                 "./two/libplain.so",
                                 "",
                                 "../nowhere/libx.so",
                                 "${LIB}/x.so",
                                 "$ORIGIN/liba.so.1",
                                 std::string(300, 'x')};
  add_paths(system, root, names);
  const std::string linked = root / "linked";  // a directory that is a link keeps its text
  for (const char* name : {"liba.so.1", "opener_rpath.so", "opener_runpath.so"})
    names.push_back(path_join(linked, name));
  return names;
}

/// What is to be seen after the start or after one step.
struct State {
  std::string caller;
  std::string result;               ///< "OK", "NONE", or the error's text.
  std::vector<std::string> mapped;  ///< The link map, without the program, ld.so and the vDSO.
  std::set<std::string> files;

  friend bool operator==(const State&, const State&) = default;
};

std::string describe(const State& state) {
  return "    from " + state.caller + ": " + state.result +
         "\n      link map: " + join(state.mapped, " ") + "\n";
}

// The model keeps ld.so behind the program, where it is during the start; the real one moves it
// afterwards to where the search for symbols comes upon it. The program has no name in the link
// map.
constexpr std::string_view kInterpreter = "/lib64/ld-linux-x86-64.so.2";
bool is_link_map_extra(std::string_view name) {
  return name.empty() || name.find("linux-vdso") != name.npos || name == kInterpreter;
}

std::vector<State> parse_states(const std::string& out) {
  std::vector<State> states(1);
  states[0].result = "OK";
  for (const auto line : lines(out)) {
    const auto space = line.find(' ');
    const auto key = line.substr(0, space);
    const std::string value(space == line.npos ? "" : line.substr(space + 1));
    State& state = states.back();
    if (key == "STEP") states.emplace_back();
    if (key == "CALLER") state.caller = value;
    if (key == "OK" || key == "NONE") state.result = key;
    if (key == "ERROR") state.result = value;
    if (key == "MAPPED" && !is_link_map_extra(value)) state.mapped.push_back(value);
    if (key == "FILE") state.files.insert(value);
  }
  for (auto& state : states)
    if (state.result == "NONE") state = State{"", "NONE", {}, {}};
  return states;
}

/// A run of the program: its tag, its environment, and pairs of caller and name.
struct Script {
  std::string program;
  Environment environment;
  std::vector<std::pair<std::string, std::string>> steps;
};

/// The model's process, asked as the program is asked.
class Prediction {
 public:
  Prediction(const System& system, const Script& script, const std::string& directory)
      : process_(system, config_of(system, script, directory)) {
    start_ = process_.start(script.program);
  }

  const Outcome& start() const { return start_; }
  const std::vector<std::string>& warnings() const { return process_.warnings(); }

  State state() const {
    State state;
    state.result = "OK";
    for (std::size_t i = 0; i < process_.objects().size(); ++i) {
      const Mapped& object = process_.objects()[i];
      if (i != 0 && !is_link_map_extra(object.path)) state.mapped.push_back(object.path);
      state.files.insert(object.real_path);
    }
    return state;
  }

  State step(const std::pair<std::string, std::string>& step) {
    const auto caller = caller_of(step.first);
    if (!caller) {
      handles_.push_back(std::nullopt);
      return {"", "NONE", {}, {}};
    }
    const std::string path = process_.objects()[*caller].path;
    const Outcome outcome = process_.dlopen(step.second, *caller);
    handles_.push_back(outcome.object);
    State state = this->state();
    state.caller = path;
    if (outcome.state != Outcome::State::kFound) state.result = outcome.error;
    return state;
  }

 private:
  static Config config_of(const System& system, const Script& script,
                          const std::string& directory) {
    auto config = make_config(system, script.program, script.environment).value();
    config.working_directory = directory;
    return config;
  }

  // dlsym(handle): breadth first through the handle's dependencies; preloaded objects stand behind
  // the program.
  std::optional<std::size_t> caller_of(const std::string& who) const {
    if (who == "main") return 0;
    const std::size_t number = std::stoul(who);
    if (number >= handles_.size() || !handles_[number]) return std::nullopt;
    std::vector<std::size_t> queue{*handles_[number]};
    for (std::size_t i = 0; i < process_.objects().size() && queue[0] == 0; ++i)
      if (process_.objects()[i].stage == Stage::kPreload) queue.push_back(i);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const Mapped& object = process_.objects()[queue[next]];
      if (path_name(object.path).starts_with("opener_")) return queue[next];
      for (const auto& name : object.elf.needed)
        if (const auto index = process_.find(name);
            index && std::find(queue.begin(), queue.end(), *index) == queue.end())
          queue.push_back(*index);
    }
    return std::nullopt;
  }

  Process process_;
  Outcome start_;
  std::vector<std::optional<std::size_t>> handles_;
};

/// Empty when model and process agree; otherwise where they part.
std::string compare(const System& system, const Script& script, const std::string& directory) {
  std::vector<std::string> command{script.program};
  for (const auto& [who, name] : script.steps) {
    command.push_back(who);
    command.push_back(name);
  }
  const Finished real = run(command, script.environment, directory);
  Prediction model(system, script, directory);
  std::string where = script.program;
  for (const auto& [name, value] : script.environment) where += " " + name + "=" + value;

  std::string warnings;
  for (const auto& text : model.warnings()) warnings += text + "\n";
  if (model.start().state != Outcome::State::kFound) {
    const std::string expected = warnings + script.program +
                                 ": error while loading shared libraries: " + model.start().error +
                                 "\n";
    return real.err == expected ? "" : where + "\n  stderr: " + real.err + "  model: " + expected;
  }
  if (real.err != warnings) return where + "\n  stderr: " + real.err + "  model: " + warnings;

  const auto states = parse_states(real.out);
  State predicted = model.state();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (i > 0) predicted = model.step(script.steps[i - 1]);
    where +=
        i > 0 ? "\n  " + script.steps[i - 1].first + " opens " + script.steps[i - 1].second : "";
    if (states[i] != predicted)
      return where + "\n   process:\n" + describe(states[i]) + "   model:\n" + describe(predicted);
  }
  const bool complete = states.size() == script.steps.size() + 1 && real.status == 0;
  return complete ? "" : where + "\n  the process ended early: " + real.out + real.err;
}

// Scripts by a fixed seed: the same on every machine, with openers opened often enough that most
// steps have somebody else than the program to ask.
std::vector<Script> make_scripts(const System& system, const fs::path& root, std::size_t count) {
  const auto names = names_to_open(system, root);
  std::vector<std::string> openers{"libopens.so", "opener_none.so", "opener_rpath.so"};
  for (const auto& name : names)
    if (name.find("opener_") != name.npos || name.find("libopens") != name.npos)
      openers.push_back(name);
  const std::string one = root / "one";
  const std::string path = root / "path";
  const std::vector<std::string> library_paths{"",
                                               path,
                                               path + ":" + one,
                                               ":" + path,
                                               root / "bad",
                                               "/nowhere:" + path + "//;" + one,
                                               "two:one",
                                               "$ORIGIN/../path",
                                               root / "behind",
                                               (root / "bad").string() + ":" + path};
  const std::vector<std::string> preloads{"",
                                          one + "/liba.so.1",
                                          "liba.so.1",
                                          "libonly_path.so:libnone.so.7 " + one + "/libplain.so",
                                          root / "bad/libzero.so",
                                          root / "chain/libneeds_nothing.so",
                                          root / "one/opener_runpath.so"};
  std::mt19937 random(20);
  const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  std::vector<Script> scripts;
  for (std::size_t i = 0; i < count; ++i) {
    Script script;
    script.program = root / "bin/dlopen_program_";
    script.program += pick(std::vector<std::string>{"none", "rpath", "runpath"});
    if (const auto value = pick(library_paths); !value.empty())
      script.environment["LD_LIBRARY_PATH"] = value;
    if (i % 3 == 0)
      if (const auto value = pick(preloads); !value.empty())
        script.environment["LD_PRELOAD"] = value;
    for (std::size_t step = 0; step < 10; ++step) {
      const bool from_main = step == 0 || random() % 3 == 0;
      script.steps.emplace_back(from_main ? "main" : std::to_string(random() % step),
                                random() % 4 == 0 ? pick(openers) : pick(names));
    }
    scripts.push_back(std::move(script));
  }
  return scripts;
}

TEST(RealDlopen, MapsTheSameFilesAndFailsWithTheSameWords) {
  const auto system = make_live_system();
  if (!system->status(std::string(kInterpreter))) GTEST_SKIP() << "skipped: no x86-64 glibc here";
  const ScratchDirectory scratch;
  const fs::path& root = scratch.path();
  write_good_libraries(root);
  write_chains(root);
  write_bad_files(root);
  copy_fixtures(root);

  const auto scripts = make_scripts(*system, root, 2000);
  std::vector<std::string> results(scripts.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < scripts.size();)
      results[i] = compare(*system, scripts[i], root);
  };
  {
    const std::jthread second(work);
    work();
  }
  std::size_t steps = 0;
  std::size_t differences = 0;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    steps += scripts[i].steps.size();
    if (results[i].empty()) continue;
    if (++differences <= 10) ADD_FAILURE() << results[i];
  }
  const std::string summary = "compared " + std::to_string(steps) + " dlopen calls in " +
                              std::to_string(scripts.size()) +
                              " processes: " + std::to_string(differences) + " differences";
  std::cout << summary << "\n";
  RecordProperty("summary", summary);
  EXPECT_EQ(differences, 0U);
}

}  // namespace
}  // namespace gpuwright::loader
