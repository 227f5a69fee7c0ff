#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "loader/world.h"

// Each rule of the search by itself, on trees of a few files. That the rules together are ld.so's
// is the business of real_loader_test.cpp and dlopen_test.cpp.

namespace gpuwright::loader {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using State = Outcome::State;

constexpr const char* kNotFound =
    "libx.so: cannot open shared object file: No such file or directory";

ElfSpec named(const std::string& soname) { return {.soname = soname}; }

TEST(Start, MapsProgramInterpreterAndClosureInBreadthFirstOrder) {
  World world;
  auto program = World::program();
  program.needed = {"liba.so", "libb.so", "libc.so.6"};
  world.set_program(program);
  world.add("/lib64/liba.so", {.soname = "liba.so", .needed = {"libdeep.so", "libb.so"}});
  world.add("/lib64/libb.so", named("libb.so"));
  world.add("/lib64/libdeep.so", named("libdeep.so"));
  const Process process = world.started();
  EXPECT_EQ(world.start_outcome.state, State::kFound) << world.start_outcome.error;
  EXPECT_THAT(mapped_paths(process),
              ElementsAre("/lib64/liba.so", "/lib64/libb.so", "/lib64/libdeep.so"));
  EXPECT_EQ(process.objects()[*process.find("libdeep.so")].loader, process.find("liba.so"));
}

TEST(Start, NamesWhatIsMissingAndMapsTheRest) {
  World world;
  auto program = World::program();
  program.needed = {"libx.so", "liba.so", "libc.so.6"};
  world.set_program(program);
  world.add("/lib64/liba.so", {.soname = "liba.so", .needed = {"liby.so"}});
  const Process process = world.started();
  EXPECT_EQ(world.start_outcome.state, State::kMissing);
  EXPECT_EQ(world.start_outcome.error, kNotFound);
  EXPECT_EQ(world.start_outcome.culprit, "libx.so");
  ASSERT_EQ(process.missing().size(), 2U);
  EXPECT_EQ(process.missing()[1].name, "liby.so");
  EXPECT_EQ(process.objects()[process.missing()[1].asker].path, "/lib64/liba.so");
}

TEST(Start, CountsANameOfAnotherClassAmongTheMissing) {
  World world;
  auto program = World::program();
  program.needed = {"libx.so", "liba.so", "libc.so.6"};
  world.set_program(program);
  world.add("/lib64/libx.so", {.elf_class = 1, .machine = 3});
  world.add("/lib64/liba.so", named("liba.so"));
  const Process process = world.started();
  EXPECT_EQ(world.start_outcome.error, "libx.so: wrong ELF class: ELFCLASS32");
  ASSERT_EQ(process.missing().size(), 1U);
  EXPECT_THAT(mapped_paths(process), ElementsAre("/lib64/liba.so"));
}

TEST(Start, FailsWhenTheInterpreterIsMissing) {
  World world;
  world.system.remove("/lib64/ld-linux-x86-64.so.2");
  world.started();
  EXPECT_EQ(world.start_outcome.state, State::kMissing);
  EXPECT_EQ(world.start_outcome.culprit, "/lib64/ld-linux-x86-64.so.2");
}

TEST(Start, LeavesAStaticProgramAlone) {
  World world;
  world.set_program({.type = 2, .dynamic_section = false});
  const Process process = world.started();
  EXPECT_EQ(world.start_outcome.state, State::kFound);
  EXPECT_EQ(process.objects().size(), 1U);
}

TEST(Stages, ComeInTheOrderRpathLibraryPathRunpathCacheDefault) {
  World world;
  auto program = World::program();
  program.rpath = "/rpath";
  world.set_program(program);
  world.config.library_path = "/llp";
  for (const char* path :
       {"/usr/lib64/libx.so", "/lib64/libx.so", "/llp/libx.so", "/rpath/libx.so"}) {
    world.add(path, named("libx.so"));
    EXPECT_EQ(world.opened("libx.so"), path);
  }
}

TEST(Stages, LibraryPathBeatsRunpath) {
  World world;
  world.add("/x/liba.so", {.needed = {"libx.so"}, .runpath = "/run"});
  world.add("/run/libx.so", named("libx.so"));
  world.add("/llp/libx.so", named("libx.so"));
  world.config.library_path = "/llp";
  Process process = world.started();
  ASSERT_EQ(process.dlopen("/x/liba.so").state, State::kFound);
  EXPECT_THAT(mapped_paths(process), ElementsAre("/x/liba.so", "/llp/libx.so"));
  EXPECT_EQ(process.objects().back().stage, Stage::kLibraryPath);
}

TEST(Stages, SayWhoseTagItWas) {
  World world;
  world.add("/x/liba.so", {.needed = {"libx.so"}, .runpath = "$ORIGIN/run"});
  world.add("/x/run/libx.so", named("libx.so"));
  Process process = world.started();
  process.dlopen("/x/liba.so");
  EXPECT_EQ(process.objects().back().stage, Stage::kRunpath);
  EXPECT_EQ(process.objects().back().stage_detail, "DT_RUNPATH of /x/liba.so");
}

TEST(Rpath, IsInheritedThroughObjectsWithoutATag) {
  World world;
  world.add("/x/libroot.so", {.needed = {"libmid.so"}, .rpath = "/r"});
  world.add("/r/libmid.so", {.needed = {"libx.so"}});
  world.add("/r/libx.so", named("libx.so"));
  Process process = world.started();
  EXPECT_EQ(process.dlopen("/x/libroot.so").state, State::kFound);
  EXPECT_THAT(mapped_paths(process), ElementsAre("/x/libroot.so", "/r/libmid.so", "/r/libx.so"));
  EXPECT_EQ(process.objects().back().stage_detail, "DT_RPATH of /x/libroot.so");
}

TEST(Rpath, IsSwitchedOffByRunpathOfTheAskerEvenForTheProgram) {
  World world;
  auto program = World::program();
  program.rpath = "/program";
  world.set_program(program);
  world.add("/program/libx.so", named("libx.so"));
  world.add("/x/liba.so", {.needed = {"libx.so"}, .runpath = "/nothing"});
  Process process = world.started();
  const Outcome outcome = process.dlopen("/x/liba.so");
  EXPECT_EQ(outcome.state, State::kMissing);
  EXPECT_EQ(outcome.error, kNotFound);
  EXPECT_EQ(outcome.culprit, "libx.so");
  EXPECT_THAT(mapped_paths(process), ElementsAre());
}

TEST(Rpath, OfALevelWithRunpathGivesNothingButTheWalkGoesOn) {
  World world;
  world.add("/x/libroot.so", {.needed = {"libmid.so"}, .rpath = "/r"});
  world.add("/r/libmid.so", {.needed = {"liblow.so"}, .rpath = "/ignored", .runpath = "/m"});
  world.add("/m/liblow.so", {.needed = {"libx.so"}});
  world.add("/ignored/libx.so", named("libx.so"));
  world.add("/m/libx.so", named("libx.so"));
  world.add("/r/libx.so", named("libx.so"));
  Process process = world.started();
  ASSERT_EQ(process.dlopen("/x/libroot.so").state, State::kFound);
  EXPECT_EQ(mapped_paths(process).back(), "/r/libx.so");
}

TEST(Rpath, ChainEndsAtDlopen) {
  World world;
  world.add("/x/libcaller.so", {.rpath = "/r"});
  world.add("/r/liba.so", {.needed = {"libx.so"}});
  world.add("/r/libx.so", named("libx.so"));
  Process process = world.started();
  const auto caller = process.dlopen("/x/libcaller.so").object;
  const Outcome outcome = process.dlopen("liba.so", caller);
  EXPECT_EQ(outcome.error, kNotFound) << "liba.so itself was found by the caller's tag";
}

TEST(Rpath, OfTheProgramServesTheDependenciesOfAnOpenedLibrary) {
  World world;
  auto program = World::program();
  program.rpath = "$ORIGIN/../conda/lib";
  world.set_program(program);
  world.add("/conda/lib/libx.so", named("libx.so"));
  world.add("/x/liba.so", {.needed = {"libx.so"}});
  Process process = world.started();
  process.dlopen("/x/liba.so");
  EXPECT_EQ(mapped_paths(process).back(), "/bin/../conda/lib/libx.so");
}

TEST(Runpath, IsNotInherited) {
  World world;
  world.add("/x/libroot.so", {.needed = {"libmid.so"}, .runpath = "/r"});
  world.add("/r/libmid.so", {.needed = {"libx.so"}});
  world.add("/r/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("/x/libroot.so"), kNotFound);
}

TEST(LibraryPath, TakesAnEmptyElementForTheCurrentDirectory) {
  World world;
  world.config.library_path = "/nothing:";
  world.config.working_directory = "/project";
  world.add("/project/libx.so", named("libx.so"));
  Process process = world.started();
  const Outcome outcome = process.dlopen("libx.so");
  EXPECT_EQ(outcome.path, "libx.so");
  EXPECT_EQ(process.objects()[*outcome.object].origin, "/project");
  EXPECT_EQ(process.objects()[*outcome.object].real_path, "/project/libx.so");
}

TEST(LibraryPath, IsNothingWhenItIsEmptyAsAWhole) {
  World world;
  world.config.library_path = "";
  world.config.working_directory = "/project";
  world.add("/project/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), kNotFound);
}

TEST(LibraryPath, IsSplitAtSemicolonsToo) {
  World world;
  world.config.library_path = "/a;/b";
  world.add("/b/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), "/b/libx.so");
}

TEST(LibraryPath, ExpandsOriginAgainstTheProgram) {
  World world;
  world.config.library_path = "$ORIGIN/../p";
  world.add("/p/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), "/bin/../p/libx.so");
}

TEST(LibraryPath, IsIgnoredInASecureProcess) {
  World world;
  world.config.library_path = "/llp";
  world.config.secure = true;
  world.add("/llp/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), kNotFound);
}

TEST(Origin, OfALibraryKeepsTheTextItWasOpenedWith) {
  World world;
  world.add("/store/liba.so", {.needed = {"libx.so"}, .runpath = "$ORIGIN/own"});
  world.system.add_link("/env/liba.so", "/store/liba.so");
  world.add("/env/own/libx.so", named("libx.so"));
  world.add("/store/own/libx.so", named("libx.so"));
  Process process = world.started();
  ASSERT_EQ(process.dlopen("/env/liba.so").state, State::kFound);
  EXPECT_EQ(mapped_paths(process).back(), "/env/own/libx.so");
}

TEST(Origin, WalksParentsOfALinkedDirectoryInItsTarget) {
  World world;
  world.add("/store/pkg/liba.so", {.needed = {"libx.so"}, .runpath = "$ORIGIN/../nvidia"});
  world.system.add_link("/env/pkg", "/store/pkg");
  world.add("/env/nvidia/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("/env/pkg/liba.so"), kNotFound);
}

TEST(Origin, OfTheProgramIsResolved) {
  World world;
  auto program = World::program();
  program.runpath = "$ORIGIN/../lib";
  world.system.add_file("/base/bin/python", write_elf(program), 0755);
  world.system.add_link("/venv/bin/python", "/base/bin/python");
  world.add("/base/lib/libx.so", named("libx.so"));
  Process process(world.system, world.config);
  process.start("/venv/bin/python");
  EXPECT_EQ(process.dlopen("libx.so").path, "/base/bin/../lib/libx.so");
}

TEST(Names, WithASlashAreNotSearched) {
  World world;
  world.add("/lib64/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("./libx.so"),
            "./libx.so: cannot open shared object file: No such file or directory");
  world.config.working_directory = "/lib64";
  EXPECT_EQ(world.opened("./libx.so"), "./libx.so");
}

TEST(Names, OfAMappedObjectEndTheSearch) {
  World world;
  world.add("/one/libx.so.1", named("libx.so.1"));
  world.add("/lib64/libx.so.1", named("libx.so.1"));
  Process process = world.started();
  const Outcome first = process.dlopen("/one/libx.so.1");
  const Outcome second = process.dlopen("libx.so.1");
  EXPECT_EQ(second.object, first.object) << "by its SONAME";
  EXPECT_FALSE(second.newly_mapped);
  EXPECT_EQ(second.stage, Stage::kAlreadyMapped);
}

TEST(Names, AreNotMatchedByAnObjectWithoutSoname) {
  World world;
  world.add("/one/libx.so", {.needed = {"libc.so.6"}});
  world.add("/lib64/libx.so", {.needed = {"libc.so.6"}});
  Process process = world.started();
  process.dlopen("/one/libx.so");
  EXPECT_EQ(process.dlopen("libx.so").path, "/lib64/libx.so");
}

TEST(Names, RequestedOnceAreRemembered) {
  World world;
  world.add("/lib64/libx.so", named("libreal.so.1"));
  Process process = world.started();
  const Outcome first = process.dlopen("libx.so");
  EXPECT_EQ(process.dlopen("libx.so").object, first.object);
  EXPECT_EQ(process.find("libreal.so.1"), first.object);
}

TEST(Identity, IsTheInode) {
  World world;
  world.add("/lib64/libreal.so.1.2", named("libreal.so.1"));
  world.system.add_link("/lib64/libother.so", "libreal.so.1.2");
  Process process = world.started();
  const Outcome first = process.dlopen("/lib64/libreal.so.1.2");
  const Outcome second = process.dlopen("libother.so");
  EXPECT_EQ(second.object, first.object);
  EXPECT_FALSE(second.newly_mapped);
  EXPECT_EQ(process.find("libother.so"), first.object) << "the new name is added";
}

TEST(Identity, LetsTwoCopiesWithOneSonameLiveTogether) {
  World world;
  world.add("/one/libx.so.1", named("libx.so.1"));
  world.add("/two/libx.so.1", named("libx.so.1"));
  Process process = world.started();
  const Outcome first = process.dlopen("/one/libx.so.1");
  const Outcome second = process.dlopen("/two/libx.so.1");
  EXPECT_NE(second.object, first.object);
  EXPECT_TRUE(second.newly_mapped);
  EXPECT_EQ(process.objects()[*process.find("libx.so.1")].path, "/one/libx.so.1");
}

TEST(BadCandidates, OfAnotherKindAreSteppedOver) {
  World world;
  world.config.library_path = "/a:/b:/c";
  world.add("/a/libx.so", {.elf_class = 1, .machine = 3});
  world.add("/b/libx.so", {.machine = 183});
  world.system.add_link("/c/libx.so", "/gone");
  EXPECT_EQ(world.opened("libx.so"), "libx.so: wrong ELF class: ELFCLASS32");
  world.add("/lib64/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), "/lib64/libx.so");
}

TEST(BadCandidates, OfAnotherMachineAloneAreNotFound) {
  World world;
  world.add("/lib64/libx.so", {.machine = 183});
  EXPECT_EQ(world.opened("libx.so"), kNotFound);
}

struct BadFile {
  const char* what;
  std::string bytes;
  const char* words;
};

TEST(BadCandidates, EndTheSearchWithTheLoadersWords) {
  const std::string good = write_elf({.soname = "libx.so"});
  const auto patched = [&](std::size_t offset, char value) {
    std::string image = good;
    image[offset] = value;
    return image;
  };
  const BadFile files[] = {
      {"zero length", "", "file too short"},
      {"a header cut off", good.substr(0, 63), "file too short"},
      {"text", std::string(100, 'x'), "invalid ELF header"},
      {"big endian", patched(5, 2), "ELF file data encoding not little-endian"},
      {"ident version", patched(6, 7), "ELF file version ident does not match current one"},
      {"OS ABI", patched(7, 9), "ELF file OS ABI invalid"},
      {"ABI version", patched(8, 1), "ELF file ABI version invalid"},
      {"padding", patched(12, 1), "nonzero padding in e_ident"},
      {"version", patched(20, 2), "ELF file version does not match current one"},
      {"a relocatable object", patched(16, 1), "only ET_DYN and ET_EXEC can be loaded"},
      {"phentsize", patched(54, 55), "ELF file's phentsize not the expected size"},
      {"program headers cut off", good.substr(0, 80), "cannot read file data"},
  };
  for (const auto& file : files) {
    World world;
    world.config.library_path = "/bad";
    world.system.add_file("/bad/libx.so", file.bytes);
    world.add("/lib64/libx.so", named("libx.so"));
    EXPECT_EQ(world.opened("libx.so"), std::string("/bad/libx.so: ") + file.words) << file.what;
  }
}

TEST(BadCandidates, IncludeADirectoryOfThatName) {
  World world;
  world.system.add_directory("/lib64/libx.so");
  Process process = world.started();
  const Outcome outcome = process.dlopen("libx.so");
  EXPECT_EQ(outcome.state, State::kUnloadable);
  EXPECT_EQ(outcome.error, "/lib64/libx.so: cannot read file data: Is a directory");
  EXPECT_EQ(outcome.path, "/lib64/libx.so");
}

TEST(BadCandidates, OfNoKnownEffectAreUnknown) {
  World world;
  world.system.add_device("/lib64/libx.so", 1, 3);
  Process process = world.started();
  EXPECT_EQ(process.dlopen("libx.so").state, State::kUnknown);
}

TEST(BadCandidates, ThatLoopEndTheirListOnly) {
  World world;
  world.config.library_path = "/a:/b";
  world.system.add_link("/a/libx.so", "/a/libx.so");
  world.add("/b/libx.so", named("libx.so"));
  world.add("/lib64/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), "/lib64/libx.so");
}

TEST(BadCandidates, ThatMayNotBeReadAreSteppedOver) {
  World world;
  world.config.library_path = "/a:/b";
  world.system.add_file("/a/libx.so", "");
  world.system.set_error("/a/libx.so", EACCES);
  world.add("/b/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), "/b/libx.so");
  EXPECT_EQ(world.opened("/a/libx.so"),
            "/a/libx.so: cannot open shared object file: Permission denied");
}

TEST(Refusals, NameTheRequestAndNotTheFile) {
  World world;
  world.add("/lib64/libexec.so", {.type = 2});
  world.add("/lib64/libpie.so", {.flags_1 = 0x8000000});
  world.add("/lib64/libnoopen.so", {.flags_1 = 0x40});
  world.add("/lib64/libdebug.so", {.dynamic_section = false});
  EXPECT_EQ(world.opened("libexec.so"), "libexec.so: cannot dynamically load executable");
  EXPECT_EQ(world.opened("libpie.so"),
            "libpie.so: cannot dynamically load position-independent executable");
  EXPECT_EQ(world.opened("libnoopen.so"), "libnoopen.so: shared object cannot be dlopen()ed");
  EXPECT_EQ(world.opened("libdebug.so"), "libdebug.so: object file has no dynamic section");
}

TEST(Dlopen, LeavesNothingMappedWhenADependencyFails) {
  World world;
  world.add("/lib64/liba.so", {.soname = "liba.so", .needed = {"libb.so", "libx.so"}});
  world.add("/lib64/libb.so", named("libb.so"));
  Process process = world.started();
  const std::size_t before = process.objects().size();
  const Outcome outcome = process.dlopen("liba.so");
  EXPECT_EQ(outcome.state, State::kMissing);
  EXPECT_EQ(outcome.culprit, "libx.so");
  EXPECT_EQ(process.objects().size(), before);
  EXPECT_FALSE(process.find("libb.so"));
  world.add("/lib64/libx.so", named("libx.so"));
  EXPECT_EQ(process.dlopen("liba.so").state, State::kFound) << "and may be tried again";
}

TEST(Dlopen, OfTheEmptyNameIsTheProgram) {
  World world;
  Process process = world.started();
  EXPECT_EQ(process.dlopen("").object, 0U);
}

TEST(Dlopen, EndsOnCycles) {
  World world;
  world.add("/lib64/liba.so", {.soname = "liba.so", .needed = {"libb.so"}});
  world.add("/lib64/libb.so", {.needed = {"liba.so", "libb.so"}});
  Process process = world.started();
  EXPECT_EQ(process.dlopen("liba.so").state, State::kFound);
  EXPECT_EQ(mapped_paths(process).size(), 2U);
}

TEST(Dlopen, WithoutAProgramIsUnknown) {
  World world;
  Process process(world.system, world.config);
  EXPECT_EQ(process.dlopen("libx.so").state, State::kUnknown);
}

TEST(Needed, ExpandsTokensAndIsThenAPath) {
  World world;
  world.add("/x/liba.so", {.needed = {"$ORIGIN/sub/libx.so", "$NOTHING/liby.so"}});
  world.add("/x/sub/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("/x/liba.so"),
            "$NOTHING/liby.so: cannot open shared object file: No such file or directory");
}

TEST(NoDefaultLibraries, SwitchesOffTheDefaultDirectories) {
  World world;
  world.add("/lib64/libx.so", named("libx.so"));
  world.add("/x/liba.so", {.needed = {"libx.so"}, .flags_1 = 0x800});
  Process process = world.started();
  const Outcome outcome = process.dlopen("/x/liba.so");
  EXPECT_EQ(outcome.state, State::kMissing);
  EXPECT_THAT(outcome.error, HasSubstr("libx.so: cannot open shared object file"));
}

TEST(Subdirectories, AreTriedBeforeEachDirectoryBestFirst) {
  World world;
  world.config.hwcaps = {"glibc-hwcaps/x86-64-v3", "glibc-hwcaps/x86-64-v2"};
  world.add("/lib64/libx.so", named("libx.so"));
  world.add("/lib64/glibc-hwcaps/x86-64-v2/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), "/lib64/glibc-hwcaps/x86-64-v2/libx.so");
  world.add("/lib64/glibc-hwcaps/x86-64-v3/libx.so", named("libx.so"));
  world.add("/lib64/glibc-hwcaps/x86-64-v4/libx.so", named("libx.so"));
  EXPECT_EQ(world.opened("libx.so"), "/lib64/glibc-hwcaps/x86-64-v3/libx.so");
}

TEST(Directories, FoundMissingAreNeverLookedAtAgain) {
  World world;
  world.config.library_path = "/late";
  Process process = world.started();
  EXPECT_EQ(process.dlopen("libx.so").state, State::kMissing);
  world.add("/late/libx.so", named("libx.so"));
  EXPECT_EQ(process.dlopen("libx.so").state, State::kMissing);
  EXPECT_EQ(world.opened("libx.so"), "/late/libx.so");
}

TEST(Preload, ComesBeforeTheProgramsOwnNeedsAndBeatsRpath) {
  World world;
  auto program = World::program();
  program.rpath = "/r";
  program.needed = {"libx.so.1", "libc.so.6"};
  world.set_program(program);
  world.add("/r/libx.so.1", named("libx.so.1"));
  world.add("/shim/libx.so.1", named("libx.so.1"));
  world.config.preload = "/shim/libx.so.1";
  const Process process = world.started();
  EXPECT_THAT(mapped_paths(process), ElementsAre("/shim/libx.so.1"));
  EXPECT_EQ(process.objects()[2].stage, Stage::kPreload);
}

TEST(Preload, ThatFailsIsOnlyAWarning) {
  World world;
  world.config.preload = "libx.so /lib64/libzero.so:libc.so.6";
  world.system.add_file("/lib64/libzero.so", "");
  const Process process = world.started();
  EXPECT_EQ(world.start_outcome.state, State::kFound);
  EXPECT_THAT(process.warnings(),
              ElementsAre("ERROR: ld.so: object 'libx.so' from LD_PRELOAD cannot be preloaded "
                          "(cannot open shared object file): ignored.",
                          "ERROR: ld.so: object '/lib64/libzero.so' from LD_PRELOAD cannot be "
                          "preloaded (file too short): ignored."));
}

TEST(Preload, ThatLacksADependencyEndsTheStart) {
  World world;
  world.config.preload = "/shim/liba.so";
  world.add("/shim/liba.so", {.needed = {"libx.so"}});
  world.started();
  EXPECT_EQ(world.start_outcome.error, kNotFound);
}

TEST(Preload, FileWorksLikeTheVariable) {
  World world;
  world.add("/lib64/liba.so", named("liba.so"));
  world.add("/shim/libb.so", named("libb.so"));
  world.system.add_file("/etc/ld.so.preload", "# shim for all: libnot.so\nliba.so\t/shim/libb.so");
  const Process process = world.started();
  EXPECT_THAT(mapped_paths(process), ElementsAre("/lib64/liba.so", "/shim/libb.so"));
  EXPECT_THAT(process.objects()[3].stage_detail, HasSubstr("/etc/ld.so.preload"));
}

TEST(Preload, InASecureProcessTakesOnlySetUserIdFilesOfTheSystem) {
  World world;
  world.config.secure = true;
  world.config.preload = "/shim/liba.so libplain.so libmarked.so";
  world.add("/shim/liba.so", named("liba.so"));
  world.add("/lib64/libplain.so", named("libplain.so"));
  world.system.add_file("/lib64/libmarked.so", write_elf(named("libmarked.so")), 04755);
  EXPECT_THAT(mapped_paths(world.started()), ElementsAre("/lib64/libmarked.so"));
}

TEST(Versions, MissingFromTheProviderAreAnError) {
  World world;
  world.add("/lib64/liba.so",
            {.needed = {"libc.so.6"}, .version_needs = {{"libc.so.6", "GLIBC_2.38"}}});
  Process process = world.started();
  const Outcome outcome = process.dlopen("liba.so");
  EXPECT_EQ(outcome.state, State::kUnloadable);
  EXPECT_EQ(outcome.error,
            "/lib64/libc.so.6: version `GLIBC_2.38' not found (required by /lib64/liba.so)");
  EXPECT_EQ(outcome.culprit, "/lib64/liba.so");
  EXPECT_FALSE(process.find("liba.so"));
}

TEST(Versions, OfTheAbiAreHandledAlike) {
  World world;
  world.add("/lib64/liba.so",
            {.needed = {"libc.so.6"}, .version_needs = {{"libc.so.6", "GLIBC_ABI_DT_RELR"}}});
  EXPECT_THAT(world.opened("liba.so"), HasSubstr("version `GLIBC_ABI_DT_RELR' not found"));
}

TEST(Versions, PassWhenWeakDefinedOrUnversioned) {
  World world;
  world.add("/lib64/libplain.so", named("libplain.so"));
  world.add("/lib64/liba.so", {.needed = {"libc.so.6", "libplain.so"},
                               .version_needs = {{"libc.so.6", "GLIBC_2.34"},
                                                 {"libc.so.6", "GLIBC_9", true},
                                                 {"libplain.so", "PLAIN_1"}}});
  EXPECT_EQ(world.opened("liba.so"), "/lib64/liba.so");
}

TEST(Versions, AreThoseOfTheObjectThatIsMappedUnderTheName) {
  World world;
  world.add("/old/libstdc++.so.6",
            {.soname = "libstdc++.so.6", .version_definitions = {"GLIBCXX_3.4.21"}});
  world.add("/lib64/libstdc++.so.6", {.soname = "libstdc++.so.6",
                                      .version_definitions = {"GLIBCXX_3.4.21", "GLIBCXX_3.4.29"}});
  world.add("/lib64/liba.so", {.needed = {"libstdc++.so.6"},
                               .version_needs = {{"libstdc++.so.6", "GLIBCXX_3.4.29"}}});
  Process process = world.started();
  process.dlopen("/old/libstdc++.so.6");
  EXPECT_EQ(process.dlopen("liba.so").error,
            "/old/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /lib64/liba.so)");
}

TEST(Versions, OfTheProgramStopTheStart) {
  World world;
  auto program = World::program();
  program.version_needs = {{"libc.so.6", "GLIBC_2.38"}};
  world.set_program(program);
  world.started();
  EXPECT_EQ(world.start_outcome.error,
            "/lib64/libc.so.6: version `GLIBC_2.38' not found (required by /bin/prog)");
}

TEST(Versions, DemandTheMarkOfPackedRelocations) {
  World world;
  world.add("/lib64/liba.so", {.needed = {"libc.so.6"},
                               .version_needs = {{"libc.so.6", "GLIBC_2.34"}},
                               .relative_relocations = true});
  EXPECT_EQ(world.opened("liba.so"),
            "/lib64/liba.so: DT_RELR without GLIBC_ABI_DT_RELR dependency");
}

TEST(ExecutableStack, IsRefusedToDlopenSince241) {
  World world;
  world.add("/lib64/libx.so", {.executable_stack = true});
  EXPECT_EQ(world.opened("libx.so"), "/lib64/libx.so");
  world.config.glibc = Version::of("2.41");
  EXPECT_EQ(world.opened("libx.so"),
            "libx.so: cannot enable executable stack as shared object requires: Invalid argument");
  world.config.executable_stack = 2;
  EXPECT_EQ(world.opened("libx.so"), "/lib64/libx.so");
}

TEST(ExecutableStack, IsGivenAtTheStart) {
  World world;
  world.config.glibc = Version::of("2.41");
  auto program = World::program();
  program.needed = {"libx.so", "libc.so.6"};
  world.set_program(program);
  world.add("/lib64/libx.so", {.stack_header = false});
  world.started();
  EXPECT_EQ(world.start_outcome.state, State::kFound);
  world.config.executable_stack = 0;
  world.started();
  EXPECT_THAT(world.start_outcome.error, HasSubstr("cannot enable executable stack"));
}

TEST(ProcessorLevel, AboveTheCpuIsRefused) {
  World world;
  world.config.cpu_levels = {"x86-64-v2"};
  world.add("/lib64/libx.so", {.x86_isa_needed = 7});
  EXPECT_EQ(world.opened("libx.so"), "/lib64/libx.so: CPU ISA level is lower than required");
  world.config.cpu_levels = {"x86-64-v3", "x86-64-v2"};
  EXPECT_EQ(world.opened("libx.so"), "/lib64/libx.so");
}

TEST(ProcessorLevel, OfAnUnknownCpuIsNotHeldAgainstAnObject) {
  World world;
  world.config.cpu_known = false;
  world.add("/lib64/libx.so", {.x86_isa_needed = 8});
  EXPECT_EQ(world.opened("libx.so"), "/lib64/libx.so");
}

TEST(Candidates, AreAllPlacesInSearchOrder) {
  World world;
  world.config.library_path = "/a:/b:/gone";
  world.add("/a/libx.so", {.machine = 183});
  world.system.add_file("/b/libx.so", "");
  world.add("/lib64/libx.so.1.2", named("libx.so"));
  world.system.add_link("/lib64/libx.so", "libx.so.1.2");
  const auto candidates = world.started().candidates("libx.so");
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_EQ(candidates[0].problem, ElfProblem::kWrongMachine);
  EXPECT_EQ(candidates[1].problem, ElfProblem::kTooShort);
  EXPECT_EQ(candidates[1].stage, Stage::kLibraryPath);
  EXPECT_EQ(candidates[2].path, "/lib64/libx.so");
  EXPECT_EQ(candidates[2].real_path, "/lib64/libx.so.1.2");
  EXPECT_EQ(candidates[2].problem, ElfProblem::kNone);
}

TEST(Candidates, BeginWithTheMappedOne) {
  World world;
  world.add("/x/libx.so", named("libx.so"));
  world.add("/lib64/libx.so", named("libx.so"));
  Process process = world.started();
  process.dlopen("/x/libx.so");
  const auto candidates = process.candidates("libx.so");
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].stage, Stage::kAlreadyMapped);
  EXPECT_EQ(candidates[0].path, "/x/libx.so");
}

TEST(SearchList, OfAHundredThousandElementsIsWalked) {
  World world;
  std::string list;
  for (int i = 0; i < 100000; ++i) list += "/nowhere/" + std::to_string(i) + ":";
  world.add("/x/liba.so", {.needed = {"libx.so"}, .runpath = list + "/x"});
  world.add("/x/libx.so", named("libx.so"));
  Process process = world.started();
  EXPECT_EQ(process.dlopen("/x/liba.so").state, State::kFound);
  EXPECT_EQ(mapped_paths(process).back(), "/x/libx.so");
}

}  // namespace
}  // namespace gpuwright::loader
