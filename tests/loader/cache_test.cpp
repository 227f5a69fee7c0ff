#include "loader/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "loader/world.h"

namespace gpuwright::loader {
namespace {

constexpr std::uint32_t kX86_64 = 0x303;
constexpr std::uint64_t kNamed = 1ULL << 62;

struct Row {
  std::string key;
  std::string value;
  std::uint32_t flags = kX86_64;
  std::uint64_t hwcap = 0;
};

template <class T>
std::string bytes_of(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A cache as ldconfig writes it; rows in the given order, hwcaps names as given (ldconfig sorts).
std::string make_cache(const std::vector<Row>& rows, const std::vector<std::string>& hwcaps = {}) {
  std::string strings;
  const std::size_t strings_at = 48 + 24 * rows.size();
  const auto add = [&](const std::string& text) {
    const auto at = static_cast<std::uint32_t>(strings_at + strings.size());
    strings += text + '\0';
    return at;
  };
  std::string table;
  for (const auto& row : rows) {
    table += bytes_of(row.flags);
    table += bytes_of(add(row.key));
    table += bytes_of(add(row.value));
    table += bytes_of(std::uint32_t{0}) + bytes_of(row.hwcap);
  }
  std::string names;
  for (const auto& name : hwcaps) names += bytes_of(add(name));
  while ((strings_at + strings.size()) % 4 != 0) strings += '\0';
  const auto extension = static_cast<std::uint32_t>(strings_at + strings.size());
  std::string text = "glibc-ld.so.cache1.1";
  text += bytes_of(static_cast<std::uint32_t>(rows.size()));
  text += bytes_of(static_cast<std::uint32_t>(strings.size()));
  text += bytes_of(std::uint32_t{2}) + bytes_of(hwcaps.empty() ? 0U : extension);
  text += std::string(12, '\0') + table + strings;
  if (hwcaps.empty()) return text;
  return text + bytes_of(0xeaa42174U) + bytes_of(1U) + bytes_of(1U) + bytes_of(0U) +
         bytes_of(extension + 24) + bytes_of(static_cast<std::uint32_t>(names.size())) + names;
}

std::string look_up(const std::string& text, const std::string& name, const Config& config = {}) {
  const auto cache = Cache::parse(text);
  if (!cache) return cache.error().message;
  return cache->look_up(name, config).value_or("nothing");
}

TEST(CacheOrder, ComparesDigitsAsNumbers) {
  EXPECT_GT(compare_library_names("libx.so.10", "libx.so.9"), 0);
  EXPECT_EQ(compare_library_names("libx.so.08", "libx.so.8"), 0);
  EXPECT_LT(compare_library_names("liba.so", "libb.so"), 0);
  EXPECT_GT(compare_library_names("liba1", "libab"), 0) << "a digit is above any other character";
  EXPECT_LT(compare_library_names("liba", "liba.so"), 0);
  EXPECT_EQ(compare_library_names("libx99999999999999999999", "libx99999999999999999999"), 0);
}

TEST(Cache, FindsTheFirstRowOfItsKind) {
  const auto text = make_cache({{"libz.so.10", "/a/libz.so.10"},
                                {"libz.so.9", "/b/libz.so.9"},
                                {"libz.so.1", "/lib32/libz.so.1", 0x3},
                                {"libz.so.1", "/c/libz.so.1"},
                                {"libz.so.1", "/d/libz.so.1"},
                                {"liba.so", "/e/liba.so", 0xa03}});
  EXPECT_EQ(look_up(text, "libz.so.10"), "/a/libz.so.10");
  EXPECT_EQ(look_up(text, "libz.so.9"), "/b/libz.so.9");
  EXPECT_EQ(look_up(text, "libz.so.1"), "/c/libz.so.1");
  EXPECT_EQ(look_up(text, "liba.so"), "nothing");
  EXPECT_EQ(look_up(text, "libq.so"), "nothing");
  Config arm;
  arm.machine = 183;
  EXPECT_EQ(look_up(text, "liba.so", arm), "/e/liba.so");
}

TEST(Cache, PrefersTheBestLevelThatTheCpuHas) {
  const auto text = make_cache({{"libx.so", "/v3/libx.so", kX86_64, kNamed | 1},
                                {"libx.so", "/v2/libx.so", kX86_64, kNamed | 0},
                                {"libx.so", "/plain/libx.so"}},
                               {"x86-64-v2", "x86-64-v3"});
  Config config;
  EXPECT_EQ(look_up(text, "libx.so", config), "/plain/libx.so");
  config.cpu_levels = {"x86-64-v2"};
  EXPECT_EQ(look_up(text, "libx.so", config), "/v2/libx.so");
  config.cpu_levels = {"x86-64-v3", "x86-64-v2"};
  EXPECT_EQ(look_up(text, "libx.so", config), "/v3/libx.so");
  config.glibc = Version::of("2.32");
  EXPECT_EQ(look_up(text, "libx.so", config), "/plain/libx.so") << "glibc-hwcaps came with 2.33";
}

TEST(Cache, PassesOverLevelsThatTheLibraryItselfExceeds) {
  const auto text = make_cache(
      {{"libx.so", "/v2/libx.so", kX86_64, kNamed | (3ULL << 32)}, {"libx.so", "/plain/libx.so"}},
      {"x86-64-v2"});
  Config config;
  config.cpu_levels = {"x86-64-v2"};
  EXPECT_EQ(look_up(text, "libx.so", config), "/plain/libx.so");
}

TEST(Cache, PassesOverLegacyCapabilitiesSince237) {
  const auto text = make_cache(
      {{"libx.so", "/lib/haswell/libx.so", kX86_64, 1ULL << 50}, {"libx.so", "/lib/libx.so"}});
  Config config;
  config.hwcaps = {"haswell"};
  config.glibc = Version::of("2.37");
  EXPECT_EQ(look_up(text, "libx.so", config), "/lib/libx.so");
  config.glibc = Version::of("2.35");
  EXPECT_EQ(look_up(text, "libx.so", config), "/lib/haswell/libx.so");
  config.hwcaps = {"tls"};
  EXPECT_EQ(look_up(text, "libx.so", config), "/lib/libx.so");
}

TEST(Cache, MayStandBehindTheOldTable) {
  std::string old = "ld.so-1.7.0";
  old += '\0' + bytes_of(1U) + bytes_of(3U) + bytes_of(0U) + bytes_of(0U);
  old.resize((old.size() + 7) / 8 * 8);
  EXPECT_EQ(look_up(old + make_cache({{"libx.so", "/a/libx.so"}}), "libx.so"), "/a/libx.so");
}

TEST(Cache, OfTheOldFormAloneIsRead) {
  std::string old = "ld.so-1.7.0";
  old += '\0' + bytes_of(1U) + bytes_of(kX86_64) + bytes_of(0U) + bytes_of(8U);
  old += std::string("libx.so\0/a/libx.so\0", 19);
  EXPECT_EQ(look_up(old, "libx.so"), "/a/libx.so");
}

TEST(Cache, ThatIsDamagedSaysWhatIsWrong) {
  const auto good = make_cache({{"libx.so", "/a/libx.so"}});
  EXPECT_EQ(look_up("", "libx.so"), "not a cache that ldconfig wrote");
  EXPECT_EQ(look_up(good.substr(0, 40), "libx.so"), "its header is cut off");
  EXPECT_EQ(look_up(good.substr(0, 60), "libx.so"), "its table is larger than the file");
  std::string big = good;
  big[28] = 3;
  EXPECT_EQ(look_up(big, "libx.so"), "written on a big-endian machine");
  std::string outside = good;
  std::memset(outside.data() + 52, 0xff, 8);
  EXPECT_EQ(look_up(outside, "libx.so"), "nothing");
}

TEST(Cache, CutOrChangedAnywhereIsRead) {
  const auto good = make_cache({{"libx.so", "/v2/libx.so", kX86_64, kNamed},
                                {"libx.so", "/a/libx.so"},
                                {"liba.so", "/a/liba.so"}},
                               {"x86-64-v2"});
  Config config;
  config.cpu_levels = {"x86-64-v2"};
  for (std::size_t size = 0; size < good.size(); ++size) look_up(good.substr(0, size), "liba.so");
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string image = good;
      image[at] = value;
      look_up(image, "libx.so", config);
    }
}

TEST(CacheStage, GoesOnToDefaultDirectoriesWhenTheFileIsGone) {
  World world;
  world.system.add_file("/etc/ld.so.cache", make_cache({{"libx.so", "/gone/libx.so"},
                                                        {"libx.so", "/second/libx.so"},
                                                        {"liby.so", "/gone/liby.so"},
                                                        {"liby.so", "/second/liby.so"}}));
  world.add("/second/libx.so", {});
  world.add("/second/liby.so", {});
  world.add("/lib64/libx.so", {});
  EXPECT_EQ(world.opened("libx.so"), "/lib64/libx.so");
  EXPECT_EQ(world.opened("liby.so"),
            "liby.so: cannot open shared object file: No such file or directory")
      << "the second row is not tried";
}

TEST(CacheStage, OfADefaultDirectoryIsNotForAMarkedAsker) {
  World world;
  world.system.add_file("/etc/ld.so.cache", make_cache({{"libx.so", "/lib64/libx.so"}}));
  world.add("/lib64/libx.so", {});
  world.add("/x/liba.so", {.needed = {"libx.so"}, .flags_1 = 0x800});
  EXPECT_NE(world.opened("/x/liba.so"), "/x/liba.so");
  world.system.add_file("/etc/ld.so.cache", make_cache({{"libx.so", "/other/libx.so"}}));
  world.add("/other/libx.so", {});
  EXPECT_EQ(world.opened("/x/liba.so"), "/x/liba.so");
}

TEST(ReadCache, GivesTheRowsInTheFilesOrder) {
  World world;
  world.system.add_file("/etc/ld.so.cache",
                        make_cache({{"libx.so", "/v2/libx.so", kX86_64, kNamed},
                                    {"libx.so", "/h/libx.so", kX86_64, 1ULL << 50},
                                    {"liba.so", "/a/liba.so"}},
                                   {"x86-64-v2"}));
  const auto rows = read_cache(world.system);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ((*rows)[0].hwcaps, "x86-64-v2");
  EXPECT_TRUE((*rows)[1].legacy_hwcaps);
  EXPECT_EQ((*rows)[2].name, "liba.so");
  EXPECT_EQ((*rows)[2].path, "/a/liba.so");
}

TEST(ReadCache, OfThisMachineHasEveryRowInOrder) {
  const auto system = make_live_system();
  const auto rows = read_cache(*system);
  if (!rows) GTEST_SKIP() << "skipped: " << rows.error().text();
  EXPECT_TRUE(std::is_sorted(rows->begin(), rows->end(), [](const auto& a, const auto& b) {
    return compare_library_names(a.name, b.name) > 0;
  }));
  for (const auto& row : *rows) EXPECT_TRUE(row.path.ends_with(row.name)) << row.path;
}

}  // namespace
}  // namespace gpuwright::loader
