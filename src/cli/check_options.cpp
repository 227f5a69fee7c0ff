#include "cli/check_options.h"

#include <set>

#include "base/text.h"
#include "cli/ignore.h"

namespace gpuwright::cli {
namespace {

/// A word of --only or --skip: a rung, a rule, or neither.
struct Named {
  std::optional<Rung> rung;
  bool is_rule = false;
};

Named look_up(std::string_view name) {
  Named named;
  for (const auto& table : all_rules()) {
    if (name == name_of(table.rung)) named.rung = table.rung;
    for (const auto& rule : table.rules)
      if (name == rule.id) named.is_rule = true;
  }
  return named;
}

Result<void> parse_selection(const Arguments& arguments, DiagnoseOptions& options) {
  for (const auto* option : {"--only", "--skip"}) {
    if (!arguments.has(option)) continue;
    const bool only = std::string_view(option) == "--only";
    const std::string value = arguments.value(option);
    for (const auto piece : split(value, ',')) {
      const std::string name(trim(piece));
      const Named named = look_up(name);
      if (only && named.rung) {
        options.only.insert(*named.rung);
      } else if (named.is_rule) {
        (only ? options.only_ids : options.skip).insert(name);
      } else {
        return fail("'" + name + "' is no " + (only ? "rung and no rule" : "rule") +
                        "; gpuwright check --list shows " + (only ? "both" : "them"),
                    option);
      }
    }
  }
  return {};
}

// What one has decided to live with on this machine says nothing about another one.
Result<void> read_ignores(const Arguments& arguments, DiagnoseOptions& options) {
  std::vector<std::string> files;
  const bool here = !arguments.has("--from") && !arguments.has("--root");
  if (here && !arguments.has("--no-ignore")) files = usual_ignore_files();
  if (arguments.has("--ignore")) files.push_back(arguments.value("--ignore"));
  for (const auto& file : files) {
    const auto text = read_input(file, 1 << 20);
    if (!text) return tl::unexpected(text.error());
    auto ignores = parse_ignores(*text, file);
    if (!ignores) return tl::unexpected(ignores.error());
    options.ignores.insert(options.ignores.end(), ignores->begin(), ignores->end());
  }
  options.today = today();
  return {};
}

}  // namespace

Result<CheckOptions> parse_check(const Arguments& arguments, const Output& output) {
  CheckOptions options;
  options.machine = {arguments.value("--root"), arguments.value("--from"),
                     arguments.value("--python"), arguments.value("--framework")};
  if (arguments.has("--from") && (arguments.has("--root") || arguments.has("--python")))
    return fail("a snapshot cannot be looked at again: leave out --root and --python", "--from");
  options.machine.service = arguments.value("--service");
  options.machine.user = arguments.value("--user");
  options.machine.environ_file = arguments.value("--environ");
  options.machine.cron = arguments.has("--cron");
  options.machine.sudo = arguments.has("--sudo");
  for (const auto* option : {"--service", "--user", "--environ", "--cron", "--sudo"})
    if (arguments.has("--from") && arguments.has(option))
      return fail(std::string("a snapshot cannot be looked at again: leave out ") + option,
                  "--from");
  options.catalog = arguments.value("--catalog");
  options.format = arguments.value("--format");
  options.strict = arguments.has("--strict");
  options.diagnose.framework = options.machine.framework;
  if (const auto valid = parse_selection(arguments, options.diagnose); !valid)
    return tl::unexpected(valid.error());
  if (const auto read = read_ignores(arguments, options.diagnose); !read)
    return tl::unexpected(read.error());
  options.style.color = output.may_color() && !arguments.has("--no-color");
  options.style.width = output.width();
  options.style.all = arguments.has("--all");
  options.style.libraries = arguments.has("--libraries");
  options.style.quiet = arguments.has("--quiet");
  options.style.verbose = arguments.has("--verbose");
  return options;
}

}  // namespace gpuwright::cli
