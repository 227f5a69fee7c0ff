#pragma once

#include <filesystem>
#include <string>

namespace gpuwright {

/// A file system that never answers, mounted on a directory for as long as the value lives: what a
/// network file system is whose server has gone. Made of /dev/fuse with nobody behind it, so that
/// every look at it waits.
class HangingMount {
 public:
  explicit HangingMount(const std::filesystem::path& directory);
  ~HangingMount();
  HangingMount(const HangingMount&) = delete;
  HangingMount& operator=(const HangingMount&) = delete;

  /// Why there is none; empty when it is mounted.
  const std::string& problem() const { return problem_; }

 private:
  std::string directory_;
  std::string problem_;
  int device_ = -1;
};

}  // namespace gpuwright
