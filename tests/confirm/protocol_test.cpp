#include "confirm/protocol.h"

#include <gtest/gtest.h>

namespace gpuwright {
namespace {

TEST(ParseTold, TakesTheLastLineOfEachKind) {
  const Told told = parse_told(
      "M call dlopen\nchatter\nM json {\"a\": 1}\nM call cuInit\nM json {\"a\": 2}\n", "M");
  EXPECT_EQ(told.last_call, "cuInit");
  EXPECT_EQ(told.json, "{\"a\": 2}");
}

TEST(ParseTold, PassesOverWhatIsNotMarked) {
  const Told told = parse_told("call x\njson {}\n M call y\nMM json {}\nM other z\n", "M");
  EXPECT_EQ(told.last_call, "");
  EXPECT_EQ(told.json, "");
}

TEST(ParseTold, PassesOverALineThatWasCutOff) {
  const Told told = parse_told("M json {\"a\": 1}\nM json {\"a\": 2", "M");
  EXPECT_EQ(told.json, "{\"a\": 1}");
  EXPECT_EQ(parse_told("M json {", "M").json, "");
  EXPECT_EQ(parse_told("", "M").json, "");
}

TEST(ParseTold, AnEmptyMarkerMarksNothing) { EXPECT_EQ(parse_told(" call x\n", "").last_call, ""); }

TEST(ParseTold, ANameOfACallIsPrintableAndShort) {
  const Told told = parse_told("M call \x1b[31m" + std::string(5000, 'x') + "\n", "M");
  EXPECT_LE(told.last_call.size(), 200u);
  EXPECT_EQ(told.last_call.find('\x1b'), std::string::npos);
}

TEST(RunFromJson, ReadsTheFieldsOfARun) {
  const auto run = run_from_json(
      R"({"driver": {"value": {"path": "/x", "result": "CUDA_SUCCESS", "devices": ["A"]},
          "source": "/x"}})");
  ASSERT_TRUE(run.has_value()) << run.error().text();
  EXPECT_EQ(run->driver->devices, std::vector<std::string>{"A"});
  EXPECT_TRUE(run->nvml.is_unknown());
}

TEST(RunFromJson, AnyOtherTextIsAnError) {
  for (const std::string text : {"", "{", "[]", "null", "7", "\"x\"", "{\"driver\": 7}",
                                 "{\"frameworks\": [7]}", "{}}, \"machine\": {\"run\": {",
                                 "\xff\xfe", "{\"driver\": {\"value\": {\"devices\": 1e999}}}"})
    EXPECT_FALSE(run_from_json(text).has_value()) << text;
  EXPECT_FALSE(run_from_json(std::string(100'000, '[')).has_value());
}

TEST(FrameworkRunFromJson, ReadsOneFramework) {
  const auto run = framework_run_from_json(
      R"({"framework": "torch", "result": "imported", "devices": {"value": [], "source": "t"},
          "unknown to us": 7})");
  ASSERT_TRUE(run.has_value()) << run.error().text();
  EXPECT_EQ(run->framework, "torch");
  EXPECT_TRUE(run->devices.is_known());
  EXPECT_TRUE(run->matmul.is_unknown());
}

TEST(FrameworkRunFromJson, NothingIsAnError) {
  EXPECT_FALSE(framework_run_from_json("").has_value());
  EXPECT_FALSE(framework_run_from_json("[]").has_value());
  EXPECT_FALSE(framework_run_from_json("{\"result\": 7}").has_value());
}

}  // namespace
}  // namespace gpuwright
