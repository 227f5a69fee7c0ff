#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

// docs/findings/ and docs/beliefs.md lead to each other, and their links lead somewhere.

namespace {

namespace fs = std::filesystem;
const fs::path kDocs = fs::path(GPUWRIGHT_SOURCE_DIR) / "docs";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Beliefs, HaveTheAnchorsThatPagesLeadTo) {
  const auto beliefs = read_file(kDocs / "beliefs.md");
  const std::regex link(R"(beliefs\.md#([a-z0-9-]+))");
  std::size_t links = 0;
  for (const auto& entry : fs::directory_iterator(kDocs / "findings")) {
    const auto page = read_file(entry.path());
    for (std::sregex_iterator it(page.begin(), page.end(), link), end; it != end; ++it, ++links)
      EXPECT_NE(beliefs.find("<a id=\"" + (*it)[1].str() + "\"></a>"), std::string::npos)
          << entry.path() << " leads to #" << (*it)[1];
  }
  EXPECT_GE(links, 10U);
}

TEST(Beliefs, NameFindingsThatExist) {
  const auto beliefs = read_file(kDocs / "beliefs.md");
  const std::regex id(R"(See `([a-z]+\.[a-z0-9-]+)`)");
  std::size_t named = 0;
  for (std::sregex_iterator it(beliefs.begin(), beliefs.end(), id), end; it != end; ++it, ++named)
    EXPECT_TRUE(fs::exists(kDocs / "findings" / ((*it)[1].str() + ".md"))) << (*it)[1];
  EXPECT_GE(named, 5U);
}

}  // namespace
