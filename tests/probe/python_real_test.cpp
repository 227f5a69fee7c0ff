// The model of getpath and site.py against the interpreters of this machine: every Python that is
// found, in every layout that can be made from it, under several environments. The interpreters run
// here and nowhere else.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/system.h"
#include "base/text.h"
#include "base/version.h"
#include "probe/python_distributions.h"
#include "probe/python_layout.h"
#include "probe/python_path.h"

namespace gpuwright {
namespace {

namespace fs = std::filesystem;

// Prints what is compared, one value a line, the entries of sys.path last.
constexpr const char* kAsk =
    "import os, sys\n"
    "print(sys.prefix); print(getattr(sys, \"base_prefix\", sys.prefix)); print(sys.executable)\n"
    "print(os.readlink(\"/proc/self/exe\"))\n"
    "print(\"%d.%d.%d\" % sys.version_info[:3])\n"
    "for p in sys.path[sys.path[0] == \"\":]: print(p)\n";

// Normalised name and version of each distribution, as importlib.metadata finds them.
constexpr const char* kAskDistributions =
    "import re, importlib.metadata as m\n"
    "for d in m.distributions():\n"
    "    if d.metadata[\"Name\"]:\n"
    "        print(re.sub(\"[-_.]+\", \"-\", d.metadata[\"Name\"]).lower(), d.version)\n";

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return text;
  char part[4096];
  while (const auto got = std::fread(part, 1, sizeof part, pipe)) text.append(part, got);
  ::pclose(pipe);
  return text;
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

// `python -c code` with this environment block and no other.
std::vector<std::string> ask(const std::string& python, const EnvironmentBlock& environment,
                             const std::string& code) {
  std::string command = "env -i";
  for (const auto& [name, value] : environment) command += " " + quoted(name + "=" + value);
  const auto text = output_of(command + " " + quoted(python) + " -c " + quoted(code));
  std::vector<std::string> found;
  for (const auto line : lines(text)) found.emplace_back(line);
  return found;
}

// The same values from files alone. The version is left as exact as the answer allows.
std::vector<std::string> predict(const System& system, const std::string& python,
                                 const EnvironmentBlock& environment) {
  const auto layout = find_python_layout(system, environment, python);
  if (!layout) return {layout.error().text()};
  std::vector<std::string> found = {layout->prefix, layout->base_prefix, layout->executable,
                                    layout->real_executable, layout->version->text()};
  for (const auto& entry : find_search_path(system, environment, *layout).entries)
    found.push_back(entry.path);
  return found;
}

// "3.11" is right for 3.11.2: where no header is installed nothing says more.
void settle_version(std::vector<std::string>& predicted, const std::vector<std::string>& real) {
  constexpr std::size_t kVersion = 4;
  if (predicted.size() > kVersion && real.size() > kVersion &&
      real[kVersion].starts_with(predicted[kVersion] + "."))
    predicted[kVersion] = real[kVersion];
}

// 3.11.7 of "~/.pyenv/versions/3.11.7/bin/python"; 0 where the path does not tell.
Version version_in(const std::string& path) {
  const auto name = path_name(path_directory(path_directory(path)));
  return Version::parse(name).value_or(Version::of("0"));
}

// Interpreters of the system and then of pyenv, oldest first, each file once.
std::vector<std::string> base_interpreters() {
  std::vector<std::string> found;
  std::set<std::string> seen;
  const auto add = [&](const std::string& path) {
    char real[PATH_MAX];
    if (::realpath(path.c_str(), real) == nullptr || ::access(real, X_OK) != 0) return;
    if (seen.insert(real).second) found.push_back(path);
  };
  for (const auto* path : {"/usr/bin/python3", "/usr/local/bin/python3", "/opt/conda/bin/python"})
    add(path);
  const char* home = std::getenv("HOME");
  std::error_code none;
  for (const auto& entry :
       fs::directory_iterator(std::string(home ? home : "/root") + "/.pyenv/versions", none))
    add(entry.path().string() + "/bin/python");
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& a, const auto& b) { return version_in(a) < version_in(b); });
  return found;
}

// Enough for what does not change between releases: getpath was rewritten once, in 3.11.
std::vector<std::string> few_interpreters() {
  const auto all = base_interpreters();
  if (all.size() <= 3) return all;
  return {all[0], all[all.size() / 2], all.back()};
}

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << text;
}

// A directory of its own for the test, which is also its working directory and HOME.
class RealPython : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuwright-python-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    before_ = fs::current_path().string();
    fs::create_directories(root_ + "/work/relative");
    fs::create_directories(root_ + "/home");
    fs::current_path(root_ + "/work");
    if (base_interpreters().empty()) GTEST_SKIP() << "skipped: no Python";
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(root_);
  }

  EnvironmentBlock plain() const { return {{"HOME", root_ + "/home"}, {"PATH", "/usr/bin:/bin"}}; }

  void compare(const std::string& python, const EnvironmentBlock& environment) {
    const auto real = ask(python, environment, kAsk);
    if (real.empty()) {
      ++not_started_;
      return;
    }
    auto predicted = predict(*system_, python, environment);
    settle_version(predicted, real);
    EXPECT_EQ(predicted, real) << python << "\n" << describe(environment);
    ++compared_;
  }

  static std::string describe(const EnvironmentBlock& environment) {
    std::string text;
    for (const auto& [name, value] : environment) text += name + "=" + value + "\n";
    return text;
  }

  // A virtual environment of `base` by its own venv module; empty when it has none.
  std::string make_venv(const std::string& base, const std::string& options) {
    const auto directory = next_directory();
    output_of(quoted(base) + " -m venv --without-pip " + options + " " + quoted(directory));
    const auto python = directory + "/bin/python";
    return fs::exists(python) ? python : std::string();
  }

  // The same by hand, which is ten times faster; `copy` as venv --copies.
  std::string build_venv(const std::string& base, const std::string& config, bool copy = false) {
    const auto directory = next_directory();
    const auto python = directory + "/bin/python";
    fs::create_directories(directory + "/bin");
    fs::create_directories(directory + "/lib/" + series_directory(base) + "/site-packages");
    fs::create_symlink("lib", directory + "/lib64");
    if (copy)
      fs::copy_file(base, python);
    else
      fs::create_symlink(base, python);
    write(directory + "/pyvenv.cfg", config);
    return python;
  }

  std::string next_directory() { return root_ + "/" + std::to_string(number_++); }

  static std::string site_packages(const std::string& python) {
    const auto library = fs::path(python).parent_path().parent_path() / "lib";
    for (const auto& entry : fs::directory_iterator(library))
      return entry.path().string() + "/site-packages";
    return {};
  }

  std::string series_directory(const std::string& python) const {
    const auto layout = find_python_layout(*system_, plain(), python);
    return layout ? layout->directory_name() : std::string("python");
  }

  std::string base_prefix(const std::string& python) const {
    const auto layout = find_python_layout(*system_, plain(), python);
    return layout ? layout->base_prefix : std::string();
  }

  void report() const {
    std::printf("compared with real interpreters: %d, not started: %d\n", compared_, not_started_);
    EXPECT_GT(compared_, 0);
  }

  std::unique_ptr<System> system_ = make_live_system();
  std::string root_;
  std::string before_;
  int number_ = 0;
  int compared_ = 0;
  int not_started_ = 0;
};

TEST_F(RealPython, StartsWithThePredictedPathUnderEveryVariable) {
  for (const auto& base : base_interpreters()) {
    const auto user = "/lib/" + series_directory(base) + "/site-packages";
    fs::create_directories(root_ + "/home/.local" + user);
    fs::create_directories(root_ + "/userbase" + user);
    write(root_ + "/home/.local" + user + "/more.pth", root_ + "/home\nrelative\n");
    const auto layout = find_python_layout(*system_, plain(), base);
    ASSERT_TRUE(layout) << layout.error().text();
    const std::vector<EnvironmentBlock> variants = {
        {},
        {{"PYTHONPATH", "/a:relative::/b/../c:" + root_ + "/home/:/a"}},
        {{"PYTHONPATH", layout->standard_library() + "/site-packages:"}},
        {{"PYTHONNOUSERSITE", "1"}},
        {{"PYTHONNOUSERSITE", ""}},
        {{"PYTHONUSERBASE", root_ + "/userbase"}},
        {{"PYTHONHOME", layout->base_prefix}},
        {{"PYTHONHOME", layout->base_prefix + ":" + layout->base_prefix}},
        {{"PYTHONSAFEPATH", "1"}},
        {{"HOME", root_ + "/nobody"}},
    };
    for (const auto& variant : variants) {
      auto environment = variant;
      environment.merge(plain());
      compare(base, environment);
    }
  }
  report();
}

TEST_F(RealPython, StartsWithThePredictedPathInVirtualEnvironments) {
  for (const auto& base : base_interpreters()) {
    fs::create_directories(root_ + "/home/.local/lib/" + series_directory(base) + "/site-packages");
    for (const auto* options : {"", "--system-site-packages", "--copies"}) {
      const auto python = make_venv(base, options);
      if (python.empty()) continue;
      compare(python, plain());
      auto environment = plain();
      environment["PYTHONPATH"] = "relative";
      environment["PYTHONHOME"] = base_prefix(base);
      compare(python, environment);
      const auto link = next_directory();
      fs::create_directory_symlink(fs::path(python).parent_path().parent_path(), link);
      compare(link + "/bin/python", plain());
    }
  }
  report();
}

TEST_F(RealPython, StartsWithThePredictedPathUnderEveryPyvenvCfg) {
  for (const auto& base : few_interpreters()) {
    if (find_python_layout(*system_, plain(), base)->is_python2()) continue;
    const auto home = "home = " + fs::path(base).parent_path().string() + "\n";
    for (const bool copy : {false, true})
      for (const auto& config :
           {home, home + "include-system-site-packages = TRUE\n",
            home + "Include-System-Site-Packages=false", std::string("home = /nowhere/bin\n"),
            std::string("home = relative\n"), std::string("include-system-site-packages = false\n"),
            std::string()})
        compare(build_venv(base, config, copy), plain());
    const auto python = build_venv(base, home);
    const auto bin = fs::path(python).parent_path();
    fs::rename(bin.parent_path() / "pyvenv.cfg", bin / "pyvenv.cfg");
    compare(python, plain());
  }
  report();
}

TEST_F(RealPython, StartsWithThePredictedPathWithPthFiles) {
  for (const auto& base : base_interpreters()) {
    if (find_python_layout(*system_, plain(), base)->is_python2()) continue;
    const auto python = build_venv(base, "include-system-site-packages = false\n");
    const auto site = site_packages(python);
    fs::create_directories(site + "/inside");
    fs::create_directories(root_ + "/with space");
    write(site + "/a.pth", "# a comment\n\ninside\n./inside/\nmissing\n../site-packages/inside\n");
    write(site + "/b.pth", root_ + "/with space  \r\nimport sys\n" + root_ + "/home");
    write(site + "/.hidden.pth", root_ + "/work\n");
    write(site + "/distutils-precedence.pth", "import os; os.environ.get(\"X\")\n");
    write(site + "/not-a-pth.txt", root_ + "/userbase\n");
    compare(python, plain());
  }
  report();
}

TEST_F(RealPython, StartsWithThePredictedPathThroughLinks) {
  for (const auto& base : base_interpreters()) {
    const auto prefix = base_prefix(base);
    const auto place = next_directory();
    fs::create_directories(place + "/a/bin");
    fs::create_directories(place + "/b");
    fs::create_directory_symlink(prefix, place + "/prefix");
    fs::create_symlink(base, place + "/python");
    fs::create_symlink("../../python", place + "/a/bin/python");
    fs::create_directory_symlink("../a/bin", place + "/b/bin");
    compare(place + "/python", plain());
    compare(place + "/a/bin/python", plain());
    compare(place + "/b/bin/python", plain());
    if (prefix != "/usr") compare(place + "/prefix/bin/python", plain());
    const auto venv = build_venv(base, "");
    fs::create_symlink(venv, place + "/outside");
    compare(place + "/outside", plain());
  }
  report();
}

TEST_F(RealPython, FindsTheDistributionsThatImportlibFinds) {
  for (const auto& base : base_interpreters()) {
    const auto layout = find_python_layout(*system_, plain(), base);
    ASSERT_TRUE(layout);
    if (layout->version->minor_part() < 8 || layout->is_python2()) continue;
    auto real = ask(base, plain(), kAskDistributions);
    std::vector<std::string> found;
    for (const auto& distribution :
         find_distributions(*system_, find_search_path(*system_, plain(), *layout).entries))
      found.push_back(distribution.name + " " + distribution.version);
    std::sort(real.begin(), real.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, real) << base;
    compared_ += static_cast<int>(found.size());
  }
  std::printf("distributions compared with importlib.metadata: %d\n", compared_);
}

}  // namespace
}  // namespace gpuwright
