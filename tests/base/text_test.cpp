#include "base/text.h"

#include <gtest/gtest.h>

namespace gpuwright {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(Text, TrimTakesBlanksFromBothEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
}

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a::b", ':'), (Pieces{"a", "", "b"}));
  EXPECT_EQ(split("", ':'), (Pieces{""}));
  EXPECT_EQ(split(":", ':'), (Pieces{"", ""}));
}

TEST(Text, WordsPassOverBlanks) { EXPECT_EQ(words("  a\tb\n c "), (Pieces{"a", "b", "c"})); }

TEST(Text, AFinalLineEndOpensNoLine) {
  EXPECT_EQ(lines("a\r\nb\n"), (Pieces{"a", "b"}));
  EXPECT_EQ(lines("a\n\nb"), (Pieces{"a", "", "b"}));
  EXPECT_EQ(lines(""), Pieces{});
}

TEST(Text, ValueAfterTakesTheFirstLineWithTheKey) {
  EXPECT_EQ(value_after("ID_LIKE=x\nID=debian\nID=no\n", "ID="), "debian");
  EXPECT_EQ(value_after("a\n", "ID="), std::nullopt);
}

TEST(Text, NumbersAreWholeOrNothing) {
  EXPECT_EQ(parse_unsigned("42"), 42u);
  EXPECT_EQ(parse_unsigned("10de", 16), 0x10deu);
  EXPECT_EQ(parse_unsigned("18446744073709551615"), UINT64_MAX);
  for (const auto* bad : {"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616"})
    EXPECT_EQ(parse_unsigned(bad), std::nullopt) << bad;
}

TEST(Text, JoinPutsSeparatorsBetweenAllPieces) {
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({"", ""}, ":"), ":");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Text, GlobMatchesTheWholeText) {
  EXPECT_TRUE(glob_match("lib*.so.?", "libcuda.so.1"));
  EXPECT_FALSE(glob_match("lib*.so.?", "libcuda.so.12"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_FALSE(glob_match(std::string(30, '*') + "b", std::string(5000, 'a')));
}

TEST(Text, PathsJoinWithOneSlash) {
  EXPECT_EQ(path_join("/a", "b"), "/a/b");
  EXPECT_EQ(path_join("/a/", "/b"), "/a/b");
  EXPECT_EQ(path_join("/", "b"), "/b");
}

TEST(Text, PathsComeApart) {
  EXPECT_EQ(path_directory("/a/b"), "/a");
  EXPECT_EQ(path_directory("/a"), "/");
  EXPECT_EQ(path_directory("a"), ".");
  EXPECT_EQ(path_name("/a/b"), "b");
  EXPECT_EQ(path_name("b"), "b");
}

TEST(Printable, CannotSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\x07\r\n\x7f"), "a?[31mb????");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a?31m");  // CSI as one C1 character
}

TEST(Printable, KeepsTextAndReplacesInvalidUtf8) {
  EXPECT_EQ(printable("grün 東京 😀"), "grün 東京 😀");
  EXPECT_EQ(printable("\xff\xc0\xaf"), "???");       // an overlong slash
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(printable("a\xe6\x9d"), "a??");          // cut short
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");  // beyond U+10FFFF
}

}  // namespace
}  // namespace gpuwright
