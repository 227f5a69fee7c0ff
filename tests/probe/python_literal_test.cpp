#include "probe/python_literal.h"

#include <gtest/gtest.h>

namespace gpuwright {
namespace {

using Texts = std::vector<std::string>;

// tensorflow/python/platform/build_info.py, by release.
constexpr std::string_view kBuildInfo2_1 = R"(
from __future__ import print_function

is_rocm_build = False
is_cuda_build = True

cuda_version_number = '10.1'
cudnn_version_number = '7'
)";
constexpr std::string_view kBuildInfo2_3 = R"(
"""Auto-generated module providing information about the build."""
from __future__ import print_function

build_info = {'cuda_version': '10.1', 'cudnn_version': '7', 'cuda_compute_capabilities': ['sm_35', 'sm_37', 'compute_70'], 'cpu_compiler': '/usr/bin/gcc-5', 'is_rocm_build': False, 'is_cuda_build': True}
)";
constexpr std::string_view kBuildInfo2_21 = R"(
"""Auto-generated module providing information about the build."""
import collections

build_info = collections.OrderedDict([('cpu_compiler', 'clang'), ('cuda_compute_capabilities', ['sm_60', 'sm_89', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', False)])
)";
constexpr std::string_view kBuildInfo2_22 = R"(
import collections

build_info = collections.OrderedDict([('is_cuda_build', True), ('is_rocm_build', False), ('is_tensorrt_build', False)])
)";

// torch/version.py of 2.15; releases before 2.0 have no annotations.
constexpr std::string_view kTorchVersion = R"(from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.15.0+cu132'
debug = False
cuda: Optional[str] = '13.2'
git_version = 'd0f2af8b66b20da4baa50644c0cd3f887a2eae2e'
hip: Optional[str] = None
)";

TEST(BuildInfo, OldAssignmentsAreRead) {
  EXPECT_EQ(assigned_value(kBuildInfo2_1, "is_cuda_build"), "True");
  EXPECT_EQ(assigned_value(kBuildInfo2_1, "cuda_version_number"), "10.1");
  EXPECT_EQ(keyed_value(kBuildInfo2_1, "is_cuda_build"), std::nullopt);
}

TEST(BuildInfo, PlainDictIsRead) {
  EXPECT_EQ(keyed_value(kBuildInfo2_3, "is_cuda_build"), "True");
  EXPECT_EQ(keyed_value(kBuildInfo2_3, "is_rocm_build"), "False");
  EXPECT_EQ(keyed_value(kBuildInfo2_3, "cuda_version"), "10.1");
  EXPECT_EQ(keyed_list(kBuildInfo2_3, "cuda_compute_capabilities"),
            (Texts{"sm_35", "sm_37", "compute_70"}));
}

TEST(BuildInfo, OrderedDictIsRead) {
  EXPECT_EQ(keyed_value(kBuildInfo2_21, "is_cuda_build"), "True");
  EXPECT_EQ(keyed_value(kBuildInfo2_21, "cuda_version"), "12.5.1");
  EXPECT_EQ(keyed_value(kBuildInfo2_21, "cudnn_version"), "9");
  EXPECT_EQ(keyed_value(kBuildInfo2_21, "is_tensorrt_build"), "False");
  EXPECT_EQ(keyed_list(kBuildInfo2_21, "cuda_compute_capabilities"),
            (Texts{"sm_60", "sm_89", "compute_90"}));
}

TEST(BuildInfo, ReleaseWithoutVersionsGivesNoneOfThem) {
  EXPECT_EQ(keyed_value(kBuildInfo2_22, "is_cuda_build"), "True");
  EXPECT_EQ(keyed_value(kBuildInfo2_22, "cuda_version"), std::nullopt);
  EXPECT_EQ(keyed_list(kBuildInfo2_22, "cuda_compute_capabilities"), std::nullopt);
}

TEST(TorchVersion, AnnotatedAndPlainAssignmentsAreRead) {
  EXPECT_EQ(assigned_value(kTorchVersion, "__version__"), "2.15.0+cu132");
  EXPECT_EQ(assigned_value(kTorchVersion, "cuda"), "13.2");
  EXPECT_EQ(assigned_value(kTorchVersion, "hip"), "None");
  EXPECT_EQ(assigned_value(kTorchVersion, "xpu"), std::nullopt);
}

TEST(AssignedValue, NameIsTakenAsAWhole) {
  EXPECT_EQ(assigned_value("cuda_home = '/usr'\ncuda = '12.4'\n", "cuda"), "12.4");
  EXPECT_EQ(assigned_value("  cuda = '12.4'\n", "cuda"), std::nullopt);
  EXPECT_EQ(assigned_value("cuda\n", "cuda"), std::nullopt);
}

TEST(AssignedValue, CommentBehindAWordIsLeftOut) {
  EXPECT_EQ(assigned_value("debug = False  # release build\n", "debug"), "False");
}

TEST(KeyedValue, KeyMustBeQuotedAndFollowedByAValue) {
  EXPECT_EQ(keyed_value("cuda_version: '12'", "cuda_version"), std::nullopt);
  EXPECT_EQ(keyed_value("names = ['cuda_version']", "cuda_version"), std::nullopt);
  EXPECT_EQ(keyed_value("{'my_cuda_version': '11', \"cuda_version\": \"12\"}", "cuda_version"),
            "12");
}

TEST(KeyedList, UnclosedListGivesNothing) {
  EXPECT_EQ(keyed_list("('targets', ['sm_60', 'sm_70'", "targets"), std::nullopt);
  EXPECT_EQ(keyed_list("('targets', None)", "targets"), std::nullopt);
}

TEST(QuotedAt, EscapesAndLineEndsGiveNothing) {
  EXPECT_EQ(quoted_at("  'a b' tail"), "a b");
  EXPECT_EQ(quoted_at("'a\\'b'"), std::nullopt);
  EXPECT_EQ(quoted_at("'a\nb'"), std::nullopt);
  EXPECT_EQ(quoted_at("'open"), std::nullopt);
  EXPECT_EQ(quoted_at(""), std::nullopt);
}

TEST(QuotedTexts, CommentsAreNotText) {
  EXPECT_EQ(quoted_texts("('cublas',  # isn't \"this\"\n \"libcublas.so\")"),
            (Texts{"cublas", "libcublas.so"}));
  EXPECT_EQ(quoted_texts("'open"), Texts{});
}

TEST(QuotedTexts, DocstringIsOneText) {
  EXPECT_EQ(quoted_texts("\"\"\"It's old.\"\"\"\nf('x')"), (Texts{"", "It's old.", "", "x"}));
}

TEST(FunctionBody, EndsAtTheNextStatementOfTheModule) {
  constexpr std::string_view source =
      "def first():\n  pass\n\n"
      "def wanted(\n    a,\n) -> None:\n  one()\n\n# a remark\n  two()\n\n@cached\ndef last():\n"
      "  three()\n";
  const auto body = function_body(source, "wanted");
  EXPECT_TRUE(body.starts_with("def wanted("));
  EXPECT_NE(body.find("two()"), std::string_view::npos);
  EXPECT_EQ(body.find("@cached"), std::string_view::npos);
  EXPECT_EQ(body.find("three"), std::string_view::npos);
}

TEST(FunctionBody, IsEmptyForAnotherName) {
  EXPECT_EQ(function_body("def wanted_more():\n  pass\n", "wanted"), "");
  EXPECT_EQ(function_body("", "wanted"), "");
}

TEST(FunctionBody, MayBeginAndEndTheText) {
  EXPECT_EQ(function_body("def f():\n  pass", "f"), "def f():\n  pass");
  EXPECT_EQ(function_body("\ndef f():\n  pass", "f"), "def f():\n  pass");
}

}  // namespace
}  // namespace gpuwright
