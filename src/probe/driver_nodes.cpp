#include "probe/driver_nodes.h"

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/text.h"
#include "probe/host.h"

namespace gpuwright {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The run of digits, or the single other character, at the start of `text`.
std::string_view first_piece(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  return text.substr(0, std::max<std::size_t>(length, 1));
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto piece_a = first_piece(a), piece_b = first_piece(b);
    const auto number_a = parse_unsigned(piece_a), number_b = parse_unsigned(piece_b);
    if (number_a && number_b && *number_a != *number_b) return *number_a < *number_b;
    if (!(number_a && number_b) && piece_a != piece_b) return piece_a < piece_b;
    a.remove_prefix(piece_a.size());
    b.remove_prefix(piece_b.size());
  }
  return a.size() < b.size();
}

namespace {

struct Refusal {
  Fact<bool> usable;
  std::string why;
};

Refusal ask_permission(const System& system, const std::string& path) {
  const auto allowed = system.may_read_write(path);
  if (allowed) return {Fact<bool>::known(*allowed, path), *allowed ? "" : "mode"};
  if (allowed.error().code == EACCES) return {Fact<bool>::known(false, path), "mode"};
  if (allowed.error().code == EPERM) return {Fact<bool>::known(false, path), "cgroup"};
  const auto& reason = allowed.error().message;
  return {Fact<bool>::unknown(path, reason), reason};
}

using GroupNames = std::map<std::uint64_t, std::string>;

// Adds `path` when it is a character device: a bind mount that found nothing leaves a directory or
// an empty file under the same name.
void add_node(const System& system, const std::string& path, const GroupNames& groups,
              std::vector<DeviceNode>& nodes) {
  const auto status = system.status(path);
  if (!status || status->kind != FileKind::kCharacterDevice) return;
  auto [usable, refusal] = ask_permission(system, path);
  DeviceNode node;
  node.path = printable(path);
  node.major = status->rdev_major;
  node.minor = status->rdev_minor;
  node.mode = status->mode;
  node.uid = status->uid;
  node.gid = status->gid;
  node.owner_group = group_name(groups, status->gid);
  node.usable = std::move(usable);
  node.refusal = std::move(refusal);
  nodes.push_back(std::move(node));
}

void add_directory(const System& system, const std::string& directory, const GroupNames& groups,
                   std::vector<DeviceNode>& nodes) {
  for (const auto& entry : system.list(directory).value_or(std::vector<DirectoryEntry>{}))
    add_node(system, path_join(directory, entry.name), groups, nodes);
}

}  // namespace

Fact<std::vector<DeviceNode>> read_device_nodes(const System& system) {
  using Nodes = std::vector<DeviceNode>;
  const auto entries = system.list("/dev");
  if (!entries) return Fact<Nodes>::unknown("/dev", entries.error().message);
  const auto groups = parse_group_names(system.read("/etc/group").value_or(""));
  Nodes nodes;
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with("nvidia")) continue;
    const auto path = path_join("/dev", entry.name);
    if (entry.name == "nvidia-caps" || entry.name == "nvidia-caps-imex-channels")
      add_directory(system, path, groups, nodes);
    else
      add_node(system, path, groups, nodes);
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const DeviceNode& a, const DeviceNode& b) {
    return natural_less(a.path, b.path);
  });
  return Fact<Nodes>::known(std::move(nodes), "/dev");
}

Fact<bool> read_node_helper(const System& system) {
  constexpr std::uint32_t kSetUid = 04000;
  const std::string path = "/usr/bin/nvidia-modprobe";
  const auto status = system.status(path);
  if (status) return Fact<bool>::known((status->mode & kSetUid) != 0, path);
  if (is_not_there(status.error())) return Fact<bool>::known(false, path);
  return Fact<bool>::unknown(path, status.error().message);
}

}  // namespace gpuwright
