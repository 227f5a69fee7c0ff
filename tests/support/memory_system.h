#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/system.h"

namespace gpuwright {

/// The System of a test: a tree in memory. Parents are made as needed; paths are absolute.
class MemorySystem : public System {
 public:
  MemorySystem();

  void add_file(const std::string& path, std::string content, std::uint32_t mode = 0644);
  void add_directory(const std::string& path);
  void add_link(const std::string& path, const std::string& target);
  void add_device(const std::string& path, std::uint32_t major, std::uint32_t minor,
                  std::uint32_t mode = 0666, std::uint32_t uid = 0, std::uint32_t gid = 0);
  /// A copy of a real file of the machine under another path.
  void add_copy(const std::string& path, const std::string& real_file);
  void remove(const std::string& path);
  /// Every look at `path` fails with this errno.
  void set_error(const std::string& path, int code);

  std::map<std::string, std::string> environment_block;
  KernelName kernel_name{"6.1.0-27-amd64", "#1 SMP", "x86_64"};
  Identity who;
  std::string log;
  int log_error = 0;  ///< errno of kernel_log, 0 for none.
  std::string cwd = "/";
  Space free_space{64 << 20, 32 << 20, 1 << 20, 1 << 19};  ///< Of every path that is there.
  ClockReading time{1780000000, true};

  Result<FileStatus> status(const std::string& path) const override;
  Result<FileStatus> link_status(const std::string& path) const override;
  Result<std::string> read_link(const std::string& path) const override;
  Result<std::string> resolve(const std::string& path) const override;
  Result<std::vector<DirectoryEntry>> list(const std::string& path) const override;
  Result<std::string> read(const std::string& path, std::size_t max_bytes = 1 << 20) const override;
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) const override;
  Result<bool> may_read_write(const std::string& path) const override;
  Result<Space> space(const std::string& path) const override;
  Result<std::string> kernel_log(std::size_t max_bytes = 1 << 20) const override;
  Result<KernelName> kernel() const override { return kernel_name; }
  Result<Identity> identity() const override { return who; }
  Result<std::map<std::string, std::string>> environment() const override {
    return environment_block;
  }
  Result<std::string> working_directory() const override { return cwd; }
  Result<ClockReading> clock() const override { return time; }

 private:
  struct Node {
    FileStatus status;
    std::string content;  // of a file, or a link's target
    int error = 0;
  };
  Result<std::string> walk(const std::string& path, bool follow_last) const;
  Node& make(const std::string& path, FileKind kind);

  std::map<std::string, Node> nodes_;
  std::uint64_t next_inode_ = 1;
};

}  // namespace gpuwright
