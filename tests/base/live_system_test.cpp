#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/system.h"

namespace gpuwright {
namespace {

namespace fs = std::filesystem;

/// A tree on disk that is shown as if it were "/".
class LiveSystemTest : public testing::Test {
 protected:
  LiveSystemTest() {
    std::string pattern = (fs::temp_directory_path() / "gpuwright-test-XXXXXX").string();
    base_ = ::mkdtemp(pattern.data());
    root_ = base_ / "root";
    fs::create_directories(root_ / "etc");
    write("etc/name", "inside\n");
    std::ofstream(base_ / "secret") << "outside\n";
    system_ = make_live_system(root_.string());
  }
  ~LiveSystemTest() override { fs::remove_all(base_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void link(const std::string& target, const std::string& path) {
    fs::create_symlink(target, root_ / path);
  }
  int code_of(const std::string& path) {
    const auto text = system_->read(path);
    return text ? 0 : text.error().code;
  }

  fs::path base_, root_;
  std::unique_ptr<System> system_;
};

TEST_F(LiveSystemTest, ReadsFilesOfItsTree) {
  EXPECT_EQ(system_->read("/etc/name").value_or(""), "inside\n");
  EXPECT_EQ(system_->read("/etc/name", 3).value_or(""), "ins");
  EXPECT_EQ(code_of("/etc/none"), ENOENT);
  EXPECT_EQ(code_of("/etc/name/x"), ENOTDIR);
  EXPECT_EQ(code_of("/etc"), EISDIR);
}

TEST_F(LiveSystemTest, AbsoluteLinksStartAtTheRootOfTheTree) {
  link("/etc/name", "link");
  EXPECT_EQ(system_->read("/link").value_or(""), "inside\n");
  EXPECT_EQ(system_->resolve("/link").value_or(""), "/etc/name");
  EXPECT_EQ(system_->read_link("/link").value_or(""), "/etc/name");
}

TEST_F(LiveSystemTest, NoLinkLeadsOutOfTheTree) {
  link("../../secret", "etc/up");
  link((base_ / "secret").string(), "etc/absolute");
  link("..", "etc/parent");
  EXPECT_EQ(code_of("/etc/up"), ENOENT);
  EXPECT_EQ(code_of("/etc/absolute"), ENOENT);
  EXPECT_EQ(code_of("/../secret"), ENOENT);
  EXPECT_EQ(code_of("/etc/parent/../../secret"), ENOENT);
  EXPECT_EQ(system_->read("/etc/parent/etc/name").value_or(""), "inside\n");
}

TEST_F(LiveSystemTest, ALoopOfLinksIsAnErrorAndNoWait) {
  link("b", "a");
  link("a", "b");
  EXPECT_EQ(code_of("/a"), ELOOP);
  EXPECT_TRUE(system_->link_status("/a").has_value());
}

TEST_F(LiveSystemTest, AFifoIsAnErrorAndNoWait) {
  ASSERT_EQ(::mkfifo((root_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(code_of("/fifo"), EINVAL);
  EXPECT_FALSE(system_->open("/fifo").has_value());
  EXPECT_EQ(system_->status("/fifo")->kind, FileKind::kFifo);
}

TEST_F(LiveSystemTest, ListsInByteOrder) {
  write("d/b", "");
  write("d/B", "");
  link("nowhere", "d/a");
  const auto entries = system_->list("/d");
  ASSERT_TRUE(entries.has_value());
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].name, "B");
  EXPECT_EQ((*entries)[1].name, "a");
  EXPECT_EQ((*entries)[1].kind, FileKind::kSymlink);
}

TEST_F(LiveSystemTest, ReadsAtAnyPlaceOfAnOpenFile) {
  const auto file = system_->open("/etc/name");
  ASSERT_TRUE(file.has_value());
  std::byte bytes[16];
  EXPECT_EQ((*file)->read_at(2, bytes).value_or(0), 5u);
  EXPECT_EQ(static_cast<char>(bytes[0]), 's');
  EXPECT_EQ((*file)->read_at(99, bytes).value_or(9), 0u);
  EXPECT_EQ((*file)->read_at(UINT64_MAX, bytes).value_or(9), 0u);
}

TEST_F(LiveSystemTest, ATreeWithoutProcDoesNotTellOfThisMachine) {
  EXPECT_FALSE(system_->kernel().has_value());
  EXPECT_FALSE(system_->identity().has_value());
  EXPECT_FALSE(system_->environment().has_value());
  EXPECT_EQ(system_->kernel().error().code, ENOENT);
}

TEST_F(LiveSystemTest, ATreeWithProcTellsOfItself) {
  write("proc/sys/kernel/osrelease", "6.8.0-49-generic\n");
  write("proc/self/status",
        "Name:\tx\nUid:\t1000\t1001\t1001\t1001\nGid:\t5\t6\t6\t6\nGroups:\t4 44\n");
  write("proc/self/environ", std::string("A=1\0B=x=y\0", 10));
  EXPECT_EQ(system_->kernel()->release, "6.8.0-49-generic");
  EXPECT_EQ(system_->identity()->uid, 1001u);
  EXPECT_EQ(system_->identity()->groups, (std::vector<std::uint32_t>{4, 44}));
  EXPECT_EQ(system_->environment()->at("B"), "x=y");
}

TEST(LiveSystem, ReadsProcFilesThatLieAboutTheirSize) {
  const auto text = make_live_system()->read("/proc/self/maps");
  ASSERT_TRUE(text.has_value());
  EXPECT_GT(text->size(), 100u);
}

}  // namespace
}  // namespace gpuwright
