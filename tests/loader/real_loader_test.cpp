#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "base/text.h"
#include "loader/child.h"
#include "loader/loader.h"

// The model against the machine's own ld.so: every program and shared library under the usual
// directories, path by path, names that are not found included. With LD_TRACE_LOADED_OBJECTS ld.so
// prints the link map of a start that it does not carry out, and goes on after a missing name,
// which `ld.so --list` does not.

namespace gpuwright::loader {
namespace {

namespace fs = std::filesystem;

/// What a start maps: "name => path" lines without ld.so itself, whose place in the link map only
/// depends on who needs it, and the names that were not found.
struct Listing {
  std::vector<std::string> mapped;
  std::vector<std::string> missing;
  bool loader_mapped = false;
  std::string error;

  friend bool operator==(const Listing&, const Listing&) = default;
};

std::string describe(const Listing& listing) {
  std::string text = listing.error.empty() ? "" : "  error: " + listing.error + "\n";
  for (const auto& line : listing.mapped) text += "  " + line + "\n";
  for (const auto& name : listing.missing) text += "  " + name + " => not found\n";
  return text + (listing.loader_mapped ? "  and ld.so\n" : "");
}

bool is_ld_so(std::string_view name) { return path_name(name).starts_with("ld-linux"); }

// "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f...)", "\tlibx.so => not found",
// "\tlinux-vdso.so.1 (0x...)", "\tstatically linked"; an error is "OBJ: error while loading shared
// libraries: TEXT".
Listing parse_list(const std::string& out, const std::string& err) {
  Listing listing;
  constexpr std::string_view kError = "error while loading shared libraries: ";
  for (const auto line : lines(err))
    if (const auto at = line.find(kError); at != line.npos)
      listing.error = line.substr(at + kError.size());
  for (const auto line : lines(out)) {
    const auto text = trim(line);
    const auto arrow = text.find(" => ");
    const auto address = text.rfind(" (0x");
    const auto name = text.substr(0, std::min(arrow, address));
    if (text == "statically linked" || name.find("linux-vdso") != name.npos) continue;
    const auto path = arrow == text.npos ? name : text.substr(arrow + 4, address - arrow - 4);
    if (text.ends_with("=> not found"))
      listing.missing.emplace_back(name);
    else if (is_ld_so(name))
      listing.loader_mapped = true;
    else
      listing.mapped.push_back(std::string(name) + " => " + std::string(path));
  }
  return listing;
}

Listing predict(const System& system, const std::string& object, const Environment& environment,
                const std::string& directory) {
  Listing listing;
  auto config = make_config(system, object, environment);
  if (!config) {
    listing.error = config.error().text();
    return listing;
  }
  config->working_directory = directory;
  config->secure = false;  // it is ld.so that is executed, not the set-user-ID program
  Process process(system, *config);
  const Outcome outcome = process.start(object);
  if (outcome.state == Outcome::State::kUnloadable && process.objects().size() > 0 &&
      outcome.error.find("version `") == std::string::npos)
    listing.error = outcome.error;
  for (const auto& name : process.missing()) listing.missing.push_back(name.name);
  for (std::size_t i = 2; i < process.objects().size(); ++i) {
    const Mapped& mapped = process.objects()[i];
    listing.mapped.push_back(mapped.names.front() + " => " + mapped.path);
  }
  const auto& objects = process.objects();
  listing.loader_mapped = std::any_of(objects.begin(), objects.end(), [](const Mapped& mapped) {
    return std::any_of(mapped.elf.needed.begin(), mapped.elf.needed.end(), is_ld_so);
  });
  return listing;
}

/// True for an ELF file of this processor that has a dynamic section to list.
bool is_dynamic_object(const System& system, const std::string& path) {
  const auto file = system.open(path);
  if (!file) return false;
  const auto elf = read_elf(**file, {2, 62});
  return elf && elf->has_dynamic && !elf->needed.empty();
}

std::vector<std::string> objects_of_machine(const System& system) {
  std::vector<std::string> roots{"/usr/bin", "/usr/sbin", "/usr/lib/x86_64-linux-gnu",
                                 "/usr/lib64"};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/local", ignored))
    if (entry.path().filename().string().starts_with("cuda")) {
      roots.push_back(entry.path() / "lib64");
      roots.push_back(entry.path() / "lib");
      roots.push_back(entry.path() / "bin");
    }
  std::set<std::string> found;
  for (const auto& root : roots) {
    const auto options = fs::directory_options::skip_permission_denied;
    for (const auto& entry : fs::recursive_directory_iterator(root, options, ignored)) {
      if (!entry.is_regular_file(ignored) || entry.is_symlink(ignored)) continue;
      const auto real = system.resolve(entry.path());  // /usr/lib64 may be a link
      if (real && is_dynamic_object(system, *real)) found.insert(*real);
    }
  }
  return {found.begin(), found.end()};
}

// Copies, so other inodes, of libraries that many objects need; one of them too short to be ELF
// would end half of all starts, so those stay good here and bad files have their own tests.
fs::path foreign_directory(const System& system, const fs::path& scratch) {
  const auto foreign = scratch / "foreign";
  fs::create_directories(foreign / "glibc-hwcaps/x86-64-v2");
  const auto copy = [&](const char* name, const fs::path& to) {
    for (const char* from : {"/lib/x86_64-linux-gnu/", "/usr/lib/x86_64-linux-gnu/", "/lib64/"})
      if (const auto real = system.resolve(std::string(from) + name)) {
        fs::copy_file(*real, to / name, fs::copy_options::skip_existing);
        return;
      }
  };
  for (const char* name : {"libz.so.1", "libm.so.6", "libcrypto.so.3", "libgmp.so.10"})
    copy(name, foreign);
  copy("libzstd.so.1", foreign / "glibc-hwcaps/x86-64-v2");
  copy("libz.so.1", foreign / "glibc-hwcaps/x86-64-v2");
  return foreign;
}

struct Case {
  const char* name;
  Environment environment;
};

struct Tally {
  std::mutex mutex;
  std::size_t compared = 0;
  std::size_t differences = 0;
  std::string first_texts;

  void add(bool same, const std::string& text) {
    const std::lock_guard lock(mutex);
    ++compared;
    if (same) return;
    if (++differences <= 10) first_texts += text;
  }
};

TEST(RealLoader, MapsTheSameFilesForEveryObjectOfTheMachine) {
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  if (!fs::exists(loader)) GTEST_SKIP() << "skipped: no x86-64 glibc here";
  const auto system = make_live_system();
  const auto objects = objects_of_machine(*system);
  const ScratchDirectory scratch;
  const auto foreign = foreign_directory(*system, scratch.path());
  const std::string directory = foreign;
  Case cases[] = {
      {"no variables", {}},
      {"a foreign LD_LIBRARY_PATH", {{"LD_LIBRARY_PATH", "/nowhere:" + foreign.string() + "//"}}},
      {"an empty element", {{"LD_LIBRARY_PATH", ":/usr/games"}}},
      {"LD_PRELOAD", {{"LD_PRELOAD", foreign.string() + "/libz.so.1 libm.so.6 libnone.so.7"}}}};
  for (auto& item : cases) item.environment["LD_TRACE_LOADED_OBJECTS"] = "1";
  constexpr std::size_t kCases = std::size(cases);

  Tally tally;
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t job; (job = next++) < objects.size() * kCases;) {
      const std::string& object = objects[job / kCases];
      const Case& set = cases[job % kCases];
      const Finished real_run = run({loader, object}, set.environment, directory);
      const Listing real = parse_list(real_run.out, real_run.err);
      const Listing model = predict(*system, object, set.environment, directory);
      tally.add(real == model, object + " with " + set.name + "\n ld.so:\n" + describe(real) +
                                   " model:\n" + describe(model));
    }
  };
  {
    const std::jthread second(work);
    work();
  }
  const std::string summary =
      "compared " + std::to_string(objects.size()) + " objects under " + std::to_string(kCases) +
      " environments: " + std::to_string(tally.differences) + " differences";
  std::cout << summary << "\n";
  RecordProperty("summary", summary);
  EXPECT_EQ(tally.differences, 0U) << tally.first_texts;
  EXPECT_EQ(tally.compared, objects.size() * kCases);
}

}  // namespace
}  // namespace gpuwright::loader
