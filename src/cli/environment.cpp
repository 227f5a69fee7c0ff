#include "cli/environment.h"

#include "probe/process_view.h"

namespace gpuwright::cli {
namespace {

Result<ProcessView> view_of_file(const System& system, const std::string& file) {
  const auto text = read_input(file, 1 << 20);
  if (!text) return tl::unexpected(text.error());
  auto variables = parse_variables(*text, file);
  if (!variables) return tl::unexpected(variables.error());
  return view_of_variables(system, std::move(*variables), file);
}

Result<ProcessView> view_of(const System& system, const MachineOptions& options) {
  if (!options.service.empty()) return view_of_unit(system, options.service);
  if (!options.environ_file.empty()) return view_of_file(system, options.environ_file);
  if (options.sudo) return view_of_sudo(system);
  if (options.cron) return view_of_cron(system, options.user);
  return view_of_user(system, options.user);
}

}  // namespace

Result<std::shared_ptr<const System>> apply_environment(std::shared_ptr<const System> system,
                                                        MachineOptions& options) {
  const int kinds = (options.service.empty() ? 0 : 1) + (options.environ_file.empty() ? 0 : 1) +
                    (options.sudo ? 1 : 0) + (options.cron || !options.user.empty() ? 1 : 0);
  if (kinds == 0) return system;
  if (kinds > 1)
    return fail("give one of --service, --environ, --sudo, and --user or --cron or both");
  auto view = view_of(*system, options);
  if (!view) return tl::unexpected(view.error());
  options.environment_of = view->name;
  if (options.python.empty()) options.python = view->interpreter;
  return make_environment_system(std::move(system), std::move(*view));
}

}  // namespace gpuwright::cli
