#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "hostile/disk_tree.h"

// A library that a framework opens, replaced by something that is none. The answer may then be
// anything but "uses", and it has to come.

namespace gpuwright {
namespace {

const std::string kCudnn = WheelTree::wheel("cudnn", "libcudnn.so.9");

using Spoil = void (*)(const DiskTree&);

struct Damage {
  const char* name;
  Spoil spoil;
};

std::string cudnn_file(ElfSpec spec) {
  spec.soname = "libcudnn.so.9";
  return write_elf(spec);
}

std::string cut(const std::string& text, std::size_t length) { return text.substr(0, length); }

void make_fifo(const DiskTree& tree) {
  tree.remove(kCudnn);
  ASSERT_EQ(::mkfifo(tree.at(kCudnn).c_str(), 0644), 0);
}

void make_directory(const DiskTree& tree) {
  tree.remove(kCudnn);
  std::filesystem::create_directory(tree.at(kCudnn));
}

void make_socket(const DiskTree& tree) {
  tree.remove(kCudnn);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The tree's path may be longer than a socket's name can be: bind to a short one, then move it.
  const TempDirectory place;
  const std::string name = place / "s";
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::filesystem::rename(name, tree.at(kCudnn));
  ::close(socket);
}

void make_device(const DiskTree& tree) {
  tree.remove(kCudnn);
  if (::mknod(tree.at(kCudnn).c_str(), S_IFCHR | 0666, makedev(1, 5)) != 0)  // as /dev/zero
    GTEST_SKIP() << "making a device node is not permitted here";
}

// ELF header says: 65535 program headers of which the first stands behind the end.
std::string with_far_headers() {
  std::string image = cudnn_file({});
  image.replace(32, 8, std::string(8, '\x7f'));
  return image.replace(56, 2, "\xff\xff");
}

std::string with_huge_dynamic_section() {
  std::string image = cudnn_file({});
  // The program header of type PT_DYNAMIC (2), p_filesz at 32 and p_memsz at 40.
  for (std::size_t at = 64; at + 56 <= image.size(); at += 56)
    if (image.compare(at, 4, std::string("\2\0\0\0", 4)) == 0)
      return image.replace(at + 32, 16, std::string(15, '\xff') + '\x0f');
  throw std::runtime_error("no PT_DYNAMIC in the fabricated file");
}

const Damage kDamages[] = {
    {"Missing", [](const DiskTree& tree) { tree.remove(kCudnn); }},
    {"Empty", [](const DiskTree& tree) { tree.write(kCudnn, ""); }},
    {"CutInTheHeader", [](const DiskTree& tree) { tree.write(kCudnn, cut(cudnn_file({}), 60)); }},
    {"CutInTheProgramHeaders",
     [](const DiskTree& tree) { tree.write(kCudnn, cut(cudnn_file({}), 100)); }},
    {"FarHeaders", [](const DiskTree& tree) { tree.write(kCudnn, with_far_headers()); }},
    {"HugeDynamicSection",
     [](const DiskTree& tree) { tree.write(kCudnn, with_huge_dynamic_section()); }},
    {"Text", [](const DiskTree& tree) { tree.write(kCudnn, "/* GNU ld script */\n"); }},
    {"HugeHole", [](const DiskTree& tree) { tree.write_huge(kCudnn, ""); }},
    {"OtherProcessor",
     [](const DiskTree& tree) { tree.write(kCudnn, cudnn_file({.machine = 183})); }},
    {"OtherClass",
     [](const DiskTree& tree) { tree.write(kCudnn, cudnn_file({.elf_class = 1, .machine = 3})); }},
    {"Fifo", make_fifo},
    {"Directory", make_directory},
    {"Socket", make_socket},
    {"Device", make_device},
    {"LinkToNothing", [](const DiskTree& tree) { tree.link(kCudnn, "/nowhere"); }},
    {"LinkToItself", [](const DiskTree& tree) { tree.link(kCudnn, "libcudnn.so.9"); }},
    {"LinkOutOfTheTree",
     [](const DiskTree& tree) { tree.link(kCudnn, std::string(GPUWRIGHT_PROGRAM)); }},
    {"NeedsWhatIsMissing",
     [](const DiskTree& tree) { tree.write(kCudnn, cudnn_file({.needed = {"libgone.so.1"}})); }},
};

class SpoiltLibrary : public testing::TestWithParam<Damage> {};

TEST(SoundLibraries, AreUsed) {
  const DiskTree tree;
  if (!tree.has_device_nodes()) GTEST_SKIP() << "making device nodes is not permitted here";
  const CheckRun run = tree.check();
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_TRUE(run.says_uses()) << run.report.dump(1);
}

TEST_P(SpoiltLibrary, IsNeverUsed) {
  const DiskTree tree;
  GetParam().spoil(tree);
  if (IsSkipped() || HasFatalFailure()) return;
  const CheckRun run = tree.check();
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_FALSE(run.says_uses()) << run.report.dump(1);
  EXPECT_NE(run.status, 0);
}

INSTANTIATE_TEST_SUITE_P(All, SpoiltLibrary, testing::ValuesIn(kDamages),
                         [](const auto& damage) { return std::string(damage.param.name); });

// Opening a FIFO would wake the writer that waits at its other end, and opening a device may start
// it: a command that only looks does neither.
TEST(SpoiltLibrary, ThatIsAFifoIsNotEvenOpened) {
  const DiskTree tree;
  ASSERT_NO_FATAL_FAILURE(make_fifo(tree));
  const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(::inotify_add_watch(watch, tree.at(kCudnn).c_str(), IN_OPEN), 0);
  ASSERT_TRUE(tree.check().is_answer());
  char event[4096];
  EXPECT_EQ(::read(watch, event, sizeof event), -1) << "it was opened";
  ::close(watch);
}

TEST(LibrariesThatNeedEachOther, AreReadOnce) {
  SoundMachine machine;
  machine.object(WheelTree::wheel("cublas", "libcublasLt.so.12"),
                 {.needed = {"libcublas.so.12", "libcublasLt.so.12"}, .runpath = "$ORIGIN"});
  const DiskTree tree(machine);
  const CheckRun run = tree.check();
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_EQ(run.says_uses(), tree.has_device_nodes());
}

std::string link_of_chain(int number) { return "libchain" + std::to_string(number) + ".so"; }

// 3,000 objects that each need the next: the loader maps them all, and so do we, without recursion.
TEST(LibrariesThatNeedEachOther, MayBeAVeryLongChain) {
  SoundMachine machine;
  constexpr int kLength = 3000;
  for (int i = 0; i <= kLength; ++i)
    machine.object(
        WheelTree::wheel("cudnn", link_of_chain(i)),
        {.needed = i < kLength ? std::vector{link_of_chain(i + 1)} : std::vector<std::string>{},
         .runpath = "$ORIGIN"});
  machine.object(kCudnn, {.needed = {link_of_chain(0)}, .runpath = "$ORIGIN"});
  const CheckRun run = DiskTree(machine).check();
  EXPECT_TRUE(run.is_answer()) << run.status << run.err;
}

// A name of a megabyte in DT_NEEDED, $ORIGIN a thousand times in DT_RUNPATH.
TEST(LibrariesThatNeedEachOther, MayHaveEndlessNamesAndPaths) {
  SoundMachine machine;
  std::string path;
  for (int i = 0; i < 1000; ++i) path += "$ORIGIN/../$LIB/" + std::to_string(i) + ":";
  machine.object(kCudnn, {.needed = {std::string(1 << 20, 'n')}, .runpath = path});
  const CheckRun run = DiskTree(machine).check();
  ASSERT_TRUE(run.is_answer()) << run.status << run.err;
  EXPECT_FALSE(run.says_uses());
}

}  // namespace
}  // namespace gpuwright
