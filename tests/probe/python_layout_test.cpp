#include "probe/python_layout.h"

#include <gtest/gtest.h>

#include "python_tree.h"

namespace gpuwright {
namespace {

PythonLayout layout_of(const MemorySystem& system, const std::string& executable,
                       const EnvironmentBlock& environment = {}) {
  const auto layout = find_python_layout(system, environment, executable);
  EXPECT_TRUE(layout.has_value()) << (layout ? "" : layout.error().text());
  return layout.value_or(PythonLayout{});
}

std::string refusal_of(const MemorySystem& system, const std::string& executable) {
  const auto layout = find_python_layout(system, {}, executable);
  return layout ? "accepted" : layout.error().text();
}

TEST(PyvenvCfg, IsReadAsVenvVirtualenvAndUvWriteIt) {
  EXPECT_EQ(parse_pyvenv_cfg("home = /usr/bin\n"
                             "include-system-site-packages = false\n"
                             "version = 3.11.2\n"
                             "executable = /usr/bin/python3.11\n"
                             "command = /usr/bin/python3 -m venv --copies /tmp/a=b\n"),
            (VenvConfig{"/usr/bin", false, "3.11.2"}));
  EXPECT_EQ(parse_pyvenv_cfg("home = /root/.pyenv/versions/3.11.7/bin\n"
                             "implementation = CPython\n"
                             "version_info = 3.11.7.final.0\n"
                             "virtualenv = 20.25.0\n"
                             "include-system-site-packages = true\n"),
            (VenvConfig{"/root/.pyenv/versions/3.11.7/bin", true, "3.11.7"}));
  EXPECT_EQ(
      parse_pyvenv_cfg("home = /home/u/.local/share/uv/python/cpython-3.12.3-linux-x86_64-gnu/bin\n"
                       "implementation = CPython\n"
                       "uv = 0.5.1\n"
                       "version_info = 3.12.3\n"
                       "include-system-site-packages = false\n"),
      (VenvConfig{"/home/u/.local/share/uv/python/cpython-3.12.3-linux-x86_64-gnu/bin", false,
                  "3.12.3"}));
}

TEST(PyvenvCfg, IsOpenUnlessItSaysFalseAndItsKeysHaveNoCase) {
  EXPECT_TRUE(parse_pyvenv_cfg("home = /usr/bin").system_site);
  EXPECT_TRUE(parse_pyvenv_cfg("Include-System-Site-Packages=TRUE").system_site);
  EXPECT_FALSE(parse_pyvenv_cfg("include-system-site-packages = no").system_site);
  EXPECT_EQ(parse_pyvenv_cfg("a line without the sign\n= \n"), VenvConfig{});
}

TEST(PythonSeries, IsTakenFromProgramsAndLibraries) {
  EXPECT_EQ(parse_python_series("python3.11"), "3.11");
  EXPECT_EQ(parse_python_series("python3.13t"), "3.13t");
  EXPECT_EQ(parse_python_series("python3.6m"), "3.6");
  EXPECT_EQ(parse_python_series("libpython3.12.so.1.0"), "3.12");
  EXPECT_EQ(parse_python_series("libpython3.13t.so.1.0"), "3.13t");
  EXPECT_EQ(parse_python_series("python3"), "");
  EXPECT_EQ(parse_python_series("python"), "");
  EXPECT_EQ(parse_python_series("pypy3.10"), "");
  EXPECT_EQ(parse_python_series("python3."), "");
}

TEST(Patchlevel, GivesTheFullVersion) {
  EXPECT_EQ(parse_patchlevel("#define PY_MICRO_VERSION        7\n"
                             "/* Version as a string */\n"
                             "#define PY_VERSION      \t\"3.11.7\"\n"
                             "#define PY_VERSION_HEX ((PY_MAJOR_VERSION << 24))\n"),
            "3.11.7");
  EXPECT_EQ(parse_patchlevel("#define PY_VERSION nothing"), "");
}

TEST(PythonLayout, OfTheSystemIsFoundThroughLinks) {
  MemorySystem system;
  add_debian_python(system, "3.11");
  const auto layout = layout_of(system, "/usr/bin/python3");
  EXPECT_EQ(layout.real_executable, "/usr/bin/python3.11");
  EXPECT_EQ(layout.series, "3.11");
  EXPECT_EQ(layout.prefix, "/usr");
  EXPECT_EQ(layout.base_prefix, "/usr");
  EXPECT_EQ(layout.standard_library(), "/usr/lib/python3.11");
  EXPECT_EQ(layout.version->text(), "3.11");
  EXPECT_TRUE(layout.libc.is("glibc"));
  EXPECT_FALSE(layout.venv.has_value());
}

TEST(PythonLayout, OfAVenvRunsTheBaseInterpreter) {
  MemorySystem system;
  add_python(system, "/opt/python", "3.12");
  system.add_file("/opt/python/include/python3.12/patchlevel.h", "#define PY_VERSION \"3.12.5\"\n");
  add_venv(system, "/work/.venv", "/opt/python", "3.12", "version = 3.12.1\n");
  const auto layout = layout_of(system, "/work/.venv/bin/python3");
  EXPECT_EQ(layout.executable, "/work/.venv/bin/python3");
  EXPECT_EQ(layout.real_executable, "/opt/python/bin/python3.12");
  EXPECT_EQ(layout.prefix, "/work/.venv");
  EXPECT_EQ(layout.base_prefix, "/opt/python");
  // The base was upgraded after the venv was made: what runs counts.
  EXPECT_EQ(layout.version->text(), "3.12.5");
}

TEST(PythonLayout, TakesTheVersionOfAVenvsNoteWhereNothingElseTells) {
  MemorySystem system;
  add_debian_python(system, "3.11");
  add_venv(system, "/work/venv", "/usr", "3.11", "version = 3.11.2\n");
  EXPECT_EQ(layout_of(system, "/work/venv/bin/python").version->text(), "3.11.2");
  // After a distribution upgrade the note is about another Python than the one that runs.
  add_venv(system, "/work/old", "/usr", "3.11", "version = 3.9.2\n");
  EXPECT_EQ(layout_of(system, "/work/old/bin/python").version->text(), "3.11");
}

TEST(PythonLayout, OfAVenvMadeOfCopiesIsFoundThroughHome) {
  MemorySystem system;
  add_python(system, "/opt/python", "3.12");
  system.add_file("/v/bin/python", python_program(), 0755);
  system.add_file("/v/pyvenv.cfg", "home = /opt/python/bin\nversion = 3.12.1\n");
  const auto layout = layout_of(system, "/v/bin/python");
  EXPECT_EQ(layout.real_executable, "/v/bin/python");
  EXPECT_EQ(layout.series, "3.12");
  EXPECT_EQ(layout.base_prefix, "/opt/python");
}

TEST(PythonLayout, OfAUvManagedPythonIsItsOwnPrefix) {
  MemorySystem system;
  const std::string base = "/home/u/.local/share/uv/python/cpython-3.12.3-linux-x86_64-gnu";
  add_python(system, base, "3.12");
  add_venv(system, "/p/.venv", base, "3.12", "uv = 0.5.1\nversion_info = 3.12.3\n");
  const auto layout = layout_of(system, "/p/.venv/bin/python");
  EXPECT_EQ(layout.base_prefix, base);
  EXPECT_EQ(layout.version->text(), "3.12.3");
}

TEST(PythonLayout, OfFedoraKeepsTheLibraryInLib64) {
  MemorySystem system;
  add_python(system, "/usr", "3.12", "lib64");
  system.add_directory("/usr/lib/python3.12/site-packages");
  const auto layout = layout_of(system, "/usr/bin/python3");
  EXPECT_EQ(layout.library_directory, "lib64");
  EXPECT_EQ(layout.standard_library(), "/usr/lib64/python3.12");
}

TEST(PythonLayout, OfAFreeThreadedBuildHasDirectoriesOfItsOwn) {
  MemorySystem system;
  add_python(system, "/opt/free", "3.13t");
  const auto layout = layout_of(system, "/opt/free/bin/python3");
  EXPECT_EQ(layout.series, "3.13t");
  EXPECT_EQ(layout.standard_library(), "/opt/free/lib/python3.13t");
  EXPECT_EQ(standard_library_zip(layout.series), "python313t.zip");
  EXPECT_EQ(layout.version->text(), "3.13");
}

TEST(PythonLayout, TakesTheVersionOfCondaFromItsRecord) {
  MemorySystem system;
  add_python(system, "/opt/conda", "3.12");
  system.add_file("/opt/conda/conda-meta/python-3.12.3-hab00c5b_0_cpython.json", "{}");
  system.add_file("/opt/conda/conda-meta/python-dateutil-2.9.0-pyhd8ed1ab_0.json", "{}");
  EXPECT_EQ(layout_of(system, "/opt/conda/bin/python3").version->text(), "3.12.3");
}

TEST(PythonLayout, BelievesPythonHome) {
  MemorySystem system;
  add_python(system, "/opt/python", "3.12");
  const auto layout = layout_of(system, "/opt/python/bin/python3", {{"PYTHONHOME", "/x:/y"}});
  EXPECT_EQ(layout.base_prefix, "/x");
  EXPECT_EQ(layout.base_exec_prefix, "/y");
}

TEST(PythonLayout, KnowsMuslAndStaticInterpreters) {
  MemorySystem system;
  add_python(system, "/usr", "3.12");
  system.add_file("/usr/bin/python3.12", python_program("/lib/ld-musl-x86_64.so.1"), 0755);
  EXPECT_TRUE(layout_of(system, "/usr/bin/python3").libc.is("musl"));
  system.add_file("/usr/bin/python3.12", python_program(""), 0755);
  EXPECT_TRUE(layout_of(system, "/usr/bin/python3").libc.is_absent());
  system.add_file("/usr/bin/python3.12", python_program("/lib/ld-uClibc.so.0"), 0755);
  EXPECT_TRUE(layout_of(system, "/usr/bin/python3").libc.is_unknown());
}

TEST(PythonLayout, FollowsALinkWithoutAVersionByTheOneLibraryThere) {
  MemorySystem system;
  add_python(system, "/opt/python", "3.12");
  system.add_file("/opt/python/bin/python", python_program(), 0755);
  EXPECT_EQ(layout_of(system, "/opt/python/bin/python").series, "3.12");
  add_python(system, "/opt/python", "3.13");
  EXPECT_EQ(refusal_of(system, "/opt/python/bin/python"),
            "/opt/python/bin/python: is no CPython whose version could be told");
}

TEST(PythonLayout, RefusesWhatCannotBeStartedWithOneReason) {
  MemorySystem system;
  system.add_directory("/d/python");
  system.add_link("/d/dangling", "/opt/gone/bin/python3");
  system.add_link("/d/loop", "loop");
  system.add_file("/d/plain", python_program(), 0644);
  system.add_file("/d/script", "#!/bin/sh\nexec python3 \"$@\"\n", 0755);
  system.add_file("/d/text", "hello", 0755);
  system.add_file("/d/empty", "", 0755);
  system.add_file("/d/locked/python", "", 0755);
  system.set_error("/d/locked", EACCES);
  EXPECT_EQ(refusal_of(system, "/d/python"), "/d/python: is a directory, not an interpreter");
  EXPECT_EQ(refusal_of(system, "/d/dangling"),
            "/d/dangling: is a link to /opt/gone/bin/python3, which is not there");
  EXPECT_EQ(refusal_of(system, "/d/plain"), "/d/plain: is not executable");
  EXPECT_EQ(refusal_of(system, "/d/script"), "/d/script: is a script that starts another program");
  EXPECT_EQ(refusal_of(system, "/d/missing"), "/d/missing: No such file or directory");
  EXPECT_EQ(refusal_of(system, "/d/locked/python"), "/d/locked/python: Permission denied");
  EXPECT_NE(refusal_of(system, "/d/loop").find("symbolic links"), std::string::npos);
  for (const auto* path : {"/d/text", "/d/empty"})
    EXPECT_NE(refusal_of(system, path).find("is not a program of this machine"), std::string::npos);
}

TEST(PythonLayout, SaysWhenTheStandardLibraryIsMissing) {
  MemorySystem system;
  system.add_file("/opt/bare/bin/python3.12", python_program(), 0755);
  const auto layout = layout_of(system, "/opt/bare/bin/python3.12");
  EXPECT_FALSE(layout.standard_library_found);
  EXPECT_EQ(layout.base_prefix, "/opt/bare");
}

TEST(AbsolutePath, FoldsTheTextAsPythonDoes) {
  EXPECT_EQ(absolute_path("/w", "a/./b/../c//d"), "/w/a/c/d");
  EXPECT_EQ(absolute_path("/w", ""), "/w");
  EXPECT_EQ(absolute_path("/w", "../../.."), "/");
  EXPECT_EQ(absolute_path("/w", "/x/"), "/x");
}

TEST(HomeDirectory, IsHomeOrTheUsersEntry) {
  MemorySystem system;
  system.who.uid = 1000;
  system.add_file("/etc/passwd",
                  "root:x:0:0:root:/root:/bin/sh\nu:x:1000:1000:,,,:/home/u:/bin/sh\n");
  EXPECT_EQ(home_directory(system, {{"HOME", "/elsewhere"}}), "/elsewhere");
  EXPECT_EQ(home_directory(system, {}), "/home/u");
}

}  // namespace
}  // namespace gpuwright
