#include "cli/confirm.h"

#include "base/text.h"
#include "cli/open.h"
#include "confirm/confirm.h"

namespace gpuwright::cli {
namespace {

class LiveChildren : public ChildDoor {
 public:
  explicit LiveChildren(Output& output) : output_(output) {}
  ChildEnd run(const ChildCommand& command) override { return run_child(command); }
  void progress(const std::string& what) override { output_.progress(what); }

 private:
  Output& output_;
};

Result<std::chrono::milliseconds> limit_of(const Arguments& arguments) {
  if (!arguments.has("--run-timeout")) return std::chrono::milliseconds(0);
  const auto seconds = parse_unsigned(arguments.value("--run-timeout"));
  constexpr std::uint64_t kMost = 86400;
  if (!seconds || *seconds == 0 || *seconds > kMost)
    return fail("is no number of seconds from 1 to 86400", "--run-timeout");
  return std::chrono::milliseconds(*seconds * 1000);
}

// A child runs here, in this environment. What was examined must be the same.
Result<void> check_subject(const Arguments& arguments, const Machine& machine) {
  for (const auto* other : {"--from", "--root"})
    if (arguments.has(other))
      return fail(std::string("starts programs on this machine: leave out ") + other, "--run");
  if (machine.host.environment_of.is_known())
    return fail("starts programs in this shell's environment, and that of " +
                    *machine.host.environment_of + " is examined",
                "--run");
  return {};
}

}  // namespace

Result<void> confirm_machine(const Arguments& arguments, Machine& machine, Output& output) {
  const auto limit = limit_of(arguments);
  if (!limit) return tl::unexpected(limit.error());
  if (!arguments.has("--run")) return {};
  if (const auto same = check_subject(arguments, machine); !same) return same;
  const auto system = open_system("");
  if (!system) return tl::unexpected(system.error());
  ConfirmOptions options;
  options.environment = (*system)->environment().value_or(std::map<std::string, std::string>{});
  options.directory = (*system)->working_directory().value_or("/");
  options.marker = random_marker();
  options.limit = *limit;
  LiveChildren children(output);
  machine.run = confirm(machine, options, children);
  return {};
}

}  // namespace gpuwright::cli
