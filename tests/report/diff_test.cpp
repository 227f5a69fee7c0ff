#include "report/diff.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/sample.h"

namespace gpuwright {
namespace {

Judged machine_with(const std::string& driver) {
  Judged judged;
  judged.machine.driver.module_version = Fact<Version>::known(Version::of(driver), "module");
  return judged;
}

TEST(Diff, IsEmptyForTheSame) {
  const auto comparison = compare(machine_with("550.1"), machine_with("550.1"), true);
  EXPECT_TRUE(comparison.same());
  EXPECT_EQ(diff_text(comparison, "a", "b", false, 0), "a and b are the same.\n");
}

TEST(Diff, NamesTheFactAndBothValues) {
  const auto comparison = compare(machine_with("550.1"), machine_with("560.2"), false);
  ASSERT_EQ(comparison.facts.size(), 1u);
  EXPECT_EQ(comparison.facts[0].place, "driver.module_version");
  EXPECT_EQ(comparison.facts[0].before, "550.1");
  EXPECT_EQ(comparison.facts[0].after, "560.2");
}

TEST(Diff, KnowsItemsOfListsByNameAndNotByNumber) {
  Judged before, after;
  const auto distribution = [](const char* name, const char* version) {
    Distribution one;
    one.name = name;
    one.version = version;
    return one;
  };
  before.machine.python.distributions = {distribution("numpy", "1.26"), distribution("torch", "2")};
  after.machine.python.distributions = {distribution("torch", "2"), distribution("numpy", "2.1")};
  const auto comparison = compare(before, after, false);
  ASSERT_EQ(comparison.facts.size(), 1u);
  EXPECT_EQ(comparison.facts[0].place, "python.distributions[numpy].version");
}

TEST(Diff, LeavesOutWhatAlwaysDiffers) {
  Judged before, after;
  before.machine.host.clock = Fact<Clock>::known(Clock{1, 1, "x", {}}, "clock");
  after.machine.host.clock = Fact<Clock>::known(Clock{2, 1, "x", {}}, "clock");
  EXPECT_TRUE(compare(before, after, false).same());
  EXPECT_FALSE(compare(before, after, true).same());
}

TEST(Diff, TellsFindingsThatCameAndWentAndAnswersThatChanged) {
  Judged before, after;
  after.diagnosis = broken_driver();
  const auto came = compare(before, after, false);
  ASSERT_EQ(came.findings.size(), 3u);
  EXPECT_TRUE(came.findings[0].appeared);
  EXPECT_EQ(came.answers.size(), 3u);
  const auto went = compare(after, before, false);
  EXPECT_FALSE(went.findings[0].appeared);
  EXPECT_EQ(diff_json(went)["findings"].size(), 3u);
}

}  // namespace
}  // namespace gpuwright
