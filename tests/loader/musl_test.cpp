#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loader/world.h"

namespace gpuwright::loader {
namespace {

using testing::ElementsAre;
using State = Outcome::State;

/// An Alpine-like machine.
struct MuslWorld {
  MuslWorld() {
    program.interpreter = "/lib/ld-musl-x86_64.so.1";
    program.needed = {"libc.musl-x86_64.so.1"};
    add("/lib/ld-musl-x86_64.so.1", {.soname = "libc.musl-x86_64.so.1"});
  }
  void add(const std::string& path, const ElfSpec& spec) { system.add_file(path, write_elf(spec)); }
  Process started() {
    add("/bin/prog", program);
    Process process(system, make_config(system, "/bin/prog", environment).value());
    outcome = process.start("/bin/prog");
    return process;
  }

  MemorySystem system;
  ElfSpec program;
  std::map<std::string, std::string> environment;
  Outcome outcome;
};

TEST(Musl, IsToldByTheInterpreter) {
  MuslWorld world;
  const Process process = world.started();
  EXPECT_TRUE(process.config().musl);
  EXPECT_THAT(process.config().default_directories,
              ElementsAre("/lib", "/usr/local/lib", "/usr/lib"));
  EXPECT_EQ(world.outcome.state, State::kFound) << world.outcome.error;
  EXPECT_EQ(process.objects().size(), 2U) << "its libc is the interpreter";
}

TEST(Musl, TakesItsPathFromTheFileOfTheArchitecture) {
  MuslWorld world;
  world.system.add_file("/etc/ld-musl-x86_64.path", "/opt/lib:/a\n/b\n");
  EXPECT_THAT(world.started().config().default_directories, ElementsAre("/opt/lib", "/a", "/b"));
}

TEST(Musl, SearchesLibraryPathThenInheritedRunpathThenItsPath) {
  MuslWorld world;
  world.add("/x/libroot.so", {.needed = {"libmid.so"}, .runpath = "$ORIGIN/own"});
  world.add("/x/own/libmid.so", {.needed = {"libleaf.so"}});
  world.add("/x/own/libleaf.so", {});
  world.add("/usr/lib/libleaf.so", {});
  Process process = world.started();
  ASSERT_EQ(process.dlopen("/x/libroot.so").state, State::kFound);
  EXPECT_EQ(process.objects().back().path, "/x/own/libleaf.so") << "runpath is inherited";
  world.environment["LD_LIBRARY_PATH"] = "/llp";
  world.add("/llp/libleaf.so", {});
  Process other = world.started();
  other.dlopen("/x/libroot.so");
  EXPECT_EQ(other.objects().back().path, "/llp/libleaf.so");
}

TEST(Musl, DoesNotMatchASoname) {
  MuslWorld world;
  world.add("/x/liba.so", {.soname = "libx.so.1"});
  world.add("/lib/libx.so.1", {.soname = "libx.so.1"});
  Process process = world.started();
  process.dlopen("/x/liba.so");
  EXPECT_EQ(process.dlopen("libx.so.1").path, "/lib/libx.so.1");
}

TEST(Musl, NamesWhoNeededTheMissingLibrary) {
  MuslWorld world;
  world.program.needed.push_back("libstdc++.so.6");
  world.started();
  EXPECT_EQ(world.outcome.error,
            "Error loading shared library libstdc++.so.6: No such file or directory (needed by "
            "/bin/prog)");
}

TEST(Musl, HasNoCapabilitiesSubdirectoriesAndNoCache) {
  MuslWorld world;
  world.add("/lib/glibc-hwcaps/x86-64-v2/libx.so", {});
  Process process = world.started();
  EXPECT_EQ(process.dlopen("libx.so").state, State::kMissing);
}

}  // namespace
}  // namespace gpuwright::loader
