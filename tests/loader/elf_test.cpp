#include "loader/elf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/elf_writer.h"
#include "support/memory_system.h"

namespace gpuwright::loader {
namespace {

using testing::ElementsAre;

std::unique_ptr<RandomAccessFile> file_of(const std::string& bytes) {
  MemorySystem system;
  system.add_file("/x", bytes);
  return std::move(system.open("/x").value());
}

tl::expected<ElfObject, ElfError> read(const ElfSpec& spec) {
  return read_elf(*file_of(write_elf(spec)));
}

class BothClasses : public testing::TestWithParam<std::uint8_t> {
 protected:
  ElfSpec spec() const {
    ElfSpec spec;
    spec.elf_class = GetParam();
    spec.machine = GetParam() == 2 ? 62 : 3;
    return spec;
  }
};

TEST_P(BothClasses, GiveNamesAndTags) {
  ElfSpec spec = this->spec();
  spec.interpreter = "/lib/ld.so";
  spec.soname = "liba.so.1";
  spec.needed = {"libb.so.2", "libc.so.6"};
  spec.rpath = "/r";
  spec.runpath = "$ORIGIN/lib:";
  spec.flags_1 = 0x808;
  const auto elf = read(spec);
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_EQ(elf->elf_class, spec.elf_class);
  EXPECT_EQ(elf->machine, spec.machine);
  EXPECT_EQ(elf->type, 3);
  EXPECT_EQ(elf->interpreter, "/lib/ld.so");
  EXPECT_EQ(elf->soname, "liba.so.1");
  EXPECT_THAT(elf->needed, ElementsAre("libb.so.2", "libc.so.6"));
  EXPECT_EQ(elf->rpath, "/r");
  EXPECT_EQ(elf->runpath, "$ORIGIN/lib:");
  EXPECT_TRUE(elf->no_default_dirs());
  EXPECT_TRUE(elf->no_delete());
}

TEST_P(BothClasses, GiveVersions) {
  ElfSpec spec = this->spec();
  spec.soname = "liba.so.1";
  spec.version_needs = {
      {"libc.so.6", "GLIBC_2.17"}, {"libc.so.6", "GLIBC_2.34", true}, {"libm.so.6", "GLIBC_2.29"}};
  spec.version_definitions = {"A_1", "A_2"};
  const auto elf = read(spec);
  ASSERT_TRUE(elf) << elf.error().message;
  ASSERT_EQ(elf->version_needs.size(), 3U);
  EXPECT_EQ(elf->version_needs[0].file, "libc.so.6");
  EXPECT_EQ(elf->version_needs[1].version, "GLIBC_2.34");
  EXPECT_TRUE(elf->version_needs[1].weak);
  EXPECT_EQ(elf->version_needs[2].file, "libm.so.6");
  EXPECT_TRUE(elf->has_version_definitions);
  EXPECT_THAT(elf->version_definitions, ElementsAre("A_1", "A_2")) << "without the base";
}

TEST_P(BothClasses, FindDefinedSymbolsInEitherHashTable) {
  for (const bool gnu : {true, false}) {
    ElfSpec spec = this->spec();
    spec.gnu_hash = gnu;
    spec.defines = {"cuInit", "cuDeviceGetCount", "cuCtxCreate_v2", "nvmlInit_v2", "a", "b", "c"};
    spec.uses = {"malloc", "free"};
    const auto file = file_of(write_elf(spec));
    for (const auto& name : spec.defines) EXPECT_EQ(defines_symbol(*file, name), true) << name;
    for (const char* name : {"malloc", "free", "cuInit_v2", "", "cuIni"})
      EXPECT_EQ(defines_symbol(*file, name), false) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Elf, BothClasses, testing::Values(1, 2), [](const auto& of_class) {
  return of_class.param == 1 ? "Of32Bits" : "Of64Bits";
});

TEST(Elf, WithoutTagsIsEmptyAndNotAnError) {
  const auto elf = read({});
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->soname, "");
  EXPECT_FALSE(elf->rpath);
  EXPECT_FALSE(elf->runpath);
  EXPECT_FALSE(elf->has_version_definitions);
  EXPECT_TRUE(elf->has_dynamic);
}

TEST(Elf, WithoutStackHeaderNeedsAnExecutableStackOnX86Only) {
  EXPECT_TRUE(read({.stack_header = false})->executable_stack);
  EXPECT_FALSE(read({.machine = 183, .stack_header = false})->executable_stack);
  EXPECT_FALSE(read({})->executable_stack);
  EXPECT_TRUE(read({.executable_stack = true})->executable_stack);
}

TEST(Elf, GivesTheProcessorLevelOfItsPropertyNote) {
  EXPECT_EQ(read({.x86_isa_needed = 7})->x86_isa_needed, 7U);
  EXPECT_EQ(read({})->x86_isa_needed, 0U);
}

TEST(Elf, OfAnotherKindFailsForAHost) {
  const auto file = file_of(write_elf({.elf_class = 1, .machine = 3}));
  EXPECT_TRUE(read_elf(*file));
  const auto elf = read_elf(*file, {2, 62});
  ASSERT_FALSE(elf);
  EXPECT_EQ(elf.error().problem, ElfProblem::kWrongClass);
  EXPECT_EQ(elf.error().message, "wrong ELF class: ELFCLASS32");
  EXPECT_EQ(read_elf(*file_of(write_elf({.machine = 183})), {2, 62}).error().problem,
            ElfProblem::kWrongMachine);
}

TEST(Elf, ClassIsTestedBeforeEncodingAndVersion) {
  std::string image = write_elf({.elf_class = 1, .machine = 3});
  image[5] = 2;
  image[6] = 9;
  EXPECT_EQ(read_elf(*file_of(image), {2, 62}).error().problem, ElfProblem::kWrongClass);
}

TEST(ForwardCompatibility, IsTheNoteOfNvidia) {
  const std::string json = R"({"CUDA Version": "13.0", "Driver": [535, 550, 570, 575]})";
  const std::string padded = json + std::string(2, '\0');
  const auto with =
      file_of(write_elf({.notes = {{"GNU", 3, "build id"}, {"NVIDIA Corporation", 1, padded}}}));
  EXPECT_EQ(forward_compatibility_note(*with), json);
  EXPECT_EQ(forward_compatibility_note(*file_of(write_elf({.notes = {{"GNU", 3, "x"}}}))),
            std::nullopt);
  EXPECT_EQ(forward_compatibility_note(*file_of("not ELF at all")), std::nullopt);
}

}  // namespace
}  // namespace gpuwright::loader
