#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "loader/elf.h"
#include "support/elf_writer.h"
#include "support/memory_system.h"

// Files that lie about themselves must give an error or a value, never a crash, a wait or a flood
// of memory. Run under AddressSanitizer this is the replay half of a fuzz test; the inputs are made
// here, by rule, from real and from fabricated objects.

namespace gpuwright::loader {
namespace {

/// Everything that this room reads of a file. Sums up, so that nothing is optimised away.
std::size_t read_everything(const std::string& bytes) {
  MemorySystem system;
  system.add_file("/x", bytes);
  const auto file = system.open("/x").value()->status().size == bytes.size()
                        ? std::move(system.open("/x").value())
                        : nullptr;
  std::size_t sum = 0;
  for (const auto& elf : {read_elf(*file), read_elf(*file, {2, 62})}) {
    if (!elf) {
      sum += elf.error().message.size();
      continue;
    }
    sum += elf->needed.size() + elf->soname.size() + elf->version_needs.size();
    for (const auto& name : elf->version_definitions) sum += name.size();
  }
  sum += defines_symbol(*file, "malloc").value_or(false);
  return sum + forward_compatibility_note(*file).value_or("").size();
}

std::string rich_object(std::uint8_t elf_class) {
  ElfSpec spec;
  spec.elf_class = elf_class;
  spec.machine = elf_class == 2 ? 62 : 3;
  spec.interpreter = "/lib/ld.so";
  spec.soname = "libx.so.1";
  spec.needed = {"libc.so.6", "libm.so.6"};
  spec.runpath = "$ORIGIN";
  spec.version_needs = {{"libc.so.6", "GLIBC_2.17"}, {"libm.so.6", "GLIBC_2.29"}};
  spec.version_definitions = {"X_1", "X_2"};
  spec.defines = {"malloc", "calloc", "free"};
  spec.x86_isa_needed = 1;
  spec.notes = {{"NVIDIA Corporation", 1, "{}"}};
  return write_elf(spec);
}

/// The machine's own libm where there is one: a file with everything that linkers write.
std::string real_object() {
  const auto system = make_live_system();
  for (const char* path : {"/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6",
                           "/lib/aarch64-linux-gnu/libm.so.6", "/proc/self/exe"})
    if (auto bytes = system->read(path, 4 << 20)) return *bytes;
  return {};
}

TEST(HostileElf, CutAtEvery64thByteIsRead) {
  const std::string real = real_object();
  for (std::size_t size = 0; size < real.size(); size += size < 65536 ? 64 : 4096)
    read_everything(real.substr(0, size));
  for (const std::uint8_t elf_class : {1, 2}) {
    const std::string rich = rich_object(elf_class);
    for (std::size_t size = 0; size < rich.size(); ++size) read_everything(rich.substr(0, size));
  }
}

TEST(HostileElf, WithAnyByteOfAFabricatedOneChangedIsRead) {
  for (const std::uint8_t elf_class : {1, 2}) {
    std::string image = rich_object(elf_class);
    for (std::size_t at = 0; at < image.size(); ++at)
      for (const unsigned char value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        const char kept = image[at];
        image[at] = static_cast<char>(value);
        read_everything(image);
        image[at] = kept;
      }
  }
}

TEST(HostileElf, WithChangedHeadersOfARealOneIsRead) {
  std::string image = real_object().substr(0, 256 << 10);
  for (std::size_t at = 0; at < std::min<std::size_t>(image.size(), 1024); ++at)
    for (const unsigned char value : {0x00, 0x80, 0xff}) {
      const char kept = image[at];
      image[at] = static_cast<char>(value);
      read_everything(image);
      image[at] = kept;
    }
}

// Every 4-byte word as a count, an offset, a "next": 0, all ones, itself plus or minus one.
TEST(HostileElf, WithChangedWordsIsRead) {
  std::string image = rich_object(2);
  for (std::size_t at = 0; at + 4 <= image.size(); at += 4) {
    std::uint32_t kept;
    std::memcpy(&kept, image.data() + at, 4);
    for (const std::uint32_t value : {0U, 0xffffffffU, 0x7fffffffU, kept + 1, kept - 1, kept * 2}) {
      std::memcpy(image.data() + at, &value, 4);
      read_everything(image);
    }
    std::memcpy(image.data() + at, &kept, 4);
  }
}

TEST(HostileElf, WithoutTerminatedStringsIsAnError) {
  std::string image = write_elf({.soname = "libx.so.1"});
  const std::size_t at = image.find("libx.so.1");
  std::memset(image.data() + at, 'x', image.size() - at);
  EXPECT_NO_FATAL_FAILURE(read_everything(image));
}

TEST(HostileElf, WithAStringTableOutsideTheFileIsTruncated) {
  std::string image = write_elf({.soname = "libx.so.1"});
  constexpr std::array<char, 8> kStrtabTag{5, 0, 0, 0, 0, 0, 0, 0};
  const std::size_t at = image.rfind(std::string(kStrtabTag.data(), kStrtabTag.size()));
  ASSERT_NE(at, std::string::npos);
  const std::uint64_t address = 0x7fffffff0000;
  std::memcpy(image.data() + at + 8, &address, sizeof address);
  MemorySystem system;
  system.add_file("/x", image);
  const auto elf = read_elf(*system.open("/x").value());
  ASSERT_FALSE(elf);
  EXPECT_EQ(elf.error().problem, ElfProblem::kTruncated);
  EXPECT_EQ(elf.error().message, "its DT_SONAME lies outside the file");
}

}  // namespace
}  // namespace gpuwright::loader
