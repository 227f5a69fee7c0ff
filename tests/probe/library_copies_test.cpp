#include "probe/library_copies.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "catalog/catalog.h"
#include "probe/cuda_declared.h"
#include "probe/probe.h"
#include "support/elf_writer.h"
#include "support/memory_system.h"

namespace gpuwright {
namespace {

constexpr std::uint16_t kX86 = 62;

TEST(LibraryFamily, IsOfTheProductThatBringsTheFile) {
  EXPECT_EQ(library_family("libcudnn.so.9"), "cudnn");
  EXPECT_EQ(library_family("libcudnn_ops_infer.so.8"), "cudnn");
  EXPECT_EQ(library_family("libcublasLt.so.12"), "cublas");
  EXPECT_EQ(library_family("libcudnn.so"), "");
  EXPECT_EQ(library_family("libm.so.6"), "");
}

TEST(KindOfBytes, TellsWhatAFileIs) {
  const auto elf = write_elf({});
  const auto head = std::string_view(elf).substr(0, 64);
  EXPECT_EQ(kind_of_bytes(head, elf.size(), kX86), "library");
  EXPECT_EQ(kind_of_bytes(head, elf.size(), 183), "other-architecture");
  EXPECT_EQ(kind_of_bytes("", 0, kX86), "empty");
  EXPECT_EQ(kind_of_bytes("version https://git-lfs.github.com/spec/v1\noid", 130, kX86),
            "lfs-pointer");
  EXPECT_EQ(kind_of_bytes("<!DOCTYPE html>", 900, kX86), "text");
  EXPECT_EQ(kind_of_bytes(head.substr(0, 20), 20, kX86), "damaged");
  auto thirty_two = std::string(head);
  thirty_two[4] = 1;
  EXPECT_EQ(kind_of_bytes(thirty_two, elf.size(), kX86), "other-architecture");
}

TEST(KindOfBytes, SeesThatTheSectionHeadersAreCutOff) {
  auto head = write_elf({}).substr(0, 64);
  head[40] = '\0';
  head[41] = '\x40';  // e_shoff 0x4000
  head[58] = '\x40';
  head[60] = '\x02';
  EXPECT_EQ(kind_of_bytes(head, 0x4080, kX86), "library");
  EXPECT_EQ(kind_of_bytes(head, 0x407f, kX86), "damaged");
  EXPECT_EQ(kind_of_bytes(head, 0x100, kX86), "damaged");
  head[47] = '\x7f';  // far beyond any file
  EXPECT_EQ(kind_of_bytes(head, 0x100, kX86), "damaged");
}

std::vector<LibraryCopy> copies_of(const MemorySystem& system, const Machine& before) {
  Machine machine;
  probe_library_copies({system, before, Catalog::built_in(), {}})(machine);
  return machine.cuda.copies.value_or({});
}

TEST(LibraryCopies, AreFoundWhereASearchCouldCome) {
  MemorySystem system;
  const std::string lib = "/opt/cudnn/lib/";
  system.add_file(lib + "libcudnn.so.9.1.0", write_elf({.soname = "libcudnn.so.9"}));
  system.add_link(lib + "libcudnn.so.9", "libcudnn.so.9.1.0");
  system.add_link(lib + "libcublas.so.12", "nowhere");
  system.add_file(lib + "libcufft.so.11", "");
  system.add_file(lib + "libcurand.so.10", write_elf({}));
  system.set_error(lib + "libcurand.so.10", EACCES);
  Machine before;
  before.host.architecture = Fact<std::string>::known("x86_64", "uname");
  before.cuda.library_path =
      Fact<std::vector<PathElement>>::known({{"/opt/cudnn/lib", true, ""}}, "LD_LIBRARY_PATH");
  std::map<std::string, LibraryCopy> found;
  for (const auto& copy : copies_of(system, before)) found[copy.path] = copy;
  ASSERT_TRUE(found.contains(lib + "libcudnn.so.9"));
  EXPECT_EQ(found[lib + "libcudnn.so.9"].kind, "library");
  EXPECT_EQ(found[lib + "libcudnn.so.9"].version->text(), "9.1.0");
  EXPECT_FALSE(found.contains(lib + "libcudnn.so.9.1.0"));
  EXPECT_EQ(found[lib + "libcublas.so.12"].kind, "broken-link");
  EXPECT_EQ(found[lib + "libcufft.so.11"].kind, "empty");
  EXPECT_EQ(found[lib + "libcurand.so.10"].kind, "unreadable");
}

TEST(LibraryCopies, EndAtABound) {
  MemorySystem system;
  for (int i = 0; i < 700; ++i)
    system.add_file("/opt/many/libcudnn_" + std::to_string(i) + ".so.9", "");
  Machine before;
  before.cuda.library_path =
      Fact<std::vector<PathElement>>::known({{"/opt/many", true, ""}}, "LD_LIBRARY_PATH");
  EXPECT_EQ(copies_of(system, before).size(), 500U);
}

// ------------------------------------------------------------ start-up files of shells

TEST(Declared, ReadsPlainSettingsOfVariablesThatMatter) {
  const auto found = parse_declared(
      "# export CUDA_HOME=/no\n"
      "export LD_LIBRARY_PATH=\"/usr/local/cuda/lib64:$LD_LIBRARY_PATH\"  # CUDA\n"
      "  CUDA_VISIBLE_DEVICES=0,1; export CUDA_VISIBLE_DEVICES\n"
      "export EDITOR=vi\n"
      "if [ -d /x ]; then export XLA_FLAGS='--a --b'; fi\n"
      "export CUDA_PATH\n",
      "/home/u/.bashrc", "interactive shell");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "LD_LIBRARY_PATH");
  EXPECT_EQ(found[0].value, "/usr/local/cuda/lib64:$LD_LIBRARY_PATH");
  EXPECT_EQ(found[0].file, "/home/u/.bashrc");
  EXPECT_EQ(found[1].value, "0,1");
}

TEST(Declared, AreThoseOfTheUserBehindSudo) {
  MemorySystem system;
  system.environment_block = {{"HOME", "/root"}};
  system.add_file("/home/ada/.bashrc", "export LD_LIBRARY_PATH=/opt/cuda/lib64\n");
  system.add_file("/etc/profile.d/cuda.sh", "export CUDA_HOME=/opt/cuda\n");
  Machine before, machine;
  before.host.sudo_user = Fact<std::string>::known("ada", "environment");
  probe_declared({system, before, Catalog::built_in(), {}})(machine);
  ASSERT_TRUE(machine.cuda.declared.is_known());
  ASSERT_EQ(machine.cuda.declared->size(), 2U);
  EXPECT_EQ(machine.cuda.declared->at(0).file, "/home/ada/.bashrc");
  EXPECT_EQ(machine.cuda.declared->at(1).scope, "login shell");
}

}  // namespace
}  // namespace gpuwright
