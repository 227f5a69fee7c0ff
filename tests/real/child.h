#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace gpuwright::real {

using Environment = std::map<std::string, std::string>;

struct ChildResult {
  int exit_status = -1;  ///< 128 + number for a signal.
  bool timed_out = false;
  std::string out, err;
};

/// Runs a program to its end. `limit` only guards against a hang.
ChildResult run_child(const std::vector<std::string>& arguments, const Environment& environment,
                      const std::string& directory = "/",
                      std::chrono::seconds limit = std::chrono::minutes(10));

/// Environment of this process, for programs that need the user's settings (pip).
Environment own_environment();

/// A directory of its own under TMPDIR, gone with the object.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& parent = "");
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace gpuwright::real
