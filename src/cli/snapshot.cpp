#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/open.h"
#include "machine/json.h"
#include "machine/redact.h"
#include "probe/python.h"

namespace gpuwright::cli {
namespace {

PrivateNames private_names(const System& system) {
  PrivateNames names;
  const auto environment = system.environment().value_or(EnvironmentBlock{});
  const auto add = [&](std::vector<std::string>& into, const char* variable) {
    const auto found = environment.find(variable);
    if (found != environment.end() && !found->second.empty()) into.push_back(found->second);
  };
  add(names.homes, "HOME");
  for (const auto* variable : {"USER", "LOGNAME", "SUDO_USER"}) add(names.users, variable);
  add(names.hosts, "HOSTNAME");
  for (const auto* file : {"/proc/sys/kernel/hostname", "/etc/hostname"})
    if (const auto text = system.read(file, 4096); text && !trim(*text).empty())
      names.hosts.emplace_back(trim(*text));
  return names;
}

/// Signals that would end the program wait until the file is complete or gone, some milliseconds.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

int write_and_close(int descriptor, std::string_view text) {
  int error = 0;
  while (error == 0 && !text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0 && ::fsync(descriptor) != 0 && errno != EINVAL) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  return error;
}

// What the umask allows. mkostemp makes files for the owner alone.
void open_to_others(int descriptor) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  static_cast<void>(::fchmod(descriptor, 0666 & ~mask));
}

// The file appears whole or not at all: written beside its place, then renamed over it. What is no
// regular file (/dev/stdout, a pipe) cannot be replaced and is written to.
Result<void> write_file(const std::string& name, std::string_view text, bool secret) {
  const SignalsBlocked blocked;
  struct stat status;
  const bool special = ::stat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  std::string place = special ? name : name + ".XXXXXX";
  const int descriptor =
      special ? ::open(place.c_str(), O_WRONLY | O_CLOEXEC) : ::mkostemp(place.data(), O_CLOEXEC);
  if (descriptor < 0) return fail(std::strerror(errno), name, errno);
  if (!special && !secret) open_to_others(descriptor);
  int error = write_and_close(descriptor, text);
  if (error == 0 && !special && std::rename(place.c_str(), name.c_str()) != 0) error = errno;
  if (error == 0) return {};
  if (!special) ::unlink(place.c_str());
  return fail(std::strerror(error), name, error);
}

Result<std::string> snapshot_text(const MachineOptions& options, bool redacted, Output& output) {
  const auto machine = open_machine(options, Catalog::built_in(), output);
  if (!machine) return tl::unexpected(machine.error());
  auto document = snapshot_to_json(*machine);
  if (redacted) {
    const auto system = open_system(options.root);
    if (!system) return tl::unexpected(system.error());
    document = redact(document, private_names(**system));
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<int> run_snapshot(const Arguments& arguments, Output& output) {
  const MachineOptions options{arguments.value("--root"), "", arguments.value("--python"), ""};
  const bool redacted = !arguments.has("--no-redact");
  const auto text = snapshot_text(options, redacted, output);
  if (!text) return tl::unexpected(text.error());
  const std::string file = arguments.value("--output");
  if (file.empty() || file == "-") {
    output.data(*text);
    return kAllRight;
  }
  if (const auto written = write_file(file, *text, !redacted); !written)
    return tl::unexpected(written.error());
  if (!arguments.has("--quiet"))
    output.note("gpuwright snapshot: wrote " + file + "; gpuwright check --from " + file +
                " judges it");
  return kAllRight;
}

}  // namespace gpuwright::cli
