#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Which room may include which: the picture in docs/architecture.md, held against the #include
// lines of src/. Every room may include itself and base.

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

const std::map<std::string, Names> kArrows = {
    {"base", {}},
    {"machine", {}},
    {"catalog", {}},
    {"loader", {}},
    {"gpu", {}},
    {"reading", {"machine"}},
    {"diagnose", {"machine", "catalog"}},
    {"plan", {"machine", "catalog", "diagnose"}},
    {"report", {"machine", "catalog", "diagnose", "plan"}},
    {"probe", {"machine", "catalog", "loader", "gpu"}},
    {"confirm", {"machine", "gpu"}},
    {"install", {"plan"}},
    {"train", {"gpu"}},
    {"prove", {"train", "gpu", "machine", "diagnose"}},
    {"watch", {"gpu", "machine", "catalog"}},
    {"run", {"reading", "diagnose", "watch"}},
};

// The rooms in the middle are pure: no file, clock, process, environment variable, thread, dlopen.
const Names kMiddle = {"machine", "catalog", "diagnose", "plan"};
const Names kEdges = {"fstream",    "filesystem", "iostream",  "thread",     "mutex",
                      "chrono",     "cstdio",     "cstdlib",   "ctime",      "future",
                      "unistd.h",   "fcntl.h",    "dlfcn.h",   "sys/stat.h", "sys/types.h",
                      "sys/wait.h", "spawn.h",    "pthread.h", "dirent.h",   "time.h"};
struct Include {
  std::string file;    // "report/text.cpp"
  std::string target;  // "base/text.h" or "vector"
  bool quoted = false;
};

// `#include "room/file.h"` or `#include <header>`; an empty target for any other line.
Include parse_include(std::string_view line) {
  constexpr std::string_view kStart = "#include ";
  if (!line.starts_with(kStart) || line.size() < kStart.size() + 2) return {};
  const bool quoted = line[kStart.size()] == '"';
  const auto rest = line.substr(kStart.size() + 1);
  return {"", std::string(rest.substr(0, rest.find(quoted ? '"' : '>'))), quoted};
}

std::vector<Include> includes_of_src() {
  const fs::path src = fs::path(GPUWRIGHT_SOURCE_DIR) / "src";
  std::vector<Include> found;
  for (const auto& entry : fs::recursive_directory_iterator(src)) {
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      Include include = parse_include(line);
      include.file = fs::relative(entry.path(), src);
      if (!include.target.empty()) found.push_back(include);
    }
  }
  return found;
}

std::string room_of(const std::string& path) {
  const auto slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

TEST(Arrows, EveryRoomIncludesOnlyTheRoomsItMay) {
  const auto includes = includes_of_src();
  ASSERT_GT(includes.size(), 50u);
  for (const auto& include : includes) {
    const auto from = room_of(include.file);
    const auto to = room_of(include.target);
    // src/main.cpp and cli/ may see everything.
    if (!include.quoted || from.empty() || from == "cli" || to == from || to == "base") continue;
    const auto arrows = kArrows.find(from);
    ASSERT_NE(arrows, kArrows.end()) << "unknown room: " << include.file;
    EXPECT_TRUE(arrows->second.contains(to)) << include.file << " includes " << include.target;
  }
}

TEST(Arrows, TheMiddleTouchesNoEdge) {
  for (const auto& include : includes_of_src()) {
    const bool forbidden =
        kMiddle.contains(room_of(include.file)) && kEdges.contains(include.target);
    EXPECT_FALSE(forbidden) << include.file << " includes <" << include.target << ">";
  }
}

TEST(Arrows, QuotedIncludesStartWithTheRoom) {
  for (const auto& include : includes_of_src()) {
    const auto room = room_of(include.target);
    EXPECT_TRUE(!include.quoted || kArrows.contains(room) || room == "cli")
        << include.file << " includes \"" << include.target << "\"";
  }
}

}  // namespace
