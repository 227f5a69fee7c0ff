#include <algorithm>

#include "base/text.h"
#include "probe/process_view.h"

// Unit files: systemd.unit(5), systemd.syntax(7), systemd.exec(5), systemd.resource-control(5). An
// INI dialect; drop-ins in NAME.d/*.conf come after the file, in the order of their names whatever
// directory they lie in, and a name in an earlier directory hides the same name in a later one.

namespace gpuwright {
namespace {

constexpr const char* kDirectories[] = {"/etc/systemd/system", "/run/systemd/system",
                                        "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                        "/lib/systemd/system"};
constexpr const char* kServicePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::size_t kMostFiles = 200;

/// "train@a100.service" is instance a100 of template "train@.service".
struct UnitName {
  std::string full, base, instance;
};

UnitName unit_name(const std::string& typed) {
  UnitName name;
  name.full = std::string(path_name(typed));
  if (name.full.find('.') == std::string::npos) name.full += ".service";
  name.base = name.full;
  const auto at = name.full.find('@');
  const auto dot = name.full.rfind('.');
  if (at != std::string::npos && at < dot) {
    name.instance = name.full.substr(at + 1, dot - at - 1);
    name.base = name.full.substr(0, at + 1) + name.full.substr(dot);
  }
  return name;
}

Result<std::string> unit_text(const System& system, const std::string& typed,
                              const UnitName& name) {
  if (typed.starts_with('/')) return system.read(typed);
  for (const auto& file : {name.full, name.base})
    for (const auto* directory : kDirectories) {
      auto text = system.read(path_join(directory, file));
      if (text || !is_not_there(text.error())) return text;
    }
  return fail("is in none of systemd's directories (/etc, /run, /usr/lib, each systemd/system)",
              name.full);
}

void add_drop_ins(const System& system, const UnitName& name, UnitSettings& settings) {
  std::map<std::string, std::string> files;
  for (const auto* directory : kDirectories)
    for (const auto& unit : {name.full, name.base, std::string("service")}) {
      const std::string place = path_join(directory, unit + ".d");
      for (const auto& entry : system.list(place).value_or(std::vector<DirectoryEntry>{}))
        if (entry.name.ends_with(".conf") && files.size() < kMostFiles)
          files.emplace(entry.name, path_join(place, entry.name));
    }
  for (const auto& [file, path] : files)
    if (const auto text = system.read(path)) parse_unit(*text, settings);
}

std::string last(const UnitSettings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() || found->second.empty() ? "" : found->second.back();
}

std::vector<std::string> all(const UnitSettings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::vector<std::string>{} : found->second;
}

bool is_yes(const std::string& value) {
  const std::string word = lower(value);
  return word == "yes" || word == "true" || word == "on" || word == "1";
}

// The specifiers that stand in services of one's own; the others stay as they are.
std::string specified(const std::string& text, const UnitName& name, const Account& account) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char letter = text[++i];
    if (letter == '%')
      out += '%';
    else if (letter == 'i' || letter == 'I')
      out += name.instance;
    else if (letter == 'n')
      out += name.full;
    else if (letter == 'h')
      out += account.home;
    else if (letter == 'u')
      out += account.name;
    else
      out += std::string("%") + letter;
  }
  return out;
}

void assign(const std::string& word, Variables& variables) {
  const auto equals = word.find('=');
  if (equals != std::string::npos && equals > 0)
    variables[word.substr(0, equals)] = word.substr(equals + 1);
}

Result<void> add_environment_files(const System& system, const UnitSettings& settings,
                                   const UnitName& name, const Account& account,
                                   Variables& variables) {
  for (const auto& setting : all(settings, "Service.EnvironmentFile")) {
    std::string file = specified(setting, name, account);
    const bool optional = file.starts_with('-');
    if (optional) file.erase(0, 1);
    const auto text = system.read(file);
    if (!text && optional && is_not_there(text.error())) continue;
    if (!text)
      return fail(text.error().message + ", and " + name.full + " reads it (EnvironmentFile=)",
                  file);
    const auto read = parse_variables(*text, file);
    if (!read) return tl::unexpected(read.error());
    for (const auto& [key, value] : *read) variables[key] = value;
  }
  return {};
}

// What the service manager itself was started with is its to give: of PID 1, where it may be read.
void add_passed(const System& system, const UnitSettings& settings, Variables& variables) {
  const auto block = system.read("/proc/1/environ");
  if (!block) return;
  const auto manager = parse_variables(*block + std::string(1, '\0'), "");
  for (const auto& line : all(settings, "Service.PassEnvironment"))
    for (const auto& word : unit_words(line))
      if (const auto found = manager->find(word); found != manager->end())
        variables[word] = found->second;
}

Result<void> add_variables(const System& system, const UnitSettings& settings, const UnitName& name,
                           const Account& account, ProcessView& view) {
  Variables& variables = view.variables;
  variables["PATH"] = kServicePath;
  if (!last(settings, "Service.User").empty()) {
    variables["HOME"] = account.home;
    variables["USER"] = variables["LOGNAME"] = account.name;
    variables["SHELL"] = account.shell;
  }
  add_passed(system, settings, variables);
  for (const auto& line : all(settings, "Service.Environment"))
    for (const auto& word : unit_words(line)) assign(specified(word, name, account), variables);
  if (const auto read = add_environment_files(system, settings, name, account, variables); !read)
    return read;
  for (const auto& line : all(settings, "Service.UnsetEnvironment"))
    for (const auto& word : unit_words(line)) variables.erase(word);
  return {};
}

Result<void> add_identity(const System& system, const UnitSettings& settings,
                          const Account& account, ProcessView& view) {
  view.is_other_user = true;
  if (is_yes(last(settings, "Service.DynamicUser"))) {
    view.identity = fail("systemd chooses the user at the start (DynamicUser=)");
    return {};
  }
  view.identity = identity_of(system, account);
  if (!view.identity) return tl::unexpected(view.identity.error());
  std::vector<std::string> groups;
  for (const auto& line : all(settings, "Service.SupplementaryGroups"))
    for (const auto& word : unit_words(line)) groups.push_back(word);
  const std::string own = last(settings, "Service.Group");
  if (!own.empty()) groups.push_back(own);
  for (const auto& group : groups) {
    const auto gid = find_group(system, group);
    if (!gid) return tl::unexpected(gid.error());
    if (group == own) view.identity->gid = *gid;
    view.identity->groups.push_back(*gid);
  }
  return {};
}

// "char-nvidia*" names drivers of /proc/devices, a path one node.
void add_allowed(const std::string& device, std::vector<std::string>& allowed) {
  if (!device.starts_with("char-")) {
    allowed.push_back(device);
    return;
  }
  const std::string pattern = device.substr(5);
  const auto matches = [&](const char* driver) { return glob_match(pattern, driver); };
  if (matches("nvidia") || matches("nvidia-frontend"))
    for (const auto* node : {"/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-modeset"})
      allowed.emplace_back(node);
  if (matches("nvidiactl")) allowed.emplace_back("/dev/nvidiactl");
  if (matches("nvidia-uvm")) allowed.emplace_back("/dev/nvidia-uvm*");
  if (matches("nvidia-caps")) allowed.emplace_back("/dev/nvidia-caps/*");
}

void add_devices(const UnitSettings& settings, ProcessView& view) {
  if (is_yes(last(settings, "Service.PrivateDevices")))
    for (const auto* prefix : {"/dev/nvidia", "/dev/dri"}) view.hidden.emplace_back(prefix);
  const auto rules = all(settings, "Service.DeviceAllow");
  const std::string policy = lower(last(settings, "Service.DevicePolicy"));
  view.devices_limited = policy == "closed" || policy == "strict" || !rules.empty();
  for (const auto& line : rules) {
    const auto pieces = unit_words(line);
    const std::string access = pieces.size() > 1 ? pieces[1] : "rwm";
    const bool both =
        access.find('r') != std::string::npos && access.find('w') != std::string::npos;
    if (!pieces.empty() && both) add_allowed(pieces[0], view.allowed_devices);
  }
}

void add_hidden_homes(const UnitSettings& settings, ProcessView& view) {
  const std::string protect = lower(last(settings, "Service.ProtectHome"));
  if (is_yes(protect) || protect == "tmpfs")
    for (const auto* prefix : {"/home/", "/root/", "/run/user/"}) view.hidden.emplace_back(prefix);
}

// "64G", "infinity", "1024:4096" (soft and hard).
std::string limit_text(const std::string& value) {
  std::string soft(value.substr(0, value.find(':')));
  if (lower(soft) == "infinity") return "unlimited";
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t factor = 1;
  const auto unit = soft.empty() ? std::string_view::npos : kUnits.find(soft.back());
  if (unit != std::string_view::npos) {
    factor = std::uint64_t{1} << (10 * (unit + 1));
    soft.pop_back();
  }
  const auto number = parse_unsigned(soft);
  return number ? std::to_string(*number * factor) : "";
}

// proc(5): the limit's name in 26 columns, the soft and the hard value in 21 each, the unit. What
// the unit leaves open is systemd's default, which is not this shell's.
void add_limits(const UnitSettings& settings, ProcessView& view) {
  const auto line = [&](const char* name, const char* key, const char* fallback, const char* unit) {
    const std::string given = limit_text(last(settings, std::string("Service.") + key));
    std::string text = name;
    for (const auto& value :
         {given.empty() ? std::string(fallback) : given, std::string("unlimited")}) {
      text.resize(std::max<std::size_t>(text.size(), text == name ? 26 : 47), ' ');
      text += value;
    }
    text.resize(std::max<std::size_t>(text.size(), 68), ' ');
    return text + unit + "\n";
  };
  view.files["/proc/self/limits"] =
      "Limit                     Soft Limit           Hard Limit           Units     \n" +
      line("Max open files", "LimitNOFILE", "1024", "files") +
      line("Max locked memory", "LimitMEMLOCK", "8388608", "bytes");
}

// The Python that ExecStart= names, or that the script it names is written for.
std::string interpreter_of(const System& system, const UnitSettings& settings, const UnitName& name,
                           const Account& account) {
  const auto command = unit_words(specified(last(settings, "Service.ExecStart"), name, account));
  if (command.empty()) return "";
  std::string program = command[0];
  program.erase(0, program.find_first_not_of("@-:+!"));
  if (path_name(program).starts_with("python")) return program;
  const auto head = system.read(program, 256);
  if (!head || !head->starts_with("#!")) return "";
  const auto shebang = words(lines(*head)[0].substr(2));
  for (const auto word : shebang)
    if (path_name(word).starts_with("python")) return std::string(word);
  return "";
}

std::string directory_of(const UnitSettings& settings, const UnitName& name,
                         const Account& account) {
  std::string directory = specified(last(settings, "Service.WorkingDirectory"), name, account);
  if (directory.starts_with('-')) directory.erase(0, 1);
  if (directory == "~") return account.home;
  return directory.empty() ? "/" : directory;
}

}  // namespace

std::vector<std::string> unit_words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  char quote = 0;
  bool open = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      open = true;
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? 0 : c;
      open = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (open) out.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (open) out.push_back(std::move(word));
  return out;
}

void parse_unit(std::string_view text, UnitSettings& settings) {
  std::string section, line;
  for (const auto raw : lines(text)) {
    const auto piece = trim(raw);
    if (piece.starts_with('#') || piece.starts_with(';')) continue;
    line += piece;
    if (line.ends_with('\\')) {
      line.back() = ' ';
      continue;
    }
    const auto equals = line.find('=');
    if (line.starts_with('[') && line.ends_with(']')) {
      section = line.substr(1, line.size() - 2);
    } else if (equals != std::string::npos) {
      auto& values = settings[section + "." + std::string(trim(line.substr(0, equals)))];
      const auto value = std::string(trim(std::string_view(line).substr(equals + 1)));
      if (value.empty())
        values.clear();
      else
        values.push_back(value);
    }
    line.clear();
  }
}

Result<ProcessView> view_of_unit(const System& system, const std::string& unit) {
  const UnitName name = unit_name(unit);
  const auto text = unit_text(system, unit, name);
  if (!text) return fail(text.error().message, name.full, text.error().code);
  UnitSettings settings;
  parse_unit(*text, settings);
  add_drop_ins(system, name, settings);
  for (const auto* key : {"RootDirectory", "RootImage"})
    if (const auto root = last(settings, std::string("Service.") + key); !root.empty())
      return fail("runs in a file tree of its own (" + root + "): give it to --root", name.full);
  const std::string user = last(settings, "Service.User");
  Account account{"root", 0, 0, "/root", "/bin/sh"};
  const bool dynamic = is_yes(last(settings, "Service.DynamicUser"));
  if (!user.empty() && !dynamic) {
    const auto found = find_account(system, specified(user, name, account));
    if (!found) return tl::unexpected(found.error());
    account = *found;
  }
  ProcessView view;
  view.name = "systemd unit " + name.full;
  if (const auto done = add_identity(system, settings, account, view); !done)
    return tl::unexpected(done.error());
  if (const auto done = add_variables(system, settings, name, account, view); !done)
    return tl::unexpected(done.error());
  add_devices(settings, view);
  add_hidden_homes(settings, view);
  add_limits(settings, view);
  view.interpreter = interpreter_of(system, settings, name, account);
  view.working_directory = directory_of(settings, name, account);
  return view;
}

}  // namespace gpuwright
