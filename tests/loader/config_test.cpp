#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "loader/child.h"
#include "loader/config_parts.h"
#include "loader/world.h"

namespace gpuwright::loader {
namespace {

using testing::ElementsAre;

// A literal with all its NULs.
template <std::size_t N>
constexpr std::string_view image(const char (&text)[N]) {
  return {text, N - 1};
}

constexpr auto kDebianImage = image(
    "\x7f"
    "ELF\0junk/lib/x\0\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/usr/lib/\0"
    "\0/etc/ld.so.cache\0ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\n\0");

// The flags of an AMD EPYC (Zen 1), shortened to what is asked for and some more.
constexpr const char* kZen =
    "processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu cx8 cmov sse2 pni ssse3 fma cx16 "
    "sse4_1 sse4_2 movbe popcnt avx f16c lahf_lm abm bmi1 avx2 bmi2\n";
constexpr const char* kSkylakeServer =
    "vendor_id\t: GenuineIntel\nflags\t\t: pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt avx f16c "
    "lahf_lm abm bmi1 avx2 bmi2 avx512f avx512dq avx512cd avx512bw avx512vl\n";

TEST(SystemDirectories, AreTheRunOfTextsInLdSo) {
  EXPECT_THAT(
      parse_system_directories(kDebianImage),
      ElementsAre("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib"));
  EXPECT_THAT(parse_system_directories(image("x\0/lib64/\0/usr/lib64/\0\0y")),
              ElementsAre("/lib64", "/usr/lib64"));
  EXPECT_THAT(parse_system_directories(image("\0/nix/store/abc-glibc-2.39-52/lib/\0/etc/x\0")),
              ElementsAre("/nix/store/abc-glibc-2.39-52/lib"));
}

TEST(SystemDirectories, AreNothingInOtherBytes) {
  EXPECT_TRUE(parse_system_directories("").empty());
  EXPECT_TRUE(parse_system_directories("/lib").empty());
  EXPECT_TRUE(parse_system_directories(std::string(1000, '\0')).empty());
  EXPECT_TRUE(parse_system_directories("/usr/lib/locale").empty());
  EXPECT_THAT(parse_system_directories("/lib/"), ElementsAre("/lib")) << "cut off after the last";
}

TEST(GlibcRelease, IsReadFromTheBanner) {
  EXPECT_EQ(parse_glibc_release(kDebianImage)->text(), "2.36");
  EXPECT_EQ(parse_glibc_release("development release version 2.41.9000.\n")->text(), "2.41.9000");
  EXPECT_FALSE(parse_glibc_release("release version unknown"));
}

TEST(Processor, HasTheLevelsOfItsFlags) {
  EXPECT_THAT(parse_processor(kZen, 62).levels, ElementsAre("x86-64-v3", "x86-64-v2"));
  EXPECT_THAT(parse_processor(kSkylakeServer, 62).levels,
              ElementsAre("x86-64-v4", "x86-64-v3", "x86-64-v2"));
  EXPECT_TRUE(parse_processor("flags\t\t: fpu sse2\n", 62).levels.empty());
  EXPECT_TRUE(parse_processor(kZen, 183).levels.empty());
}

TEST(Processor, IsRenamedByGlibcOnlyFromIntel) {
  EXPECT_EQ(parse_processor(kZen, 62).platform, "x86_64");
  EXPECT_EQ(parse_processor(kSkylakeServer, 62).platform, "haswell");
  EXPECT_EQ(parse_processor("Features\t: fp atomics\n", 183).platform, "aarch64");
}

TEST(LegacyHwcaps, AreAllCombinationsTheFullestFirst) {
  EXPECT_THAT(legacy_hwcaps(parse_processor(kZen, 62)),
              ElementsAre("tls/x86_64/x86_64", "tls/x86_64", "tls", "x86_64/x86_64", "x86_64"));
  EXPECT_THAT(
      legacy_hwcaps(parse_processor(kSkylakeServer, 62)),
      ElementsAre("tls/haswell/avx512_1/x86_64", "tls/haswell/avx512_1", "tls/haswell/x86_64",
                  "tls/haswell", "tls/avx512_1/x86_64", "tls/avx512_1", "tls/x86_64", "tls",
                  "haswell/avx512_1/x86_64", "haswell/avx512_1", "haswell/x86_64", "haswell",
                  "avx512_1/x86_64", "avx512_1", "x86_64"));
}

TEST(LibToken, IsTheEndOfTheFirstDirectory) {
  EXPECT_EQ(lib_token_of("/lib/x86_64-linux-gnu"), "lib/x86_64-linux-gnu");
  EXPECT_EQ(lib_token_of("/lib64"), "lib64");
  EXPECT_EQ(lib_token_of("/nix/store/abc-glibc/lib"), "lib");
}

TEST(PreloadFile, IsSplitAtBlanksAndColonsWithoutComments) {
  EXPECT_THAT(parse_preload_file("a.so:b.so\tc.so # d.so\n#e.so\n f.so"),
              ElementsAre("a.so", "b.so", "c.so", "f.so"));
}

Config made(const World& world, const std::map<std::string, std::string>& environment = {}) {
  return make_config(world.system, "/bin/prog", environment).value();
}

TEST(MakeConfig, ReadsTheLoaderThatTheProgramNames) {
  World world;
  world.system.add_file("/lib64/ld-linux-x86-64.so.2", std::string(kDebianImage));
  world.system.add_file("/proc/cpuinfo", kZen);
  world.system.cwd = "/work";
  const Config config = made(world);
  EXPECT_EQ(config.default_directories.front(), "/lib/x86_64-linux-gnu");
  EXPECT_EQ(config.lib_token, "lib/x86_64-linux-gnu");
  EXPECT_EQ(config.glibc.text(), "2.36");
  EXPECT_EQ(config.working_directory, "/work");
  EXPECT_THAT(config.hwcaps,
              ElementsAre("glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v2", "tls/x86_64/x86_64",
                          "tls/x86_64", "tls", "x86_64/x86_64", "x86_64"));
}

TEST(MakeConfig, FallsBackToTheDistributionAndTheLibrarysVersions) {
  World world;  // its ld.so says nothing
  Config config = made(world);
  EXPECT_THAT(config.default_directories, ElementsAre("/lib64", "/usr/lib64"));
  EXPECT_EQ(config.glibc.text(), "2.34");
  world.system.add_file("/etc/os-release", "NAME=Mint\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n");
  config = made(world);
  EXPECT_EQ(config.default_directories.front(), "/lib/x86_64-linux-gnu");
}

TEST(MakeConfig, SaysThatTheProcessorIsUnknownWithoutCpuinfo) {
  World world;
  EXPECT_FALSE(made(world).cpu_known);
  world.system.add_file("/proc/cpuinfo", kZen);
  EXPECT_TRUE(made(world).cpu_known);
}

TEST(MakeConfig, TakesTheVariables) {
  World world;
  const Config config =
      made(world, {{"LD_LIBRARY_PATH", ""},
                   {"LD_PRELOAD", "libx.so"},
                   {"GLIBC_TUNABLES", "glibc.malloc.check=1:glibc.rtld.execstack=2"}});
  EXPECT_EQ(config.library_path, "");
  EXPECT_EQ(config.preload, "libx.so");
  EXPECT_EQ(config.executable_stack, 2);
  EXPECT_EQ(made(world).library_path, std::nullopt);
}

TEST(MakeConfig, IsSecureForASetUserIdProgramOfAnotherUser) {
  World world;
  world.system.who.uid = 1000;
  EXPECT_FALSE(made(world).secure);
  world.system.add_file("/bin/prog", write_elf(World::program()), 04755);
  EXPECT_TRUE(made(world).secure);
  world.system.who.uid = 0;
  EXPECT_FALSE(made(world).secure);
}

TEST(MakeConfig, FailsForWhatIsNoElfFile) {
  World world;
  world.system.add_file("/bin/shim", "#!/bin/sh\n");
  const auto config = make_config(world.system, "/bin/shim", {});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().text(), "/bin/shim: file too short");
}

// name="value" of ld.so --list-diagnostics; numbers stand without quotes.
std::string diagnostic(const std::string& text, std::string_view name) {
  auto value = value_after(text, name).value_or("");
  if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
  return std::string(value);
}

// The list that ld.so itself gives (glibc >= 2.33), the one place where the answer is certain.
TEST(MakeConfig, AgreesWithTheDiagnosticsOfThisMachinesLoader) {
  const Finished real = run({"/lib64/ld-linux-x86-64.so.2", "--list-diagnostics"}, {}, "/");
  if (real.status != 0) GTEST_SKIP() << "skipped: no ld.so with --list-diagnostics";
  const auto system = make_live_system();
  const auto config = make_config(*system, "/proc/self/exe", {});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->lib_token, diagnostic(real.out, "dl_dst_lib="));
  if (const auto platform = diagnostic(real.out, "dl_platform="); !platform.empty()) {
    EXPECT_EQ(config->platform_token, platform);
  }
  EXPECT_EQ(config->glibc.text(), diagnostic(real.out, "version.version="));
  std::vector<std::string> directories;
  for (const auto line : lines(real.out))
    if (line.starts_with("path.system_dirs["))
      directories.push_back(path_directory(line.substr(line.find('"') + 1)));
  EXPECT_EQ(config->default_directories, directories);
  // One bit for each of v4, v3, v2, of which v4 is bit 0: the three best-first, the last n set.
  const auto active = diagnostic(real.out, "dl_hwcaps_subdirs_active=0x");
  EXPECT_EQ(parse_unsigned(active, 16), 8U - (8U >> config->cpu_levels.size()));
}

}  // namespace
}  // namespace gpuwright::loader
