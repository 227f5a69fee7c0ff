#include "diagnose/visible_devices.h"

#include <gtest/gtest.h>

namespace gpuwright {
namespace {

using State = VisibleDevices::State;
using Indices = std::vector<std::size_t>;

const std::vector<NamedGpu> kOne = {{"GPU-1a2b3c4d-0000-0000-0000-000000000000"}};
const std::vector<NamedGpu> kThree = {{"GPU-1a2b3c4d-0000-0000-0000-000000000000"},
                                      {"GPU-1a2b9999-0000-0000-0000-000000000001"},
                                      {"GPU-ffff0000-0000-0000-0000-000000000002"}};

/// What is left of `gpus`; nothing visible is an empty list, undecided fails the test.
Indices left(const std::string& value, const std::vector<NamedGpu>& gpus = kThree) {
  const auto result = visible_devices(value, gpus, true);
  EXPECT_TRUE(result.state == State::kSome || result.state == State::kNone) << value;
  EXPECT_EQ(result.state == State::kNone, result.gpus.empty()) << value;
  EXPECT_EQ(result.state == State::kNone, !result.reason.empty()) << value;
  return result.gpus;
}

TEST(VisibleDevices, AllWithoutTheVariable) {
  EXPECT_EQ(visible_devices(std::nullopt, kThree, true).state, State::kAll);
  EXPECT_EQ(visible_devices(std::nullopt, {}, false).state, State::kAll);
}

// What cuInit and cuDeviceGetCount of driver 580.159.04 answered on a machine with one H200: for
// these 100, for "0,0" 101.
TEST(VisibleDevices, NoneAsSeenOnARealDriver) {
  for (const auto* value : {"", "0,0", "9", "\"0\"", "1gpu", "none", "GPU-", "gpu-",
                            " GPU-1a2b3c4d-0000-0000-0000-000000000000"})
    EXPECT_EQ(left(value, kOne), Indices{}) << value;
}

TEST(VisibleDevices, OneAsSeenOnARealDriver) {
  for (const auto* value :
       {"0,", " 0", "0,-1", "-0", "0x0", "00", "+0", "0;1", "GPU-1a2b", "GPU-1A2B3C",
        "GPU-1a2b3c4d-0000-0000-0000-000000000000,0", "0,GPU-1a2b3c4d-0000-0000-0000-000000000000"})
    EXPECT_EQ(left(value, kOne), Indices{0}) << value;
}

TEST(VisibleDevices, ListGivesTheOrder) {
  EXPECT_EQ(left("0"), Indices{0});
  EXPECT_EQ(left("2,0,1"), (Indices{2, 0, 1}));
}

TEST(VisibleDevices, FirstInvalidElementEndsTheList) {
  EXPECT_EQ(left("0,2,-1,1"), (Indices{0, 2}));
  EXPECT_EQ(left("0,7,1"), Indices{0});
  EXPECT_EQ(left("1,,0"), Indices{1});
  EXPECT_EQ(left("1,gpu0"), Indices{1});
}

TEST(VisibleDevices, InvalidFirstElementHidesAll) {
  for (const auto* value : {"-1", "none", "NoDevFiles", "7", ",0", "  "})
    EXPECT_EQ(left(value), Indices{}) << value;
}

TEST(VisibleDevices, DuplicateHidesAll) {
  EXPECT_EQ(left("0,1,0"), Indices{});
  EXPECT_EQ(left("GPU-ffff,GPU-ffff0000"), Indices{});
}

// The elements of torch/cuda's _parse_visible_devices, where the driver agrees.
TEST(VisibleDevices, NumbersAreReadAsStrtoulDoes) {
  EXPECT_EQ(left("1gpu2,2ampere"), (Indices{1, 2}));
  EXPECT_EQ(left(" 0, 2 "), (Indices{0, 2}));
  EXPECT_EQ(left("+1"), Indices{1});
  EXPECT_EQ(left("00"), Indices{0});
  EXPECT_EQ(left("99999999999999999999999"), Indices{});
}

TEST(VisibleDevices, QuotationMarksInTheValueHideAllAndAreNamed) {
  const auto result = visible_devices("\"0\"", kThree, true);
  EXPECT_EQ(result.state, State::kNone);
  EXPECT_NE(result.reason.find("quotation marks"), std::string::npos);
}

TEST(VisibleDevices, UuidPrefixMatchesOne) {
  EXPECT_EQ(left("GPU-ffff"), Indices{2});
  EXPECT_EQ(left("GPU-FFFF,GPU-1a2b3"), (Indices{2, 0}));
}

TEST(VisibleDevices, AmbiguousOrUnknownUuidIsInvalid) {
  EXPECT_EQ(left("GPU-1a2b"), Indices{});
  EXPECT_EQ(left("GPU-2222"), Indices{});
  EXPECT_EQ(left("GPU-ffff,GPU-2222"), Indices{2});
}

TEST(VisibleDevices, KindOfTheFirstElementBindsTheRest) {
  EXPECT_EQ(left("GPU-ffff,0"), Indices{2});
  EXPECT_EQ(left("0,GPU-ffff"), Indices{0});
}

TEST(VisibleDevices, UndecidedWithoutUuidsOrCount) {
  EXPECT_EQ(visible_devices("GPU-1a2b", {{""}, {""}}, true).state, State::kUnknown);
  EXPECT_EQ(visible_devices("GPU-1a2b", {}, false).state, State::kUnknown);
  EXPECT_EQ(visible_devices("0", {}, false).state, State::kUnknown);
  EXPECT_EQ(visible_devices("MIG-1a2b", kThree, true).state, State::kUnknown);
}

TEST(VisibleDevices, ValuesThatAreWrongForEveryCountAreDecidedWithoutOne) {
  for (const auto* value : {"", "-1", "none", "\"0\"", "-1,0"})
    EXPECT_EQ(visible_devices(value, {}, false).state, State::kNone) << value;
}

TEST(VisibleDevices, ReasonShowsTheValueWithoutControlCharacters) {
  const auto result = visible_devices("no\x1b[31m", kThree, true);
  EXPECT_NE(result.reason.find("CUDA_VISIBLE_DEVICES='no?[31m'"), std::string::npos);
}

}  // namespace
}  // namespace gpuwright
