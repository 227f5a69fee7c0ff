#include "cli/open.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <thread>

#include "cli/environment.h"
#include "machine/json.h"
#include "probe/probe.h"
#include "probe/python.h"

namespace gpuwright::cli {
namespace {

// Snapshots of real machines have some 100 KB. The limit keeps a wrong file from eating the memory.
constexpr std::size_t kSnapshotLimit = 64 << 20;

// What the user names may lie on a mount that has stopped answering. The look waits in a thread of
// its own, which owns all that it touches and is left behind when it takes longer than any disk.
constexpr std::chrono::seconds kPatience{20};

template <class Look>
auto in_time(const std::string& named, Look look) -> decltype(look()) {
  std::packaged_task<decltype(look())()> task(std::move(look));
  auto answer = task.get_future();
  std::thread(std::move(task)).detach();
  if (answer.wait_for(kPatience) == std::future_status::ready) return answer.get();
  return fail(fmt::format("does not answer ({} s)", kPatience.count()), named, ETIMEDOUT);
}

// What the user names may be a pipe as well as a file, so it is read as it comes.
Result<std::string> read_descriptor(int descriptor, const std::string& name, std::size_t limit) {
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = ::read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(std::strerror(errno), name, errno);
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > limit) return fail(fmt::format("is larger than {} KiB", limit >> 10), name);
  }
}

// System wants absolute paths; what the user typed is relative to where the user stands.
Result<std::string> absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  char here[4096];
  if (::getcwd(here, sizeof here) == nullptr)
    return fail(std::strerror(errno), "working directory", errno);
  return std::string(here) + "/" + path;
}

Result<std::string> read_file(const std::string& name, std::size_t limit) {
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(std::strerror(errno), name, errno);
  auto text = read_descriptor(descriptor, name, limit);
  ::close(descriptor);
  return text;
}

Result<Machine> read_snapshot(const std::string& name) {
  const std::string shown = name == "-" ? "standard input" : name;
  auto text = read_input(name, kSnapshotLimit);
  if (!text && text.error().message.starts_with("is larger"))
    return fail("is larger than a snapshot can be (64 MiB)", shown);
  if (!text) return tl::unexpected(text.error());
  if (text->empty()) return fail("is empty", shown);
  return snapshot_from_text(*text, shown);
}

// --python as the probes take it: absolute, or the name of a command. Within --root it is a path of
// that tree and stays as it is.
Result<std::string> python_path(const MachineOptions& options) {
  if (options.python.empty() || !options.root.empty()) return options.python;
  const auto path = absolute(options.python);
  if (!path) return tl::unexpected(path.error());
  if (options.python.find('/') != std::string::npos) return *path;
  const auto here = in_time("--python " + options.python,
                            [path = *path] { return make_live_system()->status(path); });
  return here ? *path : options.python;
}

// What the user named has to be there; what we choose ourselves may be missing, which is a fact.
Result<void> check_python(std::shared_ptr<const System> system, const std::string& python,
                          const std::string& typed) {
  if (python.empty()) return {};
  const auto chosen = in_time("--python " + typed, [system = std::move(system), python] {
    return choose_interpreter(*system, system->environment().value_or(EnvironmentBlock{}), python);
  });
  if (!chosen) return fail(chosen.error().message, "--python " + typed);
  return {};
}

// That the directory which `option` names is there and may be read.
Result<void> check_directory(const std::string& option, const std::string& typed,
                             const std::string& path) {
  const std::string named = option + " " + typed;
  const auto listed = in_time(named, [path] { return make_live_system()->list(path); });
  if (!listed) return fail(listed.error().message, named, listed.error().code);
  return {};
}

}  // namespace

Result<std::shared_ptr<const System>> open_system(const std::string& root) {
  if (root.empty()) return std::shared_ptr<const System>(make_live_system());
  const auto path = absolute(root);
  if (!path) return tl::unexpected(path.error());
  if (const auto there = check_directory("--root", root, *path); !there)
    return tl::unexpected(there.error());
  return std::shared_ptr<const System>(make_live_system(*path));
}

Result<const Catalog*> open_catalog(const std::string& directory) {
  if (directory.empty()) return &Catalog::built_in();
  const auto path = absolute(directory);
  if (!path) return tl::unexpected(path.error());
  if (const auto there = check_directory("--catalog", directory, *path); !there)
    return tl::unexpected(there.error());
  auto catalog = Catalog::from_directory(*make_live_system(), *path);
  if (!catalog) return fail(catalog.error().text(), "--catalog");
  static std::optional<Catalog> own;
  own.emplace(std::move(*catalog));
  return &*own;
}

Result<std::string> read_input(const std::string& name, std::size_t limit) {
  return name == "-" ? read_descriptor(STDIN_FILENO, "standard input", limit)
                     : read_file(name, limit);
}

Result<Machine> open_machine(const MachineOptions& typed, const Catalog& catalog, Output& output) {
  if (!typed.from.empty()) return read_snapshot(typed.from);
  const auto opened = open_system(typed.root);
  if (!opened) return tl::unexpected(opened.error());
  MachineOptions options = typed;
  const auto system = apply_environment(*opened, options);
  if (!system) return tl::unexpected(system.error());
  const auto python = python_path(options);
  if (!python) return tl::unexpected(python.error());
  if (const auto valid = check_python(*system, *python, options.python); !valid)
    return tl::unexpected(valid.error());
  Machine machine = probe_machine(*system, catalog, {*python, options.framework});
  if (!machine.notes.empty()) output.leave_threads_behind();
  if (!options.environment_of.empty())
    machine.host.environment_of = Fact<std::string>::known(options.environment_of, "command line");
  return machine;
}

}  // namespace gpuwright::cli
