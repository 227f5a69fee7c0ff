#include <algorithm>

#include "base/text.h"
#include "diagnose/fix.h"
#include "diagnose/framework.h"
#include "diagnose/framework_rule.h"
#include "diagnose/library_file.h"
#include "diagnose/rule.h"

// Variables that are set for one kind of start and not for this one: sudo, systemd, cron and
// notebook servers start programs without the files of a shell.

namespace gpuwright {
namespace {

bool in_path_now(const Machine& machine, std::string_view directory) {
  if (!machine.cuda.library_path.is_known()) return false;
  for (const auto& element : *machine.cuda.library_path)
    if (element.text == directory || element.text == std::string(directory) + "/") return true;
  return false;
}

bool holds(const Machine& machine, const std::string& directory, const std::string& library) {
  if (!machine.cuda.copies.is_known()) return false;
  return std::any_of(machine.cuda.copies->begin(), machine.cuda.copies->end(),
                     [&](const LibraryCopy& copy) {
                       return copy.kind == "library" && path_name(copy.path) == library &&
                              path_directory(copy.path) == directory;
                     });
}

std::vector<FixStep> fix_of(const Machine& machine, const LostPath& lost) {
  const auto value = "LD_LIBRARY_PATH=" + lost.directory;
  const auto whose = machine.host.environment_of.value_or("");
  if (machine.host.sudo_user.is_known() || whose == "sudo")
    return {root_step("sudo env " + value + " COMMAND", "hands the variable on; sudo drops it",
                      "the environment of that command", "leave it out"),
            advice("or do not use sudo: GPU work needs no root")};
  if (whose.starts_with("systemd"))
    return {root_step("sudo systemctl edit " + shell_word(whose.substr(whose.rfind(' ') + 1)),
                      "add two lines: [Service] and Environment=" + value, "a drop-in of the unit",
                      "sudo systemctl revert the same unit")};
  if (whose == "cron")
    return {user_step("crontab -e", "add the line " + value + " above the job", "the crontab",
                      "remove the line")};
  return {shell_step("export " + value + "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}",
                     "for this shell and what is started from it"),
          advice("for a notebook: add it to \"env\" of the kernel's kernel.json; for a service: "
                 "Environment= of the unit")};
}

Verdict library_path_is_here(const Machine& machine, const Catalog&) {
  if (!machine.cuda.declared.is_known() || machine.cuda.declared->empty()) return NotApplicable{};
  std::vector<Finding> findings;
  for (const auto& framework : machine.frameworks) {
    std::optional<LostPath> lost;
    std::string library;
    for (const auto& one : framework.libraries)
      if (!lost && (lost = lost_path(machine, one))) library = one.name;
    if (!lost) continue;
    Finding finding;
    finding.subject = label_of(framework);
    finding.statement = title(framework) + " misses " + library + ", which lies in " +
                        lost->directory + ": " + lost->declared.file +
                        " puts that into LD_LIBRARY_PATH, and here it is not set";
    finding.evidence = {{"LD_LIBRARY_PATH=" + lost->declared.value, lost->declared.file},
                        cite("LD_LIBRARY_PATH here", machine.cuda.library_path)};
    if (machine.host.sudo_user.is_known())
      finding.evidence.push_back(cite("SUDO_USER", machine.host.sudo_user));
    finding.cause =
        "only a start as '" + lost->declared.scope +
        "' reads the file; sudo, systemd, cron and notebook servers start programs without it";
    finding.fix = fix_of(machine, *lost);
    findings.push_back(std::move(finding));
  }
  return findings.empty() ? Verdict(Fine{}) : Verdict(std::move(findings));
}

constexpr Rule kRules[] = {
    {"libraries.path-lost", "what a profile puts into LD_LIBRARY_PATH is set here too",
     library_path_is_here, Standing::kOwn},
};

}  // namespace

std::optional<LostPath> lost_path(const Machine& machine, const ResolvedLibrary& library) {
  if (library.state != "missing" || (library.role != "required" && library.role != "linked") ||
      !machine.cuda.declared.is_known())
    return std::nullopt;
  for (const auto& declared : *machine.cuda.declared) {
    if (declared.name != "LD_LIBRARY_PATH") continue;
    for (const auto part : split(declared.value, ':')) {
      std::string directory(part);
      while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
      if (directory.starts_with('/') && !in_path_now(machine, directory) &&
          holds(machine, directory, library.name))
        return LostPath{declared, directory};
    }
  }
  return std::nullopt;
}

std::span<const Rule> library_path_rules() { return kRules; }

}  // namespace gpuwright
