#include "machine/requirement.h"

#include <gtest/gtest.h>

namespace gpuwright {
namespace {

std::string parsed(std::string_view line) {
  const auto requirement = Requirement::parse(line);
  if (!requirement) return "none";
  return requirement->name + " | " + requirement->range.text() + " | " + requirement->marker;
}

std::string answer(std::string_view marker, const char* python = "3.12",
                   const char* machine = "x86_64") {
  const auto holds = marker_holds(marker, {python, machine});
  return holds ? (*holds ? "yes" : "no") : "unknown";
}

// Lines of the wheels tensorflow 2.17.1, torch 2.5.1, torchvision 0.19.1, jax 0.4.38, optax 0.2.4.
TEST(Requirement, IsReadInTheFormsThatWheelsHave) {
  EXPECT_EQ(parsed("numpy <2.0.0,>=1.23.5 ; python_version <= \"3.11\""),
            "numpy | <2.0.0,>=1.23.5 | python_version <= \"3.11\"");
  EXPECT_EQ(parsed("torch (==2.4.1)"), "torch | ==2.4.1 | ");
  EXPECT_EQ(parsed("jaxlib<=0.4.38,>=0.4.38"), "jaxlib | <=0.4.38,>=0.4.38 | ");
  EXPECT_EQ(parsed("etils[epy]"), "etils |  | ");
  EXPECT_EQ(parsed("ml_dtypes>=0.4.0"), "ml-dtypes | >=0.4.0 | ");
  EXPECT_EQ(parsed("nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == \"Linux\""),
            "nvidia-cudnn-cu12 | ==9.1.0.70 | platform_system == \"Linux\"");
}

TEST(Requirement, IsNoneOfAnythingElse) {
  EXPECT_EQ(parsed(""), "none");
  EXPECT_EQ(parsed("; python_version > '3'"), "none");
  EXPECT_EQ(parsed("torch @ https://example.org/torch.whl"), "none");
  EXPECT_EQ(parsed("etils[epy"), "none");
  EXPECT_EQ(parsed("numpy 1.0"), "none");
}

TEST(Marker, ComparesPythonVersionsAsVersions) {
  EXPECT_EQ(answer("python_version < '3.13'"), "yes");
  EXPECT_EQ(answer("python_version >= \"3.9\""), "yes");
  EXPECT_EQ(answer("python_version <= '3.11'"), "no");
  EXPECT_EQ(answer("python_version <= '3.11'", "3.11.7"), "yes");
  EXPECT_EQ(answer("'3.11' >= python_version", "3.12"), "no");
  EXPECT_EQ(answer("python_full_version < '3.12.4'", "3.12"), "unknown");
  EXPECT_EQ(answer("python_full_version < '3.12.4'", "3.12.3"), "yes");
  EXPECT_EQ(answer("python_version < '3.13'", ""), "unknown");
}

TEST(Marker, FollowsAndOrAndParentheses) {
  EXPECT_EQ(answer("platform_system == 'Linux' and platform_machine == 'x86_64' and "
                   "python_version < '3.13'"),
            "yes");
  EXPECT_EQ(answer("platform_system == 'Darwin' or (python_version >= '3.12' and "
                   "platform_machine == 'x86_64')"),
            "yes");
  EXPECT_EQ(
      answer("platform_system == 'Linux' and platform_machine == 'x86_64'", "3.12", "aarch64"),
      "no");
  EXPECT_EQ(answer("sys_platform == 'win32'"), "no");
  EXPECT_EQ(answer("sys_platform in 'linux darwin'"), "yes");
  EXPECT_EQ(answer("platform_machine not in 'arm64 aarch64'"), "yes");
  EXPECT_EQ(answer(""), "yes");
}

TEST(Marker, IsOpenWhereItHangsOnWhatIsNotKnown) {
  EXPECT_EQ(answer("platform_release == '6.1'"), "unknown");
  EXPECT_EQ(answer("platform_release == '6.1' and sys_platform == 'win32'"), "no");
  EXPECT_EQ(answer("platform_release == '6.1' or sys_platform == 'linux'"), "yes");
  EXPECT_EQ(answer("extra == 'and-cuda'"), "no");
}

TEST(Marker, ThatIsNoneIsNotFollowed) {
  for (const auto* text : {"python_version", "python_version <", "(python_version < '4'",
                           "python_version < '4' )", "python_version < '4", "< >", "and and"})
    EXPECT_EQ(answer(text), "unknown") << text;
  EXPECT_EQ(answer(std::string(100000, '(') + "python_version < '4'"), "unknown");
}

}  // namespace
}  // namespace gpuwright
