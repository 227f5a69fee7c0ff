#include "base/version_range.h"

#include <gtest/gtest.h>

namespace gpuwright {
namespace {

bool accepts(std::string_view range, std::string_view version) {
  return VersionRange::of(range).contains(Version::of(version));
}

TEST(VersionRange, HoldsAllOfItsClauses) {
  EXPECT_TRUE(accepts("<2.0.0,>=1.23.5", "1.26.4"));
  EXPECT_FALSE(accepts("<2.0.0,>=1.23.5", "2.0.0"));
  EXPECT_FALSE(accepts("<2.0.0,>=1.23.5", "1.23.4"));
  EXPECT_TRUE(accepts("", "0.1"));
  EXPECT_TRUE(accepts(">= 1.0 , < 2 ,", "1.5"));
}

TEST(VersionRange, LeavesOutPatchReleasesByName) {
  EXPECT_FALSE(accepts("!=4.21.0,!=4.21.1,<5.0.0dev,>=3.20.3", "4.21.1"));
  EXPECT_TRUE(accepts("!=4.21.0,!=4.21.1,<5.0.0dev,>=3.20.3", "4.21.6"));
  EXPECT_FALSE(accepts("!=4.21.0,!=4.21.1,<5.0.0dev,>=3.20.3", "5.0.0"));
  EXPECT_FALSE(accepts("!=8.3.*,>=5.3.0", "8.3.1"));
  EXPECT_TRUE(accepts("!=8.3.*,>=5.3.0", "8.4"));
}

TEST(VersionRange, KnowsTheSignsOfPep440) {
  EXPECT_TRUE(accepts("~=1.19.2", "1.19.5"));
  EXPECT_FALSE(accepts("~=1.19.2", "1.20.0"));
  EXPECT_TRUE(accepts("~=1.2", "1.9"));
  EXPECT_TRUE(accepts("==2.4.1", "2.4.1+cu121"));
  EXPECT_TRUE(accepts("==2.4.1+cu121", "2.4.1+cu121"));
  EXPECT_FALSE(accepts("==2.4.1+cpu", "2.4.1+cu121"));
  EXPECT_TRUE(accepts("===2.4.1", "2.4.1"));
  EXPECT_TRUE(accepts("==1.1.*", "1.1.7"));
  EXPECT_FALSE(accepts("==1.1.*", "1.10"));
  EXPECT_FALSE(accepts(">1.7", "1.7"));
  EXPECT_TRUE(accepts("<=0.4.38", "0.4.38"));
}

TEST(VersionRange, PutsPreAndPostReleasesOutsideOfOpenBounds) {
  EXPECT_FALSE(accepts("<2.0", "2.0rc1"));
  EXPECT_TRUE(accepts("<2.0rc2", "2.0rc1"));
  EXPECT_FALSE(accepts(">1.7", "1.7.post1"));
  EXPECT_TRUE(accepts(">=1.7", "1.7.post1"));
  EXPECT_FALSE(accepts(">=2.18.0", "2.18.0rc1"));
}

TEST(VersionRange, TellsWhetherAnUpgradeHelps) {
  EXPECT_TRUE(VersionRange::of(">=0.4.38,<=0.4.38").is_above(Version::of("0.4.30")));
  EXPECT_FALSE(VersionRange::of(">=0.4.38,<=0.4.38").is_above(Version::of("0.5.0")));
  EXPECT_TRUE(VersionRange::of("==2.11.0").is_above(Version::of("2.10.0")));
}

TEST(VersionRange, RefusesWhatIsNone) {
  for (const auto* text : {"1.0", ">=", "~=1", ">=1.*", "==1!2.0", "garbage", ">=x"})
    EXPECT_FALSE(VersionRange::parse(text).has_value()) << text;
}

}  // namespace
}  // namespace gpuwright
