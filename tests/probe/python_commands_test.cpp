#include <gtest/gtest.h>

#include "probe/framework.h"
#include "probe/python_distributions.h"
#include "probe/python_kernels.h"
#include "probe/python_launchers.h"
#include "probe/python_shadows.h"
#include "python_tree.h"

// What surrounds the chosen interpreter: commands on PATH, Jupyter's kernels, files in the way.

namespace gpuwright {
namespace {

using Texts = std::vector<std::string>;

TEST(ScriptInterpreter, StandsInTheFirstLine) {
  EXPECT_EQ(parse_script_interpreter("#!/venv/bin/python\nimport sys\n"), "/venv/bin/python");
  EXPECT_EQ(parse_script_interpreter("#! /usr/bin/python3 -E\n"), "/usr/bin/python3");
  EXPECT_EQ(parse_script_interpreter("#!/usr/bin/env python3\n"), "python3");
  EXPECT_EQ(parse_script_interpreter("#!/usr/bin/env -S A=1 python3.11 -s\n"), "python3.11");
  EXPECT_EQ(
      parse_script_interpreter("#!/bin/sh\n'''exec' \"/a long/way/bin/python\" \"$0\" \"$@\"\n"),
      "/a long/way/bin/python");
  EXPECT_EQ(parse_script_interpreter("#!/bin/sh\n'''exec' /v/bin/python3 \"$0\" \"$@\"\n"),
            "/v/bin/python3");
}

TEST(ScriptInterpreter, IsNoneOfAnythingElse) {
  for (const auto* text : {"", "#!", "#!\n", "#!/bin/bash\necho\n", "#!/bin/sh\nexec python\n",
                           "import sys\n", "#!/usr/bin/env bash\n",
                           "\x7f"
                           "ELF"})
    EXPECT_EQ(parse_script_interpreter(text), "") << text;
}

std::string described(const std::vector<Launcher>& launchers, const std::string& command) {
  for (const auto& launcher : launchers)
    if (launcher.command == command)
      return launcher.path + " " +
             (launcher.prefix.is_known() ? *launcher.prefix : launcher.prefix.reason());
  return "none";
}

TEST(Launchers, ActOnTheEnvironmentOfTheirInterpreter) {
  MemorySystem system;
  add_python(system, "/usr", "3.11");
  add_venv(system, "/venv", "/usr", "3.11", kClosed);
  system.add_file("/usr/bin/pip", "#!/usr/bin/python3\nimport pip\n", 0755);
  system.add_file("/usr/bin/jupyter", "#!/bin/bash\n", 0755);
  const EnvironmentBlock environment{{"PATH", "/venv/bin:/usr/bin"}, {"HOME", "/root"}};
  const auto launchers = find_launchers(system, environment);
  EXPECT_EQ(described(launchers, "pip"), "/usr/bin/pip /usr");
  EXPECT_EQ(described(launchers, "python"), "/venv/bin/python /venv");
  EXPECT_EQ(described(launchers, "ipython"), "none");
  EXPECT_EQ(described(launchers, "jupyter"), "/usr/bin/jupyter its first line names no Python");
}

TEST(KernelSpec, HasProgramTitleAndVariables) {
  const auto spec = parse_kernel_spec(
      "{\"argv\": [\"/venv/bin/python\", \"-m\", \"ipykernel_launcher\"],"
      "\"display_name\": \"Python (tf)\", \"language\": \"python\","
      "\"env\": {\"CUDA_VISIBLE_DEVICES\": \"\", \"n\": 3}}");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->program, "/venv/bin/python");
  EXPECT_EQ(spec->title, "Python (tf)");
  EXPECT_EQ(spec->variables, (std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", ""}}));
}

TEST(KernelSpec, IsNoneOfAnythingElse) {
  for (const auto* text : {"", "[]", "{}", "{\"argv\": []}", "{\"argv\": [1]}",
                           "{\"argv\": [\"julia\"], \"language\": \"julia\"}", "{\"argv\": ["})
    EXPECT_FALSE(parse_kernel_spec(text)) << text;
}

TEST(Kernels, OfOtherEnvironmentsAndOfGoneOnes) {
  MemorySystem system;
  add_python(system, "/usr", "3.11");
  add_venv(system, "/venv", "/usr", "3.11", kClosed);
  system.add_file("/venv/share/jupyter/kernels/python3/kernel.json", R"({"argv": ["python"]})");
  const std::string user = "/root/.local/share/jupyter/kernels/";
  system.add_file(user + "old/kernel.json", R"({"argv": ["/gone/bin/python"]})");
  system.add_file(user + "base/kernel.json", R"({"argv": ["/usr/bin/python3"]})");
  system.add_file(user + "bare/kernel.json", R"({"argv": ["python3"]})");
  Interpreter chosen;
  chosen.prefix = "/venv";
  const auto kernels = find_kernels(system, {{"HOME", "/root"}}, chosen);
  ASSERT_TRUE(kernels.is_known());
  ASSERT_EQ(kernels->size(), 4U);
  EXPECT_TRUE((*kernels)[0].prefix.is_unknown()) << (*kernels)[0].name;
  EXPECT_TRUE((*kernels)[1].prefix.is("/usr")) << (*kernels)[1].name;
  EXPECT_TRUE((*kernels)[2].prefix.is_absent());
  EXPECT_TRUE((*kernels)[3].prefix.is("/venv"));
  EXPECT_TRUE(find_kernels(MemorySystem(), {{"HOME", "/root"}}, chosen).is_absent());
}

Texts shadows(const MemorySystem& system, const std::vector<SysPathEntry>& path) {
  Texts found;
  for (const auto& shadow : find_shadows(system, path))
    found.push_back(shadow.module + " " + shadow.path + " hides '" + shadow.hides + "'");
  return found;
}

const std::vector<SysPathEntry> kPath = {{"/lib/python3.11", "standard library", true},
                                         {"/site", "site-packages", true}};

TEST(Shadows, OfTheWorkingDirectory) {
  MemorySystem system;
  system.cwd = "/work";
  system.add_file("/site/torch/__init__.py", "");
  system.add_file("/work/torch.py", "");
  system.add_file("/work/random.py", "");
  system.add_file("/work/tensorflow.py", "");  // not installed: nothing is hidden
  EXPECT_EQ(shadows(system, kPath),
            (Texts{"torch /work/torch.py hides '/site/torch'", "random /work/random.py hides ''"}));
}

TEST(Shadows, AreNoneWhereTheNameIsThePackagesOwn) {
  MemorySystem system;
  system.cwd = "/work";
  system.add_file("/work/__init__.py", "");
  system.add_file("/work/types.py", "");
  system.add_file("/site/torch/__init__.py", "");
  EXPECT_EQ(shadows(system, kPath), Texts{});
  system.cwd = "/site";
  EXPECT_EQ(shadows(system, kPath), Texts{});
}

TEST(Shadows, OfASourceTree) {
  MemorySystem system;
  system.cwd = "/src/pytorch";
  system.add_file("/src/pytorch/torch/__init__.py", "");
  system.add_file("/site/torch/__init__.py", "");
  EXPECT_EQ(shadows(system, kPath), Texts{"torch /src/pytorch/torch hides '/site/torch'"});
  auto editable = kPath;
  editable.push_back({"/src/pytorch", "editable.pth", true});
  EXPECT_EQ(shadows(system, editable), Texts{});
}

TEST(Shadows, OfPythonpath) {
  MemorySystem system;
  system.add_file("/site/numpy/__init__.py", "");
  system.add_file("/mine/numpy.py", "");
  auto path = kPath;
  path.insert(path.begin(), SysPathEntry{"/mine", "PYTHONPATH", true});
  EXPECT_EQ(shadows(system, path), Texts{"numpy /mine/numpy.py hides '/site/numpy'"});
}

// The user's site stands behind that of a virtual environment, and before that of the system.
TEST(Shadows, AreNoneBehindWhatIsTaken) {
  MemorySystem system;
  system.add_file("/site/numpy/__init__.py", "");
  system.add_file("/user/numpy.py", "");
  auto path = kPath;
  path.push_back({"/user", "user site", true});
  EXPECT_EQ(shadows(system, path), Texts{});
  std::swap(path[1], path[2]);
  EXPECT_EQ(shadows(system, path), Texts{"numpy /user/numpy.py hides '/site/numpy'"});
}

// The heads of tensorflow 2.17.1 and of torch 2.5.1, shortened.
TEST(MetadataHead, HasRequirementsWithoutExtras) {
  const auto head = parse_metadata_head(
      "Metadata-Version: 2.1\nName: tensorflow\nRequires-Python: >=3.9\n"
      "Requires-Dist: keras >=3.2.0\n"
      "Requires-Dist: numpy <2.0.0,>=1.23.5 ; python_version <= \"3.11\"\n"
      "Provides-Extra: and-cuda\n"
      "Requires-Dist: nvidia-cudnn-cu12 ==8.9.7.29 ; extra == 'and-cuda'\n\n"
      "Requires-Dist: described >=1\n");
  EXPECT_EQ(head.requires_python, ">=3.9");
  EXPECT_EQ(head.requirements,
            (Texts{"keras >=3.2.0", "numpy <2.0.0,>=1.23.5 ; python_version <= \"3.11\""}));
  EXPECT_TRUE(parse_metadata_head("").requirements.empty());
}

TEST(WheelTag, IsTheFirst) {
  EXPECT_EQ(parse_wheel_tag("Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_17_x86_64\n"
                            "Tag: cp312-cp312-manylinux2014_x86_64\n"),
            "cp312-cp312-manylinux_2_17_x86_64");
  EXPECT_EQ(parse_wheel_tag("Wheel-Version: 1.0\n"), "");
}

TEST(Metadata, IsReadForGpuPackagesOnly) {
  MemorySystem system;
  system.add_file("/s/jax-0.4.38.dist-info/METADATA", "Requires-Dist: jaxlib<=0.4.38,>=0.4.38\n");
  system.add_file("/s/jax-0.4.38.dist-info/WHEEL", "Tag: py3-none-any\n");
  system.add_file("/s/requests-2.0.dist-info/METADATA", "Requires-Dist: idna\n");
  auto distributions = distributions_in(system, "/s");
  read_metadata(system, distributions);
  ASSERT_EQ(distributions.size(), 2U);
  EXPECT_EQ(distributions[0].requirements, Texts{"jaxlib<=0.4.38,>=0.4.38"});
  EXPECT_EQ(distributions[0].tag, "py3-none-any");
  EXPECT_TRUE(distributions[1].requirements.empty());
}

TEST(CondaBuild, IsTheLastPartOfTheRecordsName) {
  const auto build = parse_conda_build("tensorflow-base-2.19.1-cuda128py312h9ab3b26_1.json");
  ASSERT_TRUE(build);
  EXPECT_EQ(build->name + " " + build->version + " " + build->build,
            "tensorflow-base 2.19.1 cuda128py312h9ab3b26_1");
  for (const auto* text : {"history", "one-two.json", "-.json", ".json"})
    EXPECT_FALSE(parse_conda_build(text)) << text;
}

}  // namespace
}  // namespace gpuwright
