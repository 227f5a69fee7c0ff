#include "probe/process_view.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {
namespace {

// login(1), cron(8) and sudo(8) set these where nothing else does.
constexpr const char* kLoginPath = "/usr/local/bin:/usr/bin:/bin";

bool is_name(std::string_view name) {
  return !name.empty() && name.find_first_of(" \t\"'") == std::string_view::npos;
}

std::string unquoted(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
      value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  return std::string(value);
}

Result<Variables> parse_block(std::string_view text) {
  Variables out;
  for (const auto item : split(text, '\0')) {
    const auto equals = item.find('=');
    if (equals != std::string_view::npos && equals > 0)
      out[std::string(item.substr(0, equals))] = item.substr(equals + 1);
  }
  return out;
}

void add_account(const Account& account, Variables& variables) {
  variables["HOME"] = account.home;
  variables["USER"] = account.name;
  variables["LOGNAME"] = account.name;
  variables["SHELL"] = account.shell.empty() ? "/bin/sh" : account.shell;
}

// pam_env(8) reads it at every login; a line it does not understand it passes over.
void add_etc_environment(const System& system, Variables& variables) {
  const auto text = system.read("/etc/environment");
  if (!text) return;
  for (const auto line : lines(*text))
    if (const auto one = parse_variables(line, ""))
      for (const auto& [name, value] : *one) variables[name] = value;
}

Result<Account> present_account(const System& system) {
  const auto identity = system.identity();
  if (!identity) return tl::unexpected(identity.error());
  return find_account(system, std::to_string(identity->uid));
}

Result<ProcessView> view_of_account(const System& system, const Account& account) {
  ProcessView view;
  view.identity = identity_of(system, account);
  if (!view.identity) return tl::unexpected(view.identity.error());
  view.working_directory = account.home;
  view.is_other_user = true;
  return view;
}

}  // namespace

Result<Variables> parse_variables(std::string_view text, const std::string& file) {
  if (text.find('\0') != std::string_view::npos) return parse_block(text);
  Variables out;
  std::size_t number = 0;
  for (const auto raw : lines(text)) {
    ++number;
    auto line = trim(raw);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with("export ")) line = trim(line.substr(7));
    const auto equals = line.find('=');
    const auto name = trim(line.substr(0, equals));
    if (!is_name(name) || equals == 0)
      return fail("is no NAME=value", file + ":" + std::to_string(number));
    // A name alone hands on a variable of whoever starts the container, which is not known here.
    if (equals == std::string_view::npos) continue;
    out[std::string(name)] = unquoted(trim(line.substr(equals + 1)));
  }
  return out;
}

Result<Account> find_account(const System& system, const std::string& name) {
  const auto text = system.read("/etc/passwd");
  if (!text) return fail(text.error().message, "/etc/passwd", text.error().code);
  for (const auto line : lines(*text)) {
    const auto fields = split(line, ':');
    if (fields.size() < 7 || (fields[0] != name && fields[2] != name)) continue;
    const auto uid = parse_unsigned(fields[2]), gid = parse_unsigned(fields[3]);
    if (!uid || !gid) continue;
    return Account{std::string(fields[0]), static_cast<std::uint32_t>(*uid),
                   static_cast<std::uint32_t>(*gid), std::string(fields[5]),
                   std::string(fields[6])};
  }
  return fail("is not in /etc/passwd; directory services are not asked", name);
}

Result<Identity> identity_of(const System& system, const Account& account) {
  const auto text = system.read("/etc/group");
  if (!text) return fail(text.error().message, "/etc/group", text.error().code);
  Identity who{account.uid, account.gid, {account.gid}};
  for (const auto line : lines(*text)) {
    const auto fields = split(line, ':');
    if (fields.size() < 4) continue;
    const auto members = split(fields[3], ',');
    const auto gid = parse_unsigned(fields[2]);
    if (gid && std::find(members.begin(), members.end(), account.name) != members.end())
      who.groups.push_back(static_cast<std::uint32_t>(*gid));
  }
  return who;
}

Result<std::uint32_t> find_group(const System& system, const std::string& name) {
  if (const auto number = parse_unsigned(name)) return static_cast<std::uint32_t>(*number);
  const auto text = system.read("/etc/group");
  if (!text) return fail(text.error().message, "/etc/group", text.error().code);
  for (const auto line : lines(*text)) {
    const auto fields = split(line, ':');
    if (fields.size() < 3 || fields[0] != name) continue;
    if (const auto gid = parse_unsigned(fields[2])) return static_cast<std::uint32_t>(*gid);
  }
  return fail("is not in /etc/group; directory services are not asked", name);
}

Result<ProcessView> view_of_user(const System& system, const std::string& name) {
  const auto account = find_account(system, name);
  if (!account) return tl::unexpected(account.error());
  auto view = view_of_account(system, *account);
  if (!view) return view;
  view->name = "user " + account->name;
  view->variables["PATH"] = kLoginPath;
  add_etc_environment(system, view->variables);
  add_account(*account, view->variables);
  return view;
}

// Debian's cron lets PAM add /etc/environment, and then sets PATH whatever stands there.
Result<ProcessView> view_of_cron(const System& system, const std::string& name) {
  const auto account = name.empty() ? present_account(system) : find_account(system, name);
  if (!account) return tl::unexpected(account.error());
  auto view = view_of_account(system, *account);
  if (!view) return view;
  view->name = "cron of " + account->name;
  const auto pam = system.read("/etc/pam.d/cron");
  if (pam && pam->find("pam_env") != std::string::npos)
    add_etc_environment(system, view->variables);
  add_account(*account, view->variables);
  view->variables.erase("USER");
  view->variables["SHELL"] = "/bin/sh";
  view->variables["PATH"] = "/usr/bin:/bin";
  return view;
}

void parse_sudoers(std::string_view text, SudoDefaults& defaults) {
  for (const auto raw : lines(text)) {
    const auto line = trim(raw);
    const auto words_of_line = words(line);
    if (words_of_line.size() < 2 || words_of_line[0] != "Defaults") continue;
    const auto setting = trim(line.substr(8));
    const auto value = [&] {
      const auto equals = setting.find('=');
      return unquoted(trim(setting.substr(equals + 1)));
    };
    if (setting.starts_with("!env_reset")) defaults.env_reset = false;
    if (setting.starts_with("env_reset")) defaults.env_reset = true;
    if (setting.starts_with("!secure_path")) defaults.secure_path.clear();
    if (setting.starts_with("secure_path") && setting.find('=') != std::string_view::npos)
      defaults.secure_path = value();
    if (setting.starts_with("env_keep") && setting.find('=') != std::string_view::npos) {
      if (setting.find("+=") == std::string_view::npos) defaults.env_keep.clear();
      const std::string names = value();
      for (const auto name : words(names)) defaults.env_keep.emplace_back(name);
    }
  }
}

Result<ProcessView> view_of_sudo(const System& system) {
  const auto mine = system.environment();
  if (!mine) return tl::unexpected(mine.error());
  SudoDefaults defaults;
  const auto main = system.read("/etc/sudoers");
  if (main) parse_sudoers(*main, defaults);
  for (const auto& entry : system.list("/etc/sudoers.d").value_or(std::vector<DirectoryEntry>{}))
    if (entry.name.find('.') == std::string::npos && !entry.name.ends_with('~'))
      if (const auto text = system.read("/etc/sudoers.d/" + entry.name))
        parse_sudoers(*text, defaults);
  ProcessView view;
  view.name = main ? "sudo" : "sudo with its usual defaults";
  for (const auto& [name, value] : *mine) {
    const bool kept = !defaults.env_reset ||
                      std::any_of(defaults.env_keep.begin(), defaults.env_keep.end(),
                                  [&](const auto& pattern) { return glob_match(pattern, name); });
    // sudo is setuid root, so the dynamic loader takes LD_* away before sudo could keep it.
    if (kept && !name.starts_with("LD_")) view.variables[name] = value;
  }
  const auto path = mine->find("PATH");
  if (!defaults.secure_path.empty())
    view.variables["PATH"] = defaults.secure_path;
  else if (path != mine->end())
    view.variables["PATH"] = path->second;
  add_account({"root", 0, 0, "/root", "/bin/bash"}, view.variables);
  const auto user = mine->find("USER");
  view.variables["SUDO_USER"] = user == mine->end() ? "root" : user->second;
  view.identity = Identity{0, 0, {0}};
  view.is_other_user = true;
  view.working_directory = system.working_directory().value_or("/");
  return view;
}

Result<ProcessView> view_of_variables(const System& system, Variables variables,
                                      const std::string& file) {
  ProcessView view;
  view.name = "file " + file;
  view.variables = std::move(variables);
  view.identity = system.identity();
  view.working_directory = system.working_directory().value_or("/");
  return view;
}

}  // namespace gpuwright
