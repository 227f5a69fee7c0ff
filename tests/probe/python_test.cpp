#include "probe/python.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/probe.h"
#include "python_tree.h"

namespace gpuwright {
namespace {

Python probe(const System& system, const std::string& wanted = "") {
  Machine machine;
  ProbeOptions options;
  options.python = wanted;
  probe_python({system, Machine{}, Catalog::built_in(), options})(machine);
  return machine.python;
}

// The tree of an unpacked image: no process, hence no environment block.
class ImageSystem : public MemorySystem {
 public:
  Result<EnvironmentBlock> environment() const override {
    return fail("No such file or directory", "/proc/self/environ", ENOENT);
  }
};

TEST(PythonProbe, FillsEverythingForAnActivatedEnvironment) {
  MemorySystem system;
  system.environment_block = {
      {"HOME", "/home/u"}, {"PATH", "/usr/bin"}, {"VIRTUAL_ENV", "/work/.venv"}};
  add_debian_python(system, "3.11");
  add_venv(system, "/work/.venv", "/usr", "3.11", kClosed);
  system.add_directory("/work/.venv/lib/python3.11/site-packages/torch-2.5.1+cu124.dist-info");
  const auto python = probe(system);
  ASSERT_TRUE(python.interpreter.is_known());
  EXPECT_EQ(python.interpreter->path, "/work/.venv/bin/python");
  EXPECT_EQ(python.interpreter.source(), "VIRTUAL_ENV");
  EXPECT_EQ(python.sys_path.back().path, "/work/.venv/lib/python3.11/site-packages");
  ASSERT_EQ(python.distributions.size(), 1U);
  EXPECT_EQ(python.distributions[0],
            (Distribution{"torch", "2.5.1+cu124", "/work/.venv/lib/python3.11/site-packages"}));
  ASSERT_EQ(python.others.size(), 1U);
  EXPECT_EQ(python.others[0].path, "/usr/bin/python3.11");
  EXPECT_TRUE(python.path_unknowns.empty());
}

TEST(PythonProbe, AddsTheLibrariesThatCondaBrought) {
  MemorySystem system;
  system.environment_block = {{"HOME", "/home/u"}, {"CONDA_PREFIX", "/opt/conda"}};
  add_python(system, "/opt/conda", "3.12");
  system.add_directory("/opt/conda/lib/python3.12/site-packages/numpy-1.26.4.dist-info");
  system.add_file("/opt/conda/conda-meta/numpy-1.26.4-py312heda63a1_0.json", "{}");
  system.add_file("/opt/conda/conda-meta/cudnn-9.3.0.75-h50b6be5_0.json", "{}");
  const auto python = probe(system);
  ASSERT_EQ(python.distributions.size(), 2U);
  EXPECT_EQ(python.distributions[1], (Distribution{"cudnn", "9.3.0.75", "/opt/conda/conda-meta"}));
}

TEST(PythonProbe, TellsNoPythonFromOneThatCannotBeExamined) {
  MemorySystem system;
  system.environment_block = {{"PATH", "/usr/bin"}};
  EXPECT_TRUE(probe(system).interpreter.is_absent());
  system.add_file("/usr/bin/python", "#!/bin/sh\nexec python3.11 \"$@\"\n", 0755);
  const auto unknown = probe(system).interpreter;
  ASSERT_TRUE(unknown.is_unknown());
  EXPECT_EQ(unknown.reason(), "/usr/bin/python: is a script that starts another program");
}

TEST(PythonProbe, NeverTakesAWrongArgumentForAnAbsentPython) {
  MemorySystem system;
  const auto python = probe(system, "/nowhere/python");
  ASSERT_TRUE(python.interpreter.is_unknown());
  EXPECT_EQ(python.interpreter.source(), "--python /nowhere/python");
  EXPECT_EQ(python.interpreter.reason(), "/nowhere/python: no such file or directory");
}

TEST(PythonProbe, LooksForPythonInAnImageAndSaysWhatItCannotKnow) {
  ImageSystem system;
  add_debian_python(system, "3.11");
  const auto python = probe(system);
  ASSERT_TRUE(python.interpreter.is_known());
  EXPECT_EQ(python.interpreter->path, "/usr/bin/python3");
  ASSERT_EQ(python.path_unknowns.size(), 1U);
  EXPECT_EQ(python.path_unknowns[0],
            "the environment block is not known (/proc/self/environ: No such file or directory), "
            "PYTHONPATH and PYTHONHOME are taken as unset");
}

TEST(PythonProbe, NamesTheShimThatLedToTheInterpreter) {
  MemorySystem system;
  system.environment_block = {{"HOME", "/home/u"}, {"PATH", "/home/u/.pyenv/shims"}};
  add_python(system, "/home/u/.pyenv/versions/3.12.1", "3.12");
  system.add_file("/home/u/.pyenv/version", "3.12.1\n");
  system.add_file("/home/u/.pyenv/shims/python3",
                  "#!/usr/bin/env bash\nexec \"/home/u/.pyenv/libexec/pyenv\" exec \"$program\"\n",
                  0755);
  const auto python = probe(system);
  ASSERT_TRUE(python.interpreter.is_known());
  EXPECT_EQ(python.interpreter->path, "/home/u/.pyenv/versions/3.12.1/bin/python3");
  EXPECT_EQ(python.interpreter->kind, "pyenv");
  EXPECT_EQ(python.interpreter.source(), "PATH (pyenv, by /home/u/.pyenv/version)");
}

}  // namespace
}  // namespace gpuwright
