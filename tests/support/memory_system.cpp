#include "support/memory_system.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/text.h"

namespace gpuwright {
namespace {

tl::unexpected<Error> error_of(int code, const std::string& path) {
  return fail(std::strerror(code), path, code);
}

class MemoryFile : public RandomAccessFile {
 public:
  MemoryFile(FileStatus status, std::string content)
      : status_(status), content_(std::move(content)) {}
  const FileStatus& status() const override { return status_; }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset >= content_.size()) return std::size_t{0};
    const auto count = std::min<std::size_t>(into.size(), content_.size() - offset);
    std::memcpy(into.data(), content_.data() + offset, count);
    return count;
  }

 private:
  FileStatus status_;
  std::string content_;
};

}  // namespace

MemorySystem::MemorySystem() {
  Node root;
  root.status.kind = FileKind::kDirectory;
  root.status.mode = 0755;
  root.status.inode = next_inode_++;
  nodes_["/"] = root;
}

MemorySystem::Node& MemorySystem::make(const std::string& path, FileKind kind) {
  if (!path.starts_with('/')) throw std::logic_error("not absolute: " + path);
  const auto parent = path_directory(path);
  if (!nodes_.contains(parent)) make(parent, FileKind::kDirectory);
  Node& node = nodes_[path];
  node.status.kind = kind;
  node.status.mode = kind == FileKind::kDirectory ? 0755 : 0644;
  node.status.inode = next_inode_++;
  return node;
}

void MemorySystem::add_file(const std::string& path, std::string content, std::uint32_t mode) {
  Node& node = make(path, FileKind::kRegular);
  node.status.mode = mode;
  node.status.size = content.size();
  node.content = std::move(content);
}

void MemorySystem::add_directory(const std::string& path) {
  if (!nodes_.contains(path)) make(path, FileKind::kDirectory);
}

void MemorySystem::add_link(const std::string& path, const std::string& target) {
  make(path, FileKind::kSymlink).content = target;
}

void MemorySystem::add_device(const std::string& path, std::uint32_t major, std::uint32_t minor,
                              std::uint32_t mode, std::uint32_t uid, std::uint32_t gid) {
  auto& status = make(path, FileKind::kCharacterDevice).status;
  status.mode = mode;
  status.uid = uid;
  status.gid = gid;
  status.rdev_major = major;
  status.rdev_minor = minor;
}

void MemorySystem::add_copy(const std::string& path, const std::string& real_file) {
  std::ifstream in(real_file, std::ios::binary);
  if (!in) throw std::logic_error("cannot read " + real_file);
  std::ostringstream text;
  text << in.rdbuf();
  add_file(path, text.str(), 0755);
}

void MemorySystem::remove(const std::string& path) {
  std::erase_if(nodes_, [&](const auto& item) {
    return item.first == path || item.first.starts_with(path + "/");
  });
}

void MemorySystem::set_error(const std::string& path, int code) {
  if (!nodes_.contains(path)) make(path, FileKind::kRegular);
  nodes_[path].error = code;
}

Result<std::string> MemorySystem::walk(const std::string& path, bool follow_last) const {
  std::vector<std::string> todo;
  const auto push = [&](std::string_view text) {
    const auto pieces = split(text, '/');
    for (auto it = pieces.rbegin(); it != pieces.rend(); ++it)
      if (!it->empty() && *it != ".") todo.emplace_back(*it);
  };
  push(path);
  std::string at;
  int links = 0;
  while (!todo.empty()) {
    const std::string name = todo.back();
    todo.pop_back();
    if (name == "..") {
      at = at.empty() ? "" : path_directory(at);
      if (at == "/") at.clear();
      continue;
    }
    const std::string next = at + "/" + name;
    const auto node = nodes_.find(next);
    if (node == nodes_.end()) return error_of(ENOENT, path);
    if (node->second.error != 0) return error_of(node->second.error, path);
    if (node->second.status.kind == FileKind::kSymlink && (!todo.empty() || follow_last)) {
      if (++links > 40) return error_of(ELOOP, path);
      if (node->second.content.starts_with('/')) at.clear();
      push(node->second.content);
      continue;
    }
    if (!todo.empty() && node->second.status.kind != FileKind::kDirectory)
      return error_of(ENOTDIR, path);
    at = next;
  }
  return at.empty() ? std::string("/") : at;
}

Result<FileStatus> MemorySystem::status(const std::string& path) const {
  return walk(path, true).transform([&](const std::string& at) { return nodes_.at(at).status; });
}

Result<FileStatus> MemorySystem::link_status(const std::string& path) const {
  return walk(path, false).transform([&](const std::string& at) { return nodes_.at(at).status; });
}

Result<std::string> MemorySystem::read_link(const std::string& path) const {
  return walk(path, false).and_then([&](const std::string& at) -> Result<std::string> {
    const Node& node = nodes_.at(at);
    if (node.status.kind != FileKind::kSymlink) return error_of(EINVAL, path);
    return node.content;
  });
}

Result<std::string> MemorySystem::resolve(const std::string& path) const {
  return walk(path, true);
}

Result<std::vector<DirectoryEntry>> MemorySystem::list(const std::string& path) const {
  return walk(path, true)
      .and_then([&](const std::string& at) -> Result<std::vector<DirectoryEntry>> {
        if (nodes_.at(at).status.kind != FileKind::kDirectory) return error_of(ENOTDIR, path);
        std::vector<DirectoryEntry> entries;
        const std::string prefix = at == "/" ? "/" : at + "/";
        for (auto it = nodes_.upper_bound(prefix);
             it != nodes_.end() && it->first.starts_with(prefix); ++it) {
          const auto name = it->first.substr(prefix.size());
          if (name.find('/') == std::string::npos)
            entries.push_back({name, it->second.status.kind});
        }
        return entries;
      });
}

Result<std::string> MemorySystem::read(const std::string& path, std::size_t max_bytes) const {
  return walk(path, true).and_then([&](const std::string& at) -> Result<std::string> {
    const Node& node = nodes_.at(at);
    if (node.status.kind == FileKind::kDirectory) return error_of(EISDIR, path);
    if (node.status.kind != FileKind::kRegular) return error_of(EINVAL, path);
    return node.content.substr(0, max_bytes);
  });
}

Result<std::unique_ptr<RandomAccessFile>> MemorySystem::open(const std::string& path) const {
  return walk(path, true)
      .and_then([&](const std::string& at) -> Result<std::unique_ptr<RandomAccessFile>> {
        const Node& node = nodes_.at(at);
        if (node.status.kind == FileKind::kDirectory) return error_of(EISDIR, path);
        if (node.status.kind != FileKind::kRegular) return error_of(EINVAL, path);
        return std::unique_ptr<RandomAccessFile>(
            std::make_unique<MemoryFile>(node.status, node.content));
      });
}

Result<bool> MemorySystem::may_read_write(const std::string& path) const {
  const auto found = status(path);
  if (!found) return tl::unexpected(found.error());
  if (who.uid == 0) return true;
  const bool in_group = who.gid == found->gid || std::find(who.groups.begin(), who.groups.end(),
                                                           found->gid) != who.groups.end();
  const std::uint32_t bits = who.uid == found->uid ? found->mode >> 6
                             : in_group            ? found->mode >> 3
                                                   : found->mode;
  if ((bits & 6) == 6) return true;
  return error_of(EACCES, path);
}

Result<Space> MemorySystem::space(const std::string& path) const {
  return status(path).transform([&](const FileStatus&) { return free_space; });
}

Result<std::string> MemorySystem::kernel_log(std::size_t) const {
  if (log_error != 0) return error_of(log_error, "kernel log");
  return log;
}

}  // namespace gpuwright
