#include "probe/python_shim.h"

#include <gtest/gtest.h>

#include "python_tree.h"

namespace gpuwright {
namespace {

constexpr const char* kPyenvShim =
    "#!/usr/bin/env bash\nset -e\n[ -n \"$PYENV_DEBUG\" ] && set -x\n\nprogram=\"${0##*/}\"\n\n"
    "export PYENV_ROOT=\"/home/u/.pyenv\"\n"
    "exec \"/home/u/.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n";

constexpr const char* kAsdfShim =
    "#!/usr/bin/env bash\n# asdf-plugin: python 3.12.0\n# asdf-plugin: python 3.11.4\n"
    "exec /home/u/.asdf/bin/asdf exec \"python\" \"$@\"\n";

class PythonShim : public testing::Test {
 protected:
  PythonShim() {
    environment_ = {{"HOME", "/home/u"}, {"PATH", "/home/u/.pyenv/shims:/usr/bin"}};
    system_.cwd = "/home/u/project/deep";
    system_.add_directory(system_.cwd);
    system_.add_file("/home/u/.pyenv/shims/python", kPyenvShim, 0755);
    for (const auto* version : {"3.11.7", "3.12.1", "3.12.10", "3.13.0rc1", "3.13.0t"})
      system_.add_file("/home/u/.pyenv/versions/" + std::string(version) + "/bin/python",
                       python_program(), 0755);
    system_.add_file("/usr/bin/python", python_program(), 0755);
  }

  // The program, or the error's text.
  std::string follow(const std::string& path) const {
    const auto found = follow_shim(system_, environment_, path);
    return found ? found->path : found.error().text();
  }
  std::string pyenv() const { return follow("/home/u/.pyenv/shims/python"); }

  MemorySystem system_;
  EnvironmentBlock environment_;
};

TEST(ShimText, TellsItsManager) {
  EXPECT_EQ(parse_shim(kPyenvShim), (Shim{Shim::Manager::kPyenv, "/home/u/.pyenv"}));
  EXPECT_EQ(parse_shim(kAsdfShim), (Shim{Shim::Manager::kAsdf, ""}));
  EXPECT_EQ(parse_shim("#!/bin/sh\nexec python3 \"$@\"\n"), Shim{});
  EXPECT_EQ(parse_shim("\x7f"
                       "ELF"),
            Shim{});
}

TEST(PyenvVersionFile, IsOneWordALine) {
  EXPECT_EQ(parse_pyenv_version_file("# mine\n3.12.1 # comment\n\n  3.11.7\r\n"), "3.12.1:3.11.7");
  EXPECT_EQ(parse_pyenv_version_file("\n# only\n"), "");
}

TEST(ToolVersions, AreThoseOfPython) {
  EXPECT_EQ(parse_tool_versions("nodejs 20.1\npython 3.12.0 system # both\npython 2.7\n"),
            "3.12.0 system");
  EXPECT_EQ(parse_tool_versions("nodejs 20.1\n"), "");
}

TEST_F(PythonShim, LeavesAProgramAsItIs) {
  EXPECT_EQ(follow("/usr/bin/python"), "/usr/bin/python");
}

TEST_F(PythonShim, FallsBackToTheSystemWithoutAnySetting) { EXPECT_EQ(pyenv(), "/usr/bin/python"); }

TEST_F(PythonShim, TakesTheGlobalThenTheNearestThenTheVariable) {
  system_.add_file("/home/u/.pyenv/version", "3.11.7\n");
  EXPECT_EQ(pyenv(), "/home/u/.pyenv/versions/3.11.7/bin/python");
  system_.add_file("/home/u/project/.python-version", "3.12.1\n");
  EXPECT_EQ(pyenv(), "/home/u/.pyenv/versions/3.12.1/bin/python");
  EXPECT_EQ(follow_shim(system_, environment_, "/home/u/.pyenv/shims/python")->note,
            "pyenv, by /home/u/project/.python-version");
  environment_["PYENV_VERSION"] = "system";
  EXPECT_EQ(pyenv(), "/usr/bin/python");
}

TEST_F(PythonShim, TakesTheNewestReleaseOfAPrefix) {
  environment_["PYENV_VERSION"] = "3.12";
  EXPECT_EQ(pyenv(), "/home/u/.pyenv/versions/3.12.10/bin/python");
  environment_["PYENV_VERSION"] = "python-3.11";
  EXPECT_EQ(pyenv(), "/home/u/.pyenv/versions/3.11.7/bin/python");
  environment_["PYENV_VERSION"] = "3.13t";
  EXPECT_EQ(pyenv(), "/home/u/.pyenv/versions/3.13.0t/bin/python");
}

TEST_F(PythonShim, AsksSeveralVersionsInOrder) {
  environment_["PYENV_VERSION"] = "3.9.1:3.11.7";
  EXPECT_EQ(pyenv(), "/home/u/.pyenv/versions/3.11.7/bin/python");
}

TEST_F(PythonShim, SaysWhenTheManagerWouldFindNothing) {
  environment_["PYENV_VERSION"] = "3.9.1";
  environment_["PATH"] = "/home/u/.pyenv/shims";
  EXPECT_EQ(
      pyenv(),
      "/home/u/.pyenv/shims/python: is a pyenv shim, and PYENV_VERSION names 3.9.1, which has "
      "no python");
  environment_["PYENV_VERSION"] = "../../../etc";
  EXPECT_NE(pyenv().find("is a pyenv shim"), std::string::npos);
}

TEST_F(PythonShim, OfAsdfIsFollowedByToolVersions) {
  system_.add_file("/home/u/.asdf/shims/python", kAsdfShim, 0755);
  for (const auto* version : {"3.12.0", "3.11.4"})
    system_.add_file("/home/u/.asdf/installs/python/" + std::string(version) + "/bin/python",
                     python_program(), 0755);
  const std::string shim = "/home/u/.asdf/shims/python";
  EXPECT_EQ(follow(shim), shim +
                              ": is an asdf shim, and no installed version is set for it "
                              "(/home/u/.tool-versions)");
  system_.add_file("/home/u/.tool-versions", "python 3.12.0\n");
  EXPECT_EQ(follow(shim), "/home/u/.asdf/installs/python/3.12.0/bin/python");
  environment_["ASDF_PYTHON_VERSION"] = "3.10.0 3.11.4";
  EXPECT_EQ(follow(shim), "/home/u/.asdf/installs/python/3.11.4/bin/python");
}

TEST_F(PythonShim, OfAnotherKindIsNotFollowed) {
  system_.add_file("/opt/wrap/python", "#!/bin/sh\nexec /opt/real/python \"$@\"\n", 0755);
  EXPECT_EQ(follow("/opt/wrap/python"),
            "/opt/wrap/python: is a script that starts another program");
}

TEST_F(PythonShim, OnPathOnlyExecutableFilesCount) {
  system_.add_directory("/a/python");
  system_.add_file("/b/python", python_program(), 0644);
  system_.add_link("/c/python", "/gone");
  environment_["PATH"] = "/a:/b:/c:relative:/usr/bin";
  EXPECT_EQ(find_on_path(system_, environment_, "python"), "/usr/bin/python");
  system_.add_file(system_.cwd + "/relative/python", python_program(), 0755);
  EXPECT_EQ(find_on_path(system_, environment_, "python"), system_.cwd + "/relative/python");
  environment_.erase("PATH");
  EXPECT_EQ(find_on_path(system_, environment_, "python"), "/usr/bin/python");
}

}  // namespace
}  // namespace gpuwright
