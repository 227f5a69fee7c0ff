#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gpuwright {

enum class FileKind {
  kRegular,
  kDirectory,
  kSymlink,
  kCharacterDevice,
  kBlockDevice,
  kFifo,
  kSocket,
  kOther
};

/// What stat(2) tells about one file.
struct FileStatus {
  FileKind kind = FileKind::kOther;
  std::uint32_t mode = 0;  ///< Permission bits only, 0..07777.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;    ///< Bytes.
  std::uint64_t device = 0;  ///< With inode: the identity of the file.
  std::uint64_t inode = 0;
  std::uint32_t rdev_major = 0;  ///< Of a device node, otherwise 0.
  std::uint32_t rdev_minor = 0;
  std::int64_t modified_s = 0;  ///< Seconds since the epoch.

  bool same_file(const FileStatus& other) const {
    return device == other.device && inode == other.inode;
  }
};

struct DirectoryEntry {
  std::string name;
  FileKind kind = FileKind::kOther;  ///< Of the entry itself: a link is kSymlink.
};

/// A regular file open for reading at any place. Closed by the destructor.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual const FileStatus& status() const = 0;
  /// Fills `into` from `offset`; the number of bytes is smaller only at the end of the file.
  [[nodiscard]] virtual Result<std::size_t> read_at(std::uint64_t offset,
                                                    std::span<std::byte> into) const = 0;
};

/// Whose eyes look: credentials of this process.
struct Identity {
  std::uint32_t uid = 0;              ///< Effective.
  std::uint32_t gid = 0;              ///< Effective.
  std::vector<std::uint32_t> groups;  ///< Supplementary.
};

/// uname(2), without the host's name.
struct KernelName {
  std::string release;       ///< "6.8.0-49-generic"
  std::string version;       ///< "#49-Ubuntu SMP ..."
  std::string architecture;  ///< "x86_64"
};

struct Space {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;    ///< For an unprivileged user.
  std::uint64_t total_inodes = 0;  ///< 0 where the file system makes them as needed.
  std::uint64_t free_inodes = 0;   ///< For an unprivileged user.
  bool read_only = false;
};

/// The system's clock.
struct ClockReading {
  std::int64_t now_s = 0;     ///< Seconds since the epoch.
  bool synchronised = false;  ///< A time service has told the kernel so (adjtimex, STA_UNSYNC).
};

/// The door to files and to the few system calls that probes need. Paths are absolute and mean the
/// tree that this System shows, which need not be "/" (`--root`, a container's tree). Every error
/// carries its errno in `code`: ENOENT and ENOTDIR are "not there", all others "could not look".
/// Nothing here writes, and nothing here starts a program. Safe to call from several threads.
class System {
 public:
  virtual ~System() = default;

  /// Follows links, inside the tree.
  [[nodiscard]] virtual Result<FileStatus> status(const std::string& path) const = 0;
  /// The entry itself.
  [[nodiscard]] virtual Result<FileStatus> link_status(const std::string& path) const = 0;
  [[nodiscard]] virtual Result<std::string> read_link(const std::string& path) const = 0;
  /// The path with all links resolved, as seen in the tree.
  [[nodiscard]] virtual Result<std::string> resolve(const std::string& path) const = 0;
  /// Entries in byte order of their names, without "." and "..".
  [[nodiscard]] virtual Result<std::vector<DirectoryEntry>> list(const std::string& path) const = 0;
  /// The first `max_bytes` of a regular file (also of /proc and /sys, which lie about their size).
  /// A directory, FIFO or device is an error, never a wait.
  [[nodiscard]] virtual Result<std::string> read(const std::string& path,
                                                 std::size_t max_bytes = 1 << 20) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<RandomAccessFile>> open(
      const std::string& path) const = 0;
  /// True when this process may open `path` for reading and writing. Does not open it: opening a
  /// GPU's node initialises the GPU. The kernel asks file mode, capabilities, device cgroup and LSM
  /// alike (inode_permission), so EACCES in `code` means mode bits and EPERM the device cgroup.
  [[nodiscard]] virtual Result<bool> may_read_write(const std::string& path) const = 0;
  [[nodiscard]] virtual Result<Space> space(const std::string& path) const = 0;
  /// The kernel's ring buffer, newest last, at most the last `max_bytes`.
  [[nodiscard]] virtual Result<std::string> kernel_log(std::size_t max_bytes = 1 << 20) const = 0;

  [[nodiscard]] virtual Result<KernelName> kernel() const = 0;
  [[nodiscard]] virtual Result<Identity> identity() const = 0;
  /// ENOENT in a tree that is not this machine.
  [[nodiscard]] virtual Result<ClockReading> clock() const = 0;
  /// The environment block that a command started here and now would get.
  [[nodiscard]] virtual Result<std::map<std::string, std::string>> environment() const = 0;
  /// Absolute path of the working directory.
  [[nodiscard]] virtual Result<std::string> working_directory() const = 0;
};

/// The machine itself when `root` is "/". Any other root shows that directory as if it were "/":
/// links stay inside it, kernel, identity and environment are read from its own proc/ files
/// (proc/sys/kernel/osrelease, proc/self/status, proc/self/environ) and are errors with ENOENT when
/// those are not there.
std::unique_ptr<System> make_live_system(const std::string& root = "/");

/// True for the codes that mean "there is nothing of that name".
bool is_not_there(const Error& error);

}  // namespace gpuwright
