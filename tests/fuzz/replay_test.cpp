#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

// The entries of this directory over the inputs in corpus/: what a fuzzer has found once is read in
// every test run, by any compiler and under every sanitizer.

using Entry = int (*)(const std::uint8_t*, std::size_t);

#define GPUWRIGHT_FUZZ_ENTRY(name) \
  extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz_entries.inc"
#undef GPUWRIGHT_FUZZ_ENTRY

namespace {

struct Target {
  const char* name;
  Entry entry;
};

#define GPUWRIGHT_FUZZ_ENTRY(name) Target{#name, fuzz_##name},
constexpr Target kTargets[] = {
#include "fuzz_entries.inc"
};
#undef GPUWRIGHT_FUZZ_ENTRY

std::vector<std::filesystem::path> inputs_of(const std::string& name) {
  std::vector<std::filesystem::path> files;
  const auto directory = std::filesystem::path(GPUWRIGHT_FUZZ_CORPUS) / name;
  for (const auto& file : std::filesystem::directory_iterator(directory))
    files.push_back(file.path());
  std::sort(files.begin(), files.end());
  return files;
}

class FuzzCorpus : public testing::TestWithParam<Target> {};

// A property that does not hold ends the process, with the file's name above it.
TEST_P(FuzzCorpus, IsRead) {
  const Entry entry = GetParam().entry;
  entry(nullptr, 0);
  const auto files = inputs_of(GetParam().name);
  EXPECT_FALSE(files.empty());
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::fprintf(stderr, "%s\n", file.filename().c_str());
    EXPECT_EQ(entry(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzCorpus, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
