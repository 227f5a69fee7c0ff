#pragma once

#include <string_view>

#include "probe/environment_system.h"

// What other processes of this machine start with. Read from the files that say so; nothing is
// executed, so what a user's ~/.profile adds is not in it.

namespace gpuwright {

using Variables = std::map<std::string, std::string>;

/// A block of NAME=value: one a line with `#` comments, `export` and quotes as shells, systemd and
/// `docker --env-file` take them; or ended by NUL, as /proc/PID/environ is. An error's subject is
/// "file:line".
[[nodiscard]] Result<Variables> parse_variables(std::string_view text, const std::string& file);

/// One account of /etc/passwd.
struct Account {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string home;
  std::string shell;
};

/// By name or number. Directory services are not asked.
[[nodiscard]] Result<Account> find_account(const System& system, const std::string& name);

/// The account's identity with the groups that /etc/group gives it.
[[nodiscard]] Result<Identity> identity_of(const System& system, const Account& account);

/// Number of a group by name or number.
[[nodiscard]] Result<std::uint32_t> find_group(const System& system, const std::string& name);

/// A login of that user, without what the shell's start-up files add.
[[nodiscard]] Result<ProcessView> view_of_user(const System& system, const std::string& name);

/// A cron job of that user; of the present one when `name` is empty.
[[nodiscard]] Result<ProcessView> view_of_cron(const System& system, const std::string& name);

/// A command behind `sudo`, by the Defaults of sudoers where they may be read.
[[nodiscard]] Result<ProcessView> view_of_sudo(const System& system);

/// The present process with these variables alone.
[[nodiscard]] Result<ProcessView> view_of_variables(const System& system, Variables variables,
                                                    const std::string& file);

/// A service as systemd would start it: systemd.exec(5), systemd.resource-control(5).
[[nodiscard]] Result<ProcessView> view_of_unit(const System& system, const std::string& unit);

/// The parts of Defaults in sudoers(5) that decide about variables.
struct SudoDefaults {
  bool env_reset = true;
  std::string secure_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  std::vector<std::string> env_keep;
};
void parse_sudoers(std::string_view text, SudoDefaults& defaults);

/// The assignments of a unit file by "Section.Key", in order; a value that is empty takes back all
/// before it.
using UnitSettings = std::map<std::string, std::vector<std::string>>;
void parse_unit(std::string_view text, UnitSettings& settings);

/// Words of a systemd line: quotes group, a backslash keeps the next character.
std::vector<std::string> unit_words(std::string_view text);

}  // namespace gpuwright
