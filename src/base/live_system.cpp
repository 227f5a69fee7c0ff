#include <dirent.h>
#include <fcntl.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/system.h"
#include "base/text.h"

extern char** environ;  // NOLINT: the C library's own name

namespace gpuwright {

bool is_not_there(const Error& error) { return error.code == ENOENT || error.code == ENOTDIR; }

namespace {

tl::unexpected<Error> system_error(int code, const std::string& path) {
  return fail(std::strerror(code), path, code);
}

FileKind kind_of_mode(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  if (S_ISLNK(mode)) return FileKind::kSymlink;
  if (S_ISCHR(mode)) return FileKind::kCharacterDevice;
  if (S_ISBLK(mode)) return FileKind::kBlockDevice;
  if (S_ISFIFO(mode)) return FileKind::kFifo;
  if (S_ISSOCK(mode)) return FileKind::kSocket;
  return FileKind::kOther;
}

FileStatus status_of(const struct stat& st) {
  FileStatus status;
  status.kind = kind_of_mode(st.st_mode);
  status.mode = st.st_mode & 07777;
  status.uid = st.st_uid;
  status.gid = st.st_gid;
  status.size = static_cast<std::uint64_t>(st.st_size);
  status.device = st.st_dev;
  status.inode = st.st_ino;
  if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
    status.rdev_major = major(st.st_rdev);
    status.rdev_minor = minor(st.st_rdev);
  }
  status.modified_s = st.st_mtim.tv_sec;
  return status;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&&) = delete;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<void> require_regular(const struct stat& st, const std::string& shown) {
  if (S_ISDIR(st.st_mode)) return fail(std::strerror(EISDIR), shown, EISDIR);
  if (!S_ISREG(st.st_mode)) return fail("is not a regular file", shown, EINVAL);
  return {};
}

// Opens a regular file only. Asked before opening, since the opening alone wakes the writer at the
// other end of a FIFO and starts some devices; and once more on the opened object, which cannot be
// exchanged any more. O_NONBLOCK keeps a FIFO that slips in between from hanging us.
Result<std::pair<Descriptor, FileStatus>> open_regular(const std::string& real,
                                                       const std::string& shown) {
  struct stat st;
  if (::stat(real.c_str(), &st) != 0) return system_error(errno, shown);
  if (const auto regular = require_regular(st, shown); !regular)
    return tl::unexpected(regular.error());
  Descriptor fd(::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return system_error(errno, shown);
  if (::fstat(fd.get(), &st) != 0) return system_error(errno, shown);
  if (const auto regular = require_regular(st, shown); !regular)
    return tl::unexpected(regular.error());
  return std::pair{std::move(fd), status_of(st)};
}

class LiveFile : public RandomAccessFile {
 public:
  LiveFile(Descriptor fd, FileStatus status, std::string path)
      : fd_(std::move(fd)), status_(status), path_(std::move(path)) {}
  const FileStatus& status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    std::size_t done = 0;
    if (offset > static_cast<std::uint64_t>(INT64_MAX)) return done;
    while (done < into.size()) {
      const auto got = ::pread(fd_.get(), into.data() + done, into.size() - done,
                               static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error(errno, path_);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  Descriptor fd_;
  FileStatus status_;
  std::string path_;
};

class LiveSystem : public System {
 public:
  explicit LiveSystem(const std::string& root) : root_(root == "/" ? "" : root) {
    while (!root_.empty() && root_.back() == '/') root_.pop_back();
  }

  Result<FileStatus> status(const std::string& path) const override {
    return real(path, true).and_then([&](const std::string& where) -> Result<FileStatus> {
      struct stat st;
      if (::stat(where.c_str(), &st) != 0) return system_error(errno, path);
      return status_of(st);
    });
  }

  Result<FileStatus> link_status(const std::string& path) const override {
    return real(path, false).and_then([&](const std::string& where) -> Result<FileStatus> {
      struct stat st;
      if (::lstat(where.c_str(), &st) != 0) return system_error(errno, path);
      return status_of(st);
    });
  }

  Result<std::string> read_link(const std::string& path) const override {
    return real(path, false).and_then([&](const std::string& where) -> Result<std::string> {
      char target[PATH_MAX];
      const auto length = ::readlink(where.c_str(), target, sizeof target);
      if (length < 0) return system_error(errno, path);
      return std::string(target, static_cast<std::size_t>(length));
    });
  }

  Result<std::string> resolve(const std::string& path) const override {
    if (!root_.empty())
      return walk(path, true).and_then([&](const std::string& inside) -> Result<std::string> {
        struct stat st;
        if (::lstat((root_ + inside).c_str(), &st) != 0) return system_error(errno, path);
        return inside;
      });
    char resolved[PATH_MAX];
    if (::realpath(path.c_str(), resolved) == nullptr) return system_error(errno, path);
    return std::string(resolved);
  }

  Result<std::vector<DirectoryEntry>> list(const std::string& path) const override {
    const auto where = real(path, true);
    if (!where) return tl::unexpected(where.error());
    DIR* directory = ::opendir(where->c_str());
    if (directory == nullptr) return system_error(errno, path);
    std::vector<DirectoryEntry> entries;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      FileKind kind = FileKind::kOther;
      if (entry->d_type == DT_UNKNOWN) {
        struct stat st;
        if (::fstatat(::dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
          kind = kind_of_mode(st.st_mode);
      } else {
        kind = kind_of_mode(DTTOIF(entry->d_type));
      }
      entries.push_back({name, kind});
    }
    ::closedir(directory);
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return entries;
  }

  Result<std::string> read(const std::string& path, std::size_t max_bytes) const override {
    const auto where = real(path, true);
    if (!where) return tl::unexpected(where.error());
    auto opened = open_regular(*where, path);
    if (!opened) return tl::unexpected(opened.error());
    std::string text;
    // /proc and /sys give a size of 0 or 4096 whatever they hold, so read to the end.
    std::size_t step = std::min<std::size_t>(
        max_bytes, opened->second.size > 0 ? opened->second.size + 1 : std::size_t{16384});
    while (text.size() < max_bytes) {
      const std::size_t before = text.size();
      text.resize(std::min(max_bytes, before + std::max<std::size_t>(step, 4096)));
      const auto got = ::read(opened->first.get(), text.data() + before, text.size() - before);
      if (got < 0 && errno == EINTR) {
        text.resize(before);
        continue;
      }
      if (got < 0) return system_error(errno, path);
      text.resize(before + static_cast<std::size_t>(got));
      if (got == 0) break;
    }
    return text;
  }

  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) const override {
    const auto where = real(path, true);
    if (!where) return tl::unexpected(where.error());
    auto opened = open_regular(*where, path);
    if (!opened) return tl::unexpected(opened.error());
    return std::unique_ptr<RandomAccessFile>(
        std::make_unique<LiveFile>(std::move(opened->first), opened->second, path));
  }

  Result<bool> may_read_write(const std::string& path) const override {
    const auto where = real(path, true);
    if (!where) return tl::unexpected(where.error());
    if (::faccessat(AT_FDCWD, where->c_str(), R_OK | W_OK, AT_EACCESS) == 0) return true;
    return system_error(errno, path);
  }

  Result<Space> space(const std::string& path) const override {
    const auto where = real(path, true);
    if (!where) return tl::unexpected(where.error());
    struct statvfs st;
    if (::statvfs(where->c_str(), &st) != 0) return system_error(errno, path);
    return Space{st.f_blocks * st.f_frsize, st.f_bavail * st.f_frsize, st.f_files, st.f_favail,
                 (st.f_flag & ST_RDONLY) != 0};
  }

  Result<std::string> kernel_log(std::size_t max_bytes) const override {
    if (!root_.empty()) return read("/var/log/dmesg", max_bytes);
    // SYSLOG_ACTION_READ_ALL (3) leaves the buffer as it is; EPERM under kernel.dmesg_restrict.
    std::string text(max_bytes, '\0');
    const int length = ::klogctl(3, text.data(), static_cast<int>(text.size()));
    if (length < 0) return system_error(errno, "kernel log");
    text.resize(static_cast<std::size_t>(length));
    return text;
  }

  Result<ClockReading> clock() const override {
    if (!root_.empty()) return system_error(ENOENT, "clock");
    struct timex state {};  // modes 0: reads and sets nothing
    const int answer = ::adjtimex(&state);
    if (answer < 0) return system_error(errno, "adjtimex");
    return ClockReading{::time(nullptr), (state.status & STA_UNSYNC) == 0};
  }

  Result<KernelName> kernel() const override {
    if (!root_.empty()) {
      const auto release = read("/proc/sys/kernel/osrelease", 4096);
      if (!release) return tl::unexpected(release.error());
      const auto version = read("/proc/sys/kernel/version", 4096);
      const auto machine = read("/proc/sys/kernel/arch", 4096);
      return KernelName{std::string(trim(*release)), std::string(trim(version.value_or(""))),
                        std::string(trim(machine.value_or("")))};
    }
    struct utsname name;
    if (::uname(&name) != 0) return system_error(errno, "uname");
    return KernelName{name.release, name.version, name.machine};
  }

  Result<Identity> identity() const override {
    if (!root_.empty()) return identity_of_status();
    Identity who{::geteuid(), ::getegid(), {}};
    const int count = ::getgroups(0, nullptr);
    if (count > 0) {
      std::vector<gid_t> groups(static_cast<std::size_t>(count));
      const int got = ::getgroups(count, groups.data());
      who.groups.assign(groups.begin(), groups.begin() + std::max(got, 0));
    }
    return who;
  }

  Result<std::map<std::string, std::string>> environment() const override {
    std::map<std::string, std::string> block;
    const auto add = [&](std::string_view item) {
      const auto at = item.find('=');
      if (at != std::string_view::npos && at > 0)
        block.emplace(std::string(item.substr(0, at)), std::string(item.substr(at + 1)));
    };
    if (root_.empty()) {
      for (char** item = environ; item != nullptr && *item != nullptr; ++item) add(*item);
      return block;
    }
    const auto text = read("/proc/self/environ", 1 << 20);
    if (!text) return tl::unexpected(text.error());
    for (const auto item : split(*text, '\0')) add(item);
    return block;
  }

  Result<std::string> working_directory() const override {
    if (!root_.empty()) return std::string("/");
    char path[PATH_MAX];
    if (::getcwd(path, sizeof path) == nullptr) return system_error(errno, "working directory");
    return std::string(path);
  }

 private:
  // Where `path` of the tree lies on this machine. With root "/" the kernel resolves; with another
  // root we walk ourselves, since openat2(RESOLVE_IN_ROOT) is missing on RHEL 8 and in gVisor.
  Result<std::string> real(const std::string& path, bool follow_last) const {
    if (root_.empty()) return path;
    return walk(path, follow_last).transform([&](const std::string& inside) {
      return root_ + inside;
    });
  }

  Result<std::string> walk(const std::string& path, bool follow_last) const {
    std::vector<std::string> todo;  // components still to walk, last one first
    const auto push = [&](std::string_view text) {
      const auto pieces = split(text, '/');
      for (auto it = pieces.rbegin(); it != pieces.rend(); ++it)
        if (!it->empty() && *it != ".") todo.emplace_back(*it);
    };
    push(path);
    std::string at;
    int links = 0;
    while (!todo.empty()) {
      const std::string name = std::move(todo.back());
      todo.pop_back();
      if (name == "..") {
        at = at.empty() ? "" : path_directory(at);
        if (at == "/") at.clear();
        continue;
      }
      const std::string next = at + "/" + name;
      if (!todo.empty() || follow_last) {
        char target[PATH_MAX];
        const auto length = ::readlink((root_ + next).c_str(), target, sizeof target);
        if (length > 0) {
          if (++links > 40) return system_error(ELOOP, path);
          const std::string_view text(target, static_cast<std::size_t>(length));
          if (text.starts_with('/')) at.clear();
          push(text);
          continue;
        }
        if (length < 0 && errno != EINVAL) return system_error(errno, path);
      }
      at = next;
    }
    return at.empty() ? std::string("/") : at;
  }

  Result<Identity> identity_of_status() const {
    const auto text = read("/proc/self/status", 1 << 16);
    if (!text) return tl::unexpected(text.error());
    Identity who;
    const auto second = [&](std::string_view key) {
      const auto fields = words(value_after(*text, key).value_or(""));
      return fields.size() > 1 ? static_cast<std::uint32_t>(parse_unsigned(fields[1]).value_or(0))
                               : 0;
    };
    who.uid = second("Uid:");
    who.gid = second("Gid:");
    for (const auto group : words(value_after(*text, "Groups:").value_or("")))
      if (const auto id = parse_unsigned(group))
        who.groups.push_back(static_cast<std::uint32_t>(*id));
    return who;
  }

  std::string root_;  // "" for the machine itself
};

}  // namespace

std::unique_ptr<System> make_live_system(const std::string& root) {
  return std::make_unique<LiveSystem>(root);
}

}  // namespace gpuwright
