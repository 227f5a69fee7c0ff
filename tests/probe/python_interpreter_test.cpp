#include "probe/python_interpreter.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "python_tree.h"

namespace gpuwright {
namespace {

class PythonChoice : public testing::Test {
 protected:
  PythonChoice() {
    environment_ = {{"HOME", "/home/u"}, {"PATH", "/usr/local/bin:/usr/bin"}};
    system_.cwd = "/work";
    add_debian_python(system_, "3.11");
    add_python(system_, "/opt/conda", "3.12");
    system_.add_link("/opt/conda/bin/python", "python3.12");
    system_.add_file("/opt/conda/conda-meta/history", "");
    add_venv(system_, "/work/.venv", "/usr", "3.11", kClosed);
  }

  Result<Interpreter> choose(const std::string& wanted = "") const {
    return choose_interpreter(system_, environment_, wanted);
  }
  // Path and who chose it, or the error's text.
  std::string chosen(const std::string& wanted = "") const {
    const auto found = choose(wanted);
    return found ? found->path + " by " + found->chosen_by : found.error().text();
  }

  MemorySystem system_;
  EnvironmentBlock environment_;
};

TEST_F(PythonChoice, IsPython3WhereThereIsNoPython) {
  EXPECT_EQ(chosen(), "/usr/bin/python3 by PATH");
}

TEST_F(PythonChoice, PrefersPythonAsPeopleTypeItUnlessItIsPython2) {
  add_python(system_, "/usr/local", "3.12");
  system_.add_link("/usr/local/bin/python", "python3.12");
  EXPECT_EQ(chosen(), "/usr/local/bin/python by PATH");
  add_python(system_, "/usr/local", "2.7");
  system_.add_link("/usr/local/bin/python", "python2.7");
  EXPECT_EQ(chosen(), "/usr/local/bin/python3 by PATH");
}

TEST_F(PythonChoice, IsTheActivatedEnvironment) {
  environment_["CONDA_PREFIX"] = "/opt/conda";
  EXPECT_EQ(chosen(), "/opt/conda/bin/python by CONDA_PREFIX");
  environment_["VIRTUAL_ENV"] = "/work/.venv";
  EXPECT_EQ(chosen(), "/work/.venv/bin/python by VIRTUAL_ENV");
}

TEST_F(PythonChoice, FollowsPathWhenBothAreActivated) {
  environment_["CONDA_PREFIX"] = "/opt/conda";
  environment_["VIRTUAL_ENV"] = "/work/.venv";
  environment_["PATH"] = "/opt/conda/bin:/work/.venv/bin:/usr/bin";
  EXPECT_EQ(chosen(), "/opt/conda/bin/python by CONDA_PREFIX");
}

TEST_F(PythonChoice, PassesOverAVariableWhoseEnvironmentIsGone) {
  environment_["VIRTUAL_ENV"] = "/deleted";
  environment_["CONDA_PREFIX"] = "relative";
  EXPECT_EQ(chosen(), "/usr/bin/python3 by PATH");
  EXPECT_EQ(
      choose_python(system_, environment_, "")->source,
      "PATH, VIRTUAL_ENV=/deleted has no interpreter, CONDA_PREFIX=relative has no interpreter");
}

TEST_F(PythonChoice, SaysThatTheBaseOfAnActivatedEnvironmentIsGone) {
  system_.remove("/usr/bin/python3.11");
  environment_["VIRTUAL_ENV"] = "/work/.venv";
  EXPECT_EQ(chosen(),
            "/work/.venv/bin/python: is a link to /usr/bin/python3.11, which is not there");
}

TEST_F(PythonChoice, IsWhatWasAskedFor) {
  EXPECT_EQ(chosen("/opt/conda"), "/opt/conda/bin/python by --python");
  EXPECT_EQ(chosen("/opt/conda/bin/python3.12"), "/opt/conda/bin/python3.12 by --python");
  EXPECT_EQ(chosen(".venv"), "/work/.venv/bin/python by --python");
  EXPECT_EQ(chosen("./.venv/bin/python3"), "/work/.venv/bin/python3 by --python");
  EXPECT_EQ(chosen("python3.11"), "/usr/bin/python3.11 by --python");
  EXPECT_EQ(chosen("/usr"), "/usr/bin/python3 by --python");
}

TEST_F(PythonChoice, RefusesAWrongArgumentWithOneReason) {
  system_.add_file("/work/broken/pyvenv.cfg", "home = /usr/bin\n");
  system_.add_directory("/work/dir/bin/python");
  system_.add_file("/work/file", "text");
  EXPECT_EQ(chosen("/nowhere/python"), "/nowhere/python: no such file or directory");
  EXPECT_EQ(chosen("python9"), "python9: is neither a command on PATH nor a directory here");
  EXPECT_EQ(chosen("/work"),
            "/work: is a directory and no Python environment: bin/python is missing");
  EXPECT_EQ(chosen("/work/dir"),
            "/work/dir: is a directory and no Python environment: bin/python is missing");
  EXPECT_EQ(chosen("broken"),
            "broken: is an environment without an interpreter: bin/python is missing");
  EXPECT_EQ(chosen("./file"), "/work/file: is not executable");
  EXPECT_EQ(choose("/nowhere/python").error().code, 0);
}

TEST_F(PythonChoice, IsNotThereWithoutAnyPython) {
  system_.remove("/usr/bin");
  const auto found = choose();
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ENOENT);
}

TEST_F(PythonChoice, TellsTheKindOfAnInstallation) {
  environment_["PYENV_ROOT"] = "/srv/pyenv";
  add_python(system_, "/home/u/.pyenv/versions/3.12.1", "3.12");
  add_python(system_, "/srv/pyenv/versions/3.12.1", "3.12");
  add_python(system_, "/opt/mine", "3.12");
  EXPECT_EQ(choose("/usr")->kind, "system");
  EXPECT_EQ(choose("/opt/conda")->kind, "conda");
  EXPECT_EQ(choose(".venv")->kind, "venv");
  EXPECT_EQ(choose("/home/u/.pyenv/versions/3.12.1")->kind, "pyenv");
  EXPECT_EQ(choose("/srv/pyenv/versions/3.12.1")->kind, "pyenv");
  EXPECT_EQ(choose("/opt/mine")->kind, "other");
}

TEST_F(PythonChoice, DescribesAVenvByItsBase) {
  system_.add_directory("/home/u/.local/lib/python3.11/site-packages");
  const auto venv = choose(".venv");
  ASSERT_TRUE(venv.has_value());
  EXPECT_EQ(venv->real_path, "/usr/bin/python3.11");
  EXPECT_EQ(venv->prefix, "/work/.venv");
  EXPECT_EQ(venv->base_prefix, "/usr");
  EXPECT_TRUE(venv->libc.is("glibc"));
  EXPECT_FALSE(venv->user_site);
  EXPECT_TRUE(choose("python3")->user_site);
}

}  // namespace
}  // namespace gpuwright
