#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "probe/wheel_tree.h"

// A sound machine as files below a directory, which a test then spoils: a GPU, its driver, a Python
// environment with TensorFlow and its CUDA wheels. The built program looks at it with --root.

namespace gpuwright {

/// What a run of `check --format json` gave back.
struct CheckRun {
  int status = 0;  ///< 137: it did not end within a minute.
  std::string err;
  nlohmann::json report;  ///< Discarded when standard output is no JSON.

  /// The program ended as it promises to: with an answer and nothing on standard error.
  bool is_answer() const {
    return (status == 0 || status == 1 || status == 3) && err.empty() && report.is_object();
  }
  /// It says that TensorFlow will use the GPU.
  bool says_uses() const;
  bool has_finding(const std::string& id) const;
  /// Names of the probes that did not finish.
  std::vector<std::string> notes() const;
};

/// The machine before it is spoiled, in memory: change it, then write it.
struct SoundMachine : WheelTree {
  SoundMachine();
};

class DiskTree {
 public:
  explicit DiskTree(const SoundMachine& machine = SoundMachine()) : DiskTree(machine.system) {}
  /// Below `place`, the usual place for temporary files when it is empty.
  explicit DiskTree(const MemorySystem& system, const std::filesystem::path& place = {});

  const std::filesystem::path& root() const { return directory_.path(); }
  /// The real path of a path in the tree.
  std::filesystem::path at(const std::string& path) const {
    return directory_.path().string() + path;
  }
  void write(const std::string& path, const std::string& text) const;
  void link(const std::string& path, const std::string& target) const;
  void remove(const std::string& path) const { std::filesystem::remove_all(at(path)); }
  /// A file of a gigabyte that begins with `head` and takes no room on the disk.
  void write_huge(const std::string& path, const std::string& head) const;

  /// True where device nodes could be made, without which no GPU is in reach.
  bool has_device_nodes() const { return has_nodes_; }

  CheckRun check(std::vector<std::string> options = {"--python", "/env"}) const;
  ProgramRun run(std::vector<std::string> words) const;

 private:
  TempDirectory directory_;
  bool has_nodes_ = true;
};

}  // namespace gpuwright
