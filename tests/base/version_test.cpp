#include "base/version.h"

#include <gtest/gtest.h>

namespace gpuwright {
namespace {

TEST(Version, OrderIsTheOneOfTheHeader) {
  // Each before the next.
  const char* ascending[] = {"2.9",       "2.10.dev20260101", "2.10a1",  "2.10b1",
                             "2.10rc9",   "2.10rc10",         "2.10",    "2.10.post1",
                             "2.10.1",    "2.11.0",           "12.4",    "550.54.14",
                             "550.54.15", "550.144.03",       "580.82.7"};
  for (std::size_t i = 0; i + 1 < std::size(ascending); ++i)
    for (std::size_t j = i + 1; j < std::size(ascending); ++j) {
      EXPECT_LT(Version::of(ascending[i]), Version::of(ascending[j]))
          << ascending[i] << " " << ascending[j];
      EXPECT_GT(Version::of(ascending[j]), Version::of(ascending[i]));
    }
}

TEST(Version, AMissingPlaceCountsAsZero) {
  EXPECT_EQ(Version::of("12.5"), Version::of("12.5.0"));
  EXPECT_EQ(Version::of("580.82.07"), Version::of("580.82.7"));
}

TEST(Version, TheLocalPartTakesNoPart) {
  EXPECT_EQ(Version::of("2.11.0+cu130"), Version::of("2.11.0"));
  EXPECT_EQ(Version::of("2.11.0+cu130").text(), "2.11.0+cu130");
}

TEST(Version, KeepsItsTextAndParts) {
  const auto version = Version::of("550.54.15");
  EXPECT_EQ(version.text(), "550.54.15");
  EXPECT_EQ(version.major_part(), 550u);
  EXPECT_EQ(version.minor_part(), 54u);
  EXPECT_EQ(version.part(7), 0u);
  EXPECT_EQ(Version::of("v12.4").major_part(), 12u);
}

TEST(Version, SeriesAgreesInItsFirstNumbers) {
  EXPECT_TRUE(Version::of("2.21.0").same_series(Version::of("2.21.3"), 2));
  EXPECT_FALSE(Version::of("2.21.0").same_series(Version::of("2.2.1"), 2));
}

TEST(Version, RefusesWhatIsNone) {
  for (const auto* text : {"", "x", "-1", ".5", "1 2", "1/2", "99999999999999999999", "v"})
    EXPECT_FALSE(Version::parse(text).has_value()) << text;
}

}  // namespace
}  // namespace gpuwright
