#include "probe/environment_system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace gpuwright {
namespace {

class EnvironmentSystem : public System {
 public:
  EnvironmentSystem(std::shared_ptr<const System> base, ProcessView view)
      : base_(std::move(base)), view_(std::move(view)) {}

  Result<FileStatus> status(const std::string& path) const override {
    return is_hidden(path) ? gone(path) : base_->status(path);
  }
  Result<FileStatus> link_status(const std::string& path) const override {
    return is_hidden(path) ? gone(path) : base_->link_status(path);
  }
  Result<std::string> read_link(const std::string& path) const override {
    return is_hidden(path) ? gone(path) : base_->read_link(path);
  }
  Result<std::string> resolve(const std::string& path) const override {
    return is_hidden(path) ? gone(path) : base_->resolve(path);
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) const override {
    if (is_hidden(path)) return gone(path);
    auto entries = base_->list(path);
    if (entries)
      std::erase_if(*entries, [&](const auto& e) { return is_hidden(path_join(path, e.name)); });
    return entries;
  }
  Result<std::string> read(const std::string& path, std::size_t max_bytes) const override {
    const auto replaced = view_.files.find(path);
    if (replaced != view_.files.end()) return replaced->second.substr(0, max_bytes);
    return is_hidden(path) ? gone(path) : base_->read(path, max_bytes);
  }
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) const override {
    if (is_hidden(path)) return gone(path);
    return base_->open(path);
  }
  // The device cgroup is asked last by the kernel, so a mode that refuses comes first.
  Result<bool> may_read_write(const std::string& path) const override {
    if (is_hidden(path)) return gone(path);
    if (const auto allowed = mode_lets(path); !allowed) return allowed;
    if (view_.devices_limited && path.starts_with("/dev/") && !is_allowed(path))
      return fail(std::strerror(EPERM), path, EPERM);
    return true;
  }
  Result<Space> space(const std::string& path) const override {
    return is_hidden(path) ? gone(path) : base_->space(path);
  }
  Result<std::string> kernel_log(std::size_t max_bytes) const override {
    return base_->kernel_log(max_bytes);
  }
  Result<KernelName> kernel() const override { return base_->kernel(); }
  Result<Identity> identity() const override { return view_.identity; }
  Result<ClockReading> clock() const override { return base_->clock(); }
  Result<std::map<std::string, std::string>> environment() const override {
    return view_.variables;
  }
  Result<std::string> working_directory() const override { return view_.working_directory; }

 private:
  static tl::unexpected<Error> gone(const std::string& path) {
    return fail(std::strerror(ENOENT), path, ENOENT);
  }

  bool is_hidden(const std::string& path) const {
    return std::any_of(view_.hidden.begin(), view_.hidden.end(),
                       [&](const std::string& prefix) { return path.starts_with(prefix); });
  }

  bool is_allowed(const std::string& path) const {
    return std::any_of(view_.allowed_devices.begin(), view_.allowed_devices.end(),
                       [&](const std::string& pattern) { return glob_match(pattern, path); });
  }

  Result<bool> mode_lets(const std::string& path) const {
    if (!view_.is_other_user) return base_->may_read_write(path);
    const auto status = base_->status(path);
    if (!status) return tl::unexpected(status.error());
    if (!view_.identity) return tl::unexpected(view_.identity.error());
    if (mode_allows(*status, *view_.identity)) return true;
    return fail(std::strerror(EACCES), path, EACCES);
  }

  std::shared_ptr<const System> base_;
  ProcessView view_;
};

}  // namespace

bool mode_allows(const FileStatus& status, const Identity& who) {
  if (who.uid == 0) return true;
  constexpr std::uint32_t kReadWrite = 6;
  const bool in_group = who.gid == status.gid || std::find(who.groups.begin(), who.groups.end(),
                                                           status.gid) != who.groups.end();
  const unsigned shift = who.uid == status.uid ? 6 : in_group ? 3 : 0;
  return (status.mode >> shift & kReadWrite) == kReadWrite;
}

std::shared_ptr<const System> make_environment_system(std::shared_ptr<const System> base,
                                                      ProcessView view) {
  return std::make_shared<EnvironmentSystem>(std::move(base), std::move(view));
}

}  // namespace gpuwright
