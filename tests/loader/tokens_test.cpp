#include "loader/tokens.h"

#include <gtest/gtest.h>

namespace gpuwright::loader {
namespace {

const std::vector<std::string> kTrusted{"/lib64", "/usr/lib64"};

Tokens usual() { return {"/opt/app", "lib64", "x86_64", false, false, &kTrusted}; }

TEST(Tokens, AreReplacedWithAndWithoutBraces) {
  EXPECT_EQ(expand_tokens("$ORIGIN/../${LIB}/$PLATFORM", usual()), "/opt/app/../lib64/x86_64");
  EXPECT_EQ(expand_tokens("${ORIGIN}x", usual()), "/opt/appx");
}

TEST(Tokens, EndWhereTheNameEnds) {
  for (const char* text :
       {"$ORIGINAL", "$ORIGIN_x", "$LIB64", "$origin", "${ORIGIN", "$", "$$", "a$b"})
    EXPECT_EQ(expand_tokens(text, usual()), text);
  EXPECT_EQ(expand_tokens("$$ORIGIN", usual()), "$/opt/app");
  EXPECT_EQ(expand_tokens("$ORIGIN.$LIB", usual()), "/opt/app.lib64");
}

TEST(Tokens, WithoutAValueDropTheElement) {
  Tokens tokens = usual();
  tokens.platform.clear();
  EXPECT_EQ(expand_tokens("/x/$PLATFORM", tokens), "");
  EXPECT_EQ(expand_tokens("/x/$LIB", tokens), "/x/lib64");
}

TEST(Tokens, OfOriginCountInASecureProcessOnlyInFront) {
  Tokens tokens = usual();
  tokens.secure = true;
  EXPECT_EQ(expand_tokens("$ORIGIN/lib", tokens), "/opt/app/lib");
  EXPECT_EQ(expand_tokens("$ORIGIN", tokens), "/opt/app");
  EXPECT_EQ(expand_tokens("/x/$ORIGIN", tokens), "");
  EXPECT_EQ(expand_tokens("${ORIGIN}x", tokens), "");
}

TEST(Tokens, OfASecureProgramMustEndInADefaultDirectory) {
  Tokens tokens = usual();
  tokens.secure = true;
  tokens.of_program = true;
  EXPECT_EQ(expand_tokens("$ORIGIN/lib", tokens), "");
  tokens.origin = "/usr/bin";
  EXPECT_EQ(expand_tokens("$ORIGIN/../$LIB/app", tokens), "/usr/bin/../lib64/app");
  EXPECT_EQ(expand_tokens("$ORIGIN/../$LIB/../../tmp", tokens), "");
  EXPECT_EQ(expand_tokens("$LIB/x", tokens), "lib64/x")
      << "only $ORIGIN can be steered from outside";
}

TEST(Tokens, AreRecognised) {
  EXPECT_TRUE(has_tokens("$ORIGINAL/$LIB"));
  EXPECT_FALSE(has_tokens("$ORIGINAL/${x}"));
  EXPECT_FALSE(has_tokens("/lib"));
}

}  // namespace
}  // namespace gpuwright::loader
