#include "environments.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace gpuwright::real {
namespace {

namespace fs = std::filesystem;

/// One environment for a range of Python 3 minor versions. Where a release has no wheel for a
/// version, an older one stands in.
struct Recipe {
  const char* name;
  int python_from, python_to;
  Download download;
  const char* packages;         ///< Arguments of pip install.
  const char* without_depends;  ///< The same, for pip install --no-deps.
};

// The newest releases in November 2026. `tensorflow` and `jax` get few of their CUDA wheels, so
// that found and missing libraries both occur.
constexpr std::array kRecipes = {
    Recipe{"tensorflow", 10, 13, Download::kSmall,
           "tensorflow==2.21.0 nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-cupti-cu12==12.9.79",
           ""},
    Recipe{"tensorflow", 9, 9, Download::kSmall,
           "tensorflow==2.20.0 nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-cupti-cu12==12.9.79",
           ""},
    Recipe{"tensorflow-old", 9, 11, Download::kSmall, "tensorflow-cpu==2.15.1", "numpy==2.0.2"},
    Recipe{"tensorflow-old", 12, 12, Download::kSmall, "tensorflow-cpu==2.16.2", "numpy==2.0.2"},
    Recipe{"tensorflow-cpu", 10, 13, Download::kSmall, "tensorflow-cpu==2.21.0", ""},
    Recipe{"tensorflow-cpu", 9, 9, Download::kSmall, "tensorflow-cpu==2.20.0", ""},
    Recipe{"jax", 12, 13, Download::kSmall,
           "jax==0.11.2 jaxlib==0.11.2 nvidia-cuda-runtime-cu12==12.9.79 "
           "nvidia-cuda-cupti-cu12==12.9.79",
           "jax-cuda12-plugin==0.11.2 jax-cuda12-pjrt==0.11.2"},
    Recipe{"jax", 11, 11, Download::kSmall,
           "jax==0.10.2 jaxlib==0.10.2 nvidia-cuda-runtime-cu12==12.9.79 "
           "nvidia-cuda-cupti-cu12==12.9.79",
           "jax-cuda12-plugin==0.10.2 jax-cuda12-pjrt==0.10.2"},
    Recipe{"jax", 10, 10, Download::kSmall,
           "jax==0.6.2 jaxlib==0.6.2 nvidia-cuda-runtime-cu12==12.9.79 "
           "nvidia-cuda-cupti-cu12==12.9.79",
           "jax-cuda12-plugin==0.6.2 jax-cuda12-pjrt==0.6.2"},
    Recipe{"tensorflow-and-cuda", 10, 13, Download::kLarge, "tensorflow[and-cuda]==2.21.0", ""},
    Recipe{"torch", 11, 13, Download::kLarge, "torch==2.15.0 numpy", ""},
    Recipe{"torch", 10, 10, Download::kLarge, "torch==2.14.1 numpy", ""},
    Recipe{"jax-cuda13", 12, 13, Download::kLarge, "jax[cuda13]==0.11.2", ""},
    Recipe{"jax-cuda13", 11, 11, Download::kLarge, "jax[cuda13]==0.10.2", ""},
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path cache_directory() {
  const auto given = variable("GPUWRIGHT_TEST_CACHE");
  return given.empty() ? fs::path(variable("HOME")) / ".cache/gpuwright/test-envs"
                       : fs::path(given);
}

void require_network(Download download) {
  const auto value = variable("GPUWRIGHT_TEST_NETWORK");
  if (value != "1" && value != "all") throw Unavailable{"GPUWRIGHT_TEST_NETWORK is not set"};
  if (download == Download::kLarge && value != "all")
    throw Unavailable{"GPUWRIGHT_TEST_NETWORK is not 'all'"};
}

ChildResult shell(const std::string& command, std::chrono::seconds limit) {
  return run_child({"/bin/sh", "-c", command}, own_environment(), "/", limit);
}

int python_minor() {
  const auto result =
      shell("python3 -c 'import sys; print(sys.version_info[1])'", std::chrono::minutes(1));
  if (result.exit_status != 0) throw Unavailable{"there is no python3"};
  return std::atoi(result.out.c_str());
}

const Recipe* find_recipe(const std::string& name, int minor) {
  for (const auto& recipe : kRecipes)
    if (recipe.name == name && recipe.python_from <= minor && minor <= recipe.python_to)
      return &recipe;
  return nullptr;
}

/// Held while an environment is made, so that two test processes do not make it at once.
class Lock {
 public:
  explicit Lock(const fs::path& file) : descriptor_(open(file.c_str(), O_RDWR | O_CREAT, 0600)) {
    if (descriptor_ < 0 || flock(descriptor_, LOCK_EX) != 0)
      throw std::runtime_error("cannot lock " + file.string());
  }
  ~Lock() { close(descriptor_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

void make(const Recipe& recipe, const fs::path& directory) {
  std::fprintf(stderr, "making %s (%s %s)\n", directory.c_str(), recipe.packages,
               recipe.without_depends);
  fs::remove_all(directory);
  const std::string quoted = "'" + directory.string() + "'";
  const std::string pip =
      quoted + "/bin/python -m pip install --quiet --disable-pip-version-check ";
  std::string command = "python3 -m venv " + quoted + " && " + pip + recipe.packages;
  if (*recipe.without_depends != '\0')
    command += " && " + pip + "--no-deps " + recipe.without_depends;
  const auto result = shell(command, std::chrono::hours(2));
  if (result.exit_status != 0)
    throw std::runtime_error("making " + directory.string() + " failed: " + result.err);
}

// Headers are most of the files and nothing to the loader.
void copy_package(const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    const auto name = entry.path().filename();
    if (name == "include" || entry.is_symlink())
      fs::create_symlink(fs::canonical(entry.path()), to / name);
    else if (entry.is_directory())
      copy_package(entry.path(), to / name);
    else
      fs::create_hard_link(entry.path(), to / name);
  }
}

}  // namespace

std::string python_environment(const std::string& name) {
  const int minor = [&] {
    require_network(Download::kSmall);
    return python_minor();
  }();
  const auto* const recipe = find_recipe(name, minor);
  if (recipe == nullptr)
    throw Unavailable{"no release of " + name + " is pinned for Python 3." + std::to_string(minor)};
  require_network(recipe->download);
  const std::string contents =
      std::string(recipe->packages) + "\n" + recipe->without_depends + "\n";
  const auto directory = cache_directory() / (name + "-py3." + std::to_string(minor));
  fs::create_directories(cache_directory());
  const Lock lock(directory.string() + ".lock");
  // The marker holds the recipe, so that a changed pin makes the environment anew.
  const auto marker = directory.string() + ".complete";
  if (read_text(marker) != contents) {
    fs::remove(marker);
    make(*recipe, directory);
    write_text(marker, contents);
  }
  return directory.string();
}

std::string site_packages_of(const std::string& environment) {
  for (const auto& entry : fs::directory_iterator(environment + "/lib"))
    if (entry.path().filename().string().starts_with("python"))
      return (entry.path() / "site-packages").string();
  throw std::runtime_error(environment + " has no lib/python*");
}

std::string describe(const std::string& environment) {
  std::string text;
  for (const auto& entry : fs::directory_iterator(site_packages_of(environment))) {
    const auto name = entry.path().filename().string();
    for (const auto* prefix : {"tensorflow-", "tensorflow_cpu-", "torch-", "jax-", "jaxlib-"})
      if (name.starts_with(prefix) && name.ends_with(".dist-info"))
        text += name.substr(0, name.size() - 10) + " ";
  }
  return text + fs::path(site_packages_of(environment)).parent_path().filename().string();
}

EnvironmentCopy::EnvironmentCopy(const std::string& environment,
                                 const std::vector<std::string>& packages)
    : scratch_(fs::canonical(environment).parent_path().string()), path_(scratch_.path() + "/env") {
  // Hard links need the same file system, so the copy lies beside the original.
  const auto original = fs::path(site_packages_of(fs::canonical(environment)));
  const auto copy = fs::path(path_) / original.lexically_relative(fs::canonical(environment));
  fs::create_directories(copy);
  fs::create_directories(path_ + "/bin");
  for (const auto* file : {"bin/python", "pyvenv.cfg"})
    fs::copy(environment + "/" + file, path_ + "/" + file, fs::copy_options::copy_symlinks);
  if (fs::is_symlink(path_ + "/bin/python") &&
      fs::read_symlink(path_ + "/bin/python").is_relative()) {
    fs::remove(path_ + "/bin/python");
    fs::create_symlink(fs::canonical(environment + "/bin/python"), path_ + "/bin/python");
  }
  for (const auto& entry : fs::directory_iterator(original)) {
    const auto name = entry.path().filename();
    if (std::find(packages.begin(), packages.end(), name.string()) == packages.end())
      fs::create_symlink(entry.path(), copy / name);
    else
      copy_package(fs::canonical(entry.path()), copy / name);
  }
  site_packages_ = copy.string();
}

void EnvironmentCopy::hide(const std::string& file) const {
  if (!fs::remove(fs::path(site_packages_) / file))
    throw std::runtime_error("there is no " + file + " to hide");
}

}  // namespace gpuwright::real
