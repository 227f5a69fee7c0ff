#include "probe/python_path.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "python_tree.h"

namespace gpuwright {
namespace {

constexpr const char* kFedoraSite =
    "    if ENABLE_USER_SITE and 'RPM_BUILD_ROOT' not in os.environ:\n"
    "        PREFIXES.insert(0, \"/usr/local\")\n";

class PythonPath : public testing::Test {
 protected:
  PythonPath() { environment_["HOME"] = "/home/u"; }

  SearchPath search(const std::string& executable) const {
    const auto layout = find_python_layout(system_, environment_, executable);
    EXPECT_TRUE(layout.has_value()) << (layout ? "" : layout.error().text());
    return find_search_path(system_, environment_, layout.value_or(PythonLayout{}));
  }

  std::vector<std::string> paths(const std::string& executable) const {
    std::vector<std::string> found;
    for (const auto& entry : search(executable).entries) found.push_back(entry.path);
    return found;
  }

  std::string origin(const std::string& executable, const std::string& path) const {
    for (const auto& entry : search(executable).entries)
      if (entry.path == path) return entry.origin;
    return "not there";
  }

  MemorySystem system_;
  EnvironmentBlock environment_;
};

using Paths = std::vector<std::string>;

TEST_F(PythonPath, OfDebianHasDistPackages) {
  add_debian_python(system_, "3.11");
  EXPECT_EQ(
      paths("/usr/bin/python3"),
      (Paths{"/usr/lib/python311.zip", "/usr/lib/python3.11", "/usr/lib/python3.11/lib-dynload",
             "/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"}));
  const auto found = search("/usr/bin/python3");
  EXPECT_FALSE(found.entries[0].exists);
  EXPECT_TRUE(found.entries[1].exists);
  EXPECT_EQ(found.entries[1].origin, "standard library");
  EXPECT_EQ(found.entries[3].origin, "site-packages");
  EXPECT_EQ(found.unknowns, Paths{});
}

TEST_F(PythonPath, OfAClosedVenvHasOnlyItsOwnPackages) {
  add_debian_python(system_, "3.11");
  system_.add_directory("/home/u/.local/lib/python3.11/site-packages");
  add_venv(system_, "/v", "/usr", "3.11", kClosed);
  EXPECT_EQ(paths("/v/bin/python"),
            (Paths{"/usr/lib/python311.zip", "/usr/lib/python3.11",
                   "/usr/lib/python3.11/lib-dynload", "/v/lib/python3.11/site-packages"}));
  EXPECT_FALSE(search("/v/bin/python").user_site);
}

TEST_F(PythonPath, OfAnOpenVenvGoesOnWithTheUserAndTheBase) {
  add_debian_python(system_, "3.11");
  system_.add_directory("/home/u/.local/lib/python3.11/site-packages");
  add_venv(system_, "/v", "/usr", "3.11", kOpen);
  const auto found = paths("/v/bin/python");
  EXPECT_EQ(Paths(found.begin() + 3, found.end()),
            (Paths{"/v/lib/python3.11/site-packages", "/home/u/.local/lib/python3.11/site-packages",
                   "/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"}));
  EXPECT_TRUE(search("/v/bin/python").user_site);
}

TEST_F(PythonPath, HasTheUsersPackagesBeforeTheBases) {
  add_python(system_, "/opt/python", "3.12");
  system_.add_directory("/opt/python/lib/python3.12/site-packages");
  EXPECT_FALSE(search("/opt/python/bin/python3").user_site);
  system_.add_directory("/home/u/.local/lib/python3.12/site-packages");
  const auto found = paths("/opt/python/bin/python3");
  EXPECT_EQ(found[3], "/home/u/.local/lib/python3.12/site-packages");
  EXPECT_EQ(found[4], "/opt/python/lib/python3.12/site-packages");
  EXPECT_EQ(origin("/opt/python/bin/python3", found[3]), "user site");
}

TEST_F(PythonPath, LeavesTheUserOutWhenToldAndMovesItWithPythonUserBase) {
  add_python(system_, "/opt/python", "3.12");
  system_.add_directory("/home/u/.local/lib/python3.12/site-packages");
  system_.add_directory("/base/lib/python3.12/site-packages");
  environment_["PYTHONNOUSERSITE"] = "1";
  EXPECT_FALSE(search("/opt/python/bin/python3").user_site);
  environment_["PYTHONNOUSERSITE"] = "";
  EXPECT_TRUE(search("/opt/python/bin/python3").user_site);
  environment_["PYTHONUSERBASE"] = "/base";
  EXPECT_EQ(paths("/opt/python/bin/python3")[3], "/base/lib/python3.12/site-packages");
}

TEST_F(PythonPath, OfFedoraHasUsrLocalFirstAndBothLibraryDirectories) {
  add_python(system_, "/usr", "3.12", "lib64", kFedoraSite);
  for (const auto* prefix : {"/usr", "/usr/local"})
    for (const auto* library : {"/lib", "/lib64"})
      system_.add_directory(std::string(prefix) + library + "/python3.12/site-packages");
  const auto found = paths("/usr/bin/python3");
  EXPECT_EQ(found,
            (Paths{"/usr/lib64/python312.zip", "/usr/lib64/python3.12",
                   "/usr/lib64/python3.12/lib-dynload", "/usr/local/lib64/python3.12/site-packages",
                   "/usr/local/lib/python3.12/site-packages", "/usr/lib64/python3.12/site-packages",
                   "/usr/lib/python3.12/site-packages"}));
  environment_["RPM_BUILD_ROOT"] = "/build";
  EXPECT_EQ(paths("/usr/bin/python3").size(), 5U);
  environment_.erase("RPM_BUILD_ROOT");
  environment_["PYTHONNOUSERSITE"] = "1";
  EXPECT_EQ(paths("/usr/bin/python3").size(), 5U);
}

TEST_F(PythonPath, OfAVenvOnFedoraHasLib64BesideLib) {
  add_python(system_, "/usr", "3.12", "lib64", kFedoraSite);
  add_venv(system_, "/v", "/usr", "3.12", kClosed);
  const auto found = paths("/v/bin/python");
  EXPECT_EQ(Paths(found.begin() + 3, found.end()),
            (Paths{"/v/lib64/python3.12/site-packages", "/v/lib/python3.12/site-packages"}));
}

TEST_F(PythonPath, OfAFreeThreadedBuildHasDirectoriesOfItsOwn) {
  add_python(system_, "/opt/free", "3.13t");
  system_.add_directory("/opt/free/lib/python3.13t/site-packages");
  system_.add_directory("/opt/free/lib/python3.13/site-packages");
  system_.add_directory("/home/u/.local/lib/python3.13t/site-packages");
  EXPECT_EQ(paths("/opt/free/bin/python3"),
            (Paths{"/opt/free/lib/python313t.zip", "/opt/free/lib/python3.13t",
                   "/opt/free/lib/python3.13t/lib-dynload",
                   "/home/u/.local/lib/python3.13t/site-packages",
                   "/opt/free/lib/python3.13t/site-packages"}));
}

TEST_F(PythonPath, BeginsWithPythonPathAsItIsMadeAbsolute) {
  add_python(system_, "/opt/python", "3.12");
  system_.cwd = "/work";
  system_.add_directory("/work");
  environment_["PYTHONPATH"] = "/a/../b:relative::/b/:/opt/python/lib/python3.12";
  const auto found = search("/opt/python/bin/python3");
  EXPECT_EQ(found.entries[0], (SysPathEntry{"/b", "PYTHONPATH", false}));
  EXPECT_EQ(found.entries[1], (SysPathEntry{"/work/relative", "PYTHONPATH", false}));
  EXPECT_EQ(found.entries[2], (SysPathEntry{"/work", "PYTHONPATH", true}));
  EXPECT_EQ(found.entries[3], (SysPathEntry{"/opt/python/lib/python3.12", "PYTHONPATH", true}));
  EXPECT_EQ(found.entries[4].path, "/opt/python/lib/python312.zip");
  EXPECT_EQ(found.entries.size(), 6U);
}

TEST_F(PythonPath, FollowsPthFilesInOrderOfTheirNames) {
  add_python(system_, "/opt/python", "3.12");
  add_venv(system_, "/v", "/opt/python", "3.12", kClosed);
  const std::string site = "/v/lib/python3.12/site-packages";
  system_.add_file(site + "/b.pth", "/src/second\n");
  system_.add_file(site + "/__editable__.mine-1.0.pth", "/src/mine\n");
  system_.add_file(site + "/a.pth", "# comment\n\ninside\n/src/missing\n/src/first  \n");
  for (const auto* directory : {"/src/first", "/src/second", "/src/mine"})
    system_.add_directory(directory);
  system_.add_directory(site + "/inside");
  const auto found = paths("/v/bin/python");
  EXPECT_EQ(Paths(found.begin() + 3, found.end()),
            (Paths{site, "/src/mine", site + "/inside", "/src/first", "/src/second"}));
  EXPECT_EQ(origin("/v/bin/python", "/src/second"), "b.pth");
  EXPECT_EQ(search("/v/bin/python").unknowns, Paths{});
}

TEST_F(PythonPath, SaysWhatRunsCodeUnlessItIsKnownToBeHarmless) {
  add_python(system_, "/opt/python", "3.12");
  add_venv(system_, "/v", "/opt/python", "3.12", kClosed);
  const std::string site = "/v/lib/python3.12/site-packages";
  for (const auto* name : {"distutils-precedence.pth", "_virtualenv.pth", "google-nspkg.pth",
                           "strange.pth", "__editable___mine_1_0_finder.pth"})
    system_.add_file(site + "/" + name, "import something; something.install()\n");
  EXPECT_EQ(search("/v/bin/python").unknowns,
            (Paths{site + "/__editable___mine_1_0_finder.pth runs code: an import hook finds the "
                          "packages of an editable install",
                   site + "/strange.pth runs code"}));
}

TEST_F(PythonPath, SaysWhatCouldNotBeRead) {
  add_python(system_, "/opt/python", "3.12");
  add_venv(system_, "/v", "/opt/python", "3.12", kClosed);
  const std::string site = "/v/lib/python3.12/site-packages";
  system_.set_error(site + "/locked.pth", EACCES);
  EXPECT_EQ(search("/v/bin/python").unknowns, Paths{site + "/locked.pth: Permission denied"});
  system_.set_error(site, EACCES);
  EXPECT_EQ(search("/v/bin/python").unknowns, Paths{site + ": Permission denied"});
}

TEST_F(PythonPath, SaysThatCustomizationModulesRunCodeButNotDebiansOwn) {
  add_debian_python(system_, "3.11");
  system_.add_file("/etc/python3.11/sitecustomize.py", "");
  system_.add_link("/usr/lib/python3.11/sitecustomize.py", "/etc/python3.11/sitecustomize.py");
  EXPECT_EQ(search("/usr/bin/python3").unknowns, Paths{});
  system_.add_file("/extra/sitecustomize.py", "");
  system_.add_file("/extra/usercustomize.py", "");
  environment_["PYTHONPATH"] = "/extra";
  EXPECT_EQ(search("/usr/bin/python3").unknowns,
            (Paths{"/extra/sitecustomize.py runs code", "/extra/usercustomize.py runs code"}));
}

TEST_F(PythonPath, SaysWhenTheStandardLibraryIsMissing) {
  system_.add_file("/opt/bare/bin/python3.12", python_program(), 0755);
  EXPECT_EQ(search("/opt/bare/bin/python3.12").unknowns,
            Paths{"the standard library of /opt/bare/bin/python3.12 was not found"});
}

TEST(SiteRules, AreReadFromTheInterpretersOwnSitePy) {
  using Scheme = SiteRules::Scheme;
  EXPECT_EQ(parse_site_rules("\"site-packages\")\n").scheme, Scheme::kUpstream);
  // Its documentation names dist-packages without quotation marks too.
  EXPECT_EQ(parse_site_rules("lib/python3/dist-packages.\n").scheme, Scheme::kUpstream);
  EXPECT_EQ(parse_site_rules("        \"dist-packages\"))\n").scheme, Scheme::kDebian);
  EXPECT_EQ(parse_site_rules(kFedoraSite).scheme, Scheme::kFedora);
  EXPECT_TRUE(parse_site_rules("if name.endswith(\".pth\") and not name.startswith(\".\")]")
                  .skips_hidden_pth);
}

TEST(PthFile, StopsWherePythonWouldStop) {
  EXPECT_EQ(parse_pth("\xef\xbb\xbf/a\r\nimport\tos\n  /b \n"), (PthFile{{"/a", "  /b"}, true}));
  EXPECT_EQ(parse_pth(std::string_view("/a\n/b\0c\n/d\n", 11)), (PthFile{{"/a"}, false}));
  EXPECT_EQ(parse_pth("importlib_path\n"), (PthFile{{"importlib_path"}, false}));
}

}  // namespace
}  // namespace gpuwright
