#include "machine/redact.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.h"

// Every string of the snapshot is walked once, from left to right. At each place the recognisers
// are asked in the order of their table; the first that knows what begins there replaces it. They
// are written by hand and not as std::regex, whose matcher recurses once a character and so dies on
// a long hostile string.

namespace gpuwright {
namespace {

using Json = nlohmann::ordered_json;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alnum(char c) { return is_digit(c) || is_letter(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_upper_name(char c) { return is_digit(c) || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_token(char c) { return is_alnum(c) || c == '_' || c == '-'; }
bool is_name(char c) { return is_token(c) || c == '.'; }

/// Length of the run from `at` whose characters all satisfy `belongs`.
template <class Belongs>
std::size_t run(std::string_view text, std::size_t at, Belongs belongs) {
  std::size_t end = at;
  while (end < text.size() && belongs(text[end])) ++end;
  return end - at;
}

bool begins_word(std::string_view text, std::size_t at) {
  return at == 0 || !(is_token(text[at - 1]));
}

/// Names of accounts and hosts that images and distributions come with. They say nothing about
/// anybody, and some are also words that rules look for ("/usr/lib", "open").
bool is_anonymous(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "admin",    "app",    "bin",    "conda",         "container",  "cuda",      "data",
      "debian",   "dev",    "docker", "ec2-user",      "fedora",     "home",      "jax",
      "jovyan",   "kernel", "lib",    "local",         "localhost",  "mambauser", "module",
      "nobody",   "nvidia", "open",   "opt",           "python",     "python3",   "render",
      "root",     "runner", "share",  "site-packages", "tensorflow", "tmp",       "torch",
      "ubuntu",   "user",   "usr",    "var",           "video",      "vscode",    "work",
      "workspace"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool is_secret_name(std::string_view name) {
  for (const auto* part : {"key", "token", "secret", "pass", "credential"})
    if (lower(name).find(part) != std::string::npos) return true;
  return false;
}

constexpr std::string_view kRedacted = "<redacted>";

/// What stands at a place, and what takes its place.
struct Match {
  std::size_t length = 0;
  std::string replacement;
};
using Found = std::optional<Match>;

/// Gives each different thing the next number.
class Numbering {
 public:
  std::size_t of(const std::string& thing) {
    return numbers_.try_emplace(thing, numbers_.size() + 1).first->second;
  }
  std::vector<std::size_t> of_prefix(const std::string& prefix) const {
    std::vector<std::size_t> found;
    for (auto it = numbers_.lower_bound(prefix);
         it != numbers_.end() && it->first.starts_with(prefix); ++it)
      found.push_back(it->second);
    return found;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

std::string eight_digits(std::size_t number) {
  std::string digits = std::to_string(number);
  return std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

/// Length of 8-4-4-4-12 hex digits at `at`, or 0.
std::size_t uuid_length(std::string_view text, std::size_t at) {
  std::size_t end = at;
  for (const std::size_t group : {8, 4, 4, 4, 12}) {
    if (end != at && (end >= text.size() || text[end++] != '-')) return 0;
    if (run(text, end, is_hex) != group) return 0;
    end += group;
  }
  return end - at;
}

/// Length of four decimal numbers up to 255 with dots between, or 0.
std::size_t dotted_quad_length(std::string_view text, std::size_t at) {
  std::size_t end = at;
  for (int group = 0; group < 4; ++group) {
    if (group > 0 && (end >= text.size() || text[end++] != '.')) return 0;
    const std::size_t digits = run(text, end, is_digit);
    if (digits == 0 || digits > 3 || *parse_unsigned(text.substr(end, digits)) > 255) return 0;
    end += digits;
  }
  return end - at;
}

/// What the walk knows about the place of a string in the snapshot.
struct Place {
  bool network = false;  ///< A log line or a variable: four numbers may be an address there.
};

class Redactor {
 public:
  Redactor(const Json& snapshot, const PrivateNames& names) {
    for (const auto& home : names.homes)
      if (home.starts_with('/') && !is_anonymous(path_name(home)) && home.size() > 1)
        homes_.push_back(home);
    std::sort(homes_.begin(), homes_.end(),
              [](const auto& a, const auto& b) { return a.size() > b.size(); });
    for (const auto& user : names.users) learn_user(user);
    for (const auto& host : names.hosts)
      if (host.size() > 2 && !is_anonymous(host)) hosts_.insert(host);
    learn(snapshot);
  }

  Json rewrite(const Json& value, Place place, std::string_view key) {
    if (value.is_string()) return rewrite(value.get_ref<const std::string&>(), place);
    if (value.is_array()) {
      Json out = Json::array();
      for (const auto& item : value) out.push_back(rewrite(item, place, key));
      return out;
    }
    if (!value.is_object()) return value;
    const bool variables = key == "variables";
    Json out = Json::object();
    for (const auto& [name, item] : value.items()) {
      const bool network =
          variables ? lower(name).find("version") == std::string::npos : name == "kernel_log";
      const Place inner{place.network || network};
      out[name] = variables && is_secret_name(name) ? Json(kRedacted) : rewrite(item, inner, name);
    }
    return out;
  }

 private:
  using Recogniser = Found (Redactor::*)(std::string_view, std::size_t, Place);

  std::string rewrite(std::string_view text, Place place) {
    // Credentials come before e-mail ("user:pass@host"), long forms before their parts.
    static constexpr Recogniser kRecognisers[] = {&Redactor::url_credentials,
                                                  &Redactor::assignment,
                                                  &Redactor::authorization,
                                                  &Redactor::token,
                                                  &Redactor::web_token,
                                                  &Redactor::gpu_uuid,
                                                  &Redactor::uuid,
                                                  &Redactor::serial,
                                                  &Redactor::hardware_address,
                                                  &Redactor::ipv6,
                                                  &Redactor::ipv4,
                                                  &Redactor::email,
                                                  &Redactor::home,
                                                  &Redactor::personal_directory,
                                                  &Redactor::known_name};
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      Found found;
      for (const auto recogniser : kRecognisers)
        if ((found = (this->*recogniser)(text, at, place))) break;
      if (!found) {
        out += text[at++];
        continue;
      }
      out += found->replacement;
      at += found->length;
    }
    return out;
  }

  // ---------------------------------------------------------------------- first walk

  // Names and full UUIDs are gathered before anything is replaced, since a name may be used before
  // the path that betrays it, and a short UUID before the long one.
  void learn(const Json& value) {
    if (value.is_structured())
      for (const auto& item : value) learn(item);
    if (!value.is_string()) return;
    const std::string_view text = value.get_ref<const std::string&>();
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (const auto name = personal_name(text, at); !name.empty()) learn_user(std::string(name));
      if (const auto prefix = uuid_prefix(text, at); !prefix.empty()) {
        const auto length = uuid_length(text, at + prefix.size());
        if (length > 0) uuids_.of(std::string(text.substr(at + prefix.size(), length)));
      }
    }
  }

  void learn_user(const std::string& name) {
    if (name.size() > 1 && !is_anonymous(name) && !is_our_user(name)) users_.of(name);
    if (name.size() > 2 && !is_anonymous(name) && !is_our_user(name)) user_words_.insert(name);
  }

  // "user3", as a first redaction leaves it.
  static bool is_our_user(std::string_view name) {
    return name.starts_with("user") && run(name, 4, is_digit) == name.size() - 4;
  }

  // ------------------------------------------------------------------------- secrets

  // scheme://user:password@host
  Found url_credentials(std::string_view text, std::size_t at, Place) {
    if (text.substr(at, 3) != "://") return std::nullopt;
    const std::size_t length = run(text, at + 3, [](char c) {
      return c > ' ' && c != '/' && c != '@' && c != '"' && c != '\'' && c != '?' && c != '#';
    });
    if (length == 0 || at + 3 + length >= text.size() || text[at + 3 + length] != '@')
      return std::nullopt;
    return Match{3 + length, "://" + std::string(kRedacted)};
  }

  // AWS_SECRET_ACCESS_KEY=value; in a URL also ?access_token=value.
  Found assignment(std::string_view text, std::size_t at, Place) {
    const bool in_query = at > 0 && (text[at - 1] == '?' || text[at - 1] == '&');
    if (!begins_word(text, at) || is_digit(text[at])) return std::nullopt;
    const std::size_t name = in_query ? run(text, at, is_token) : run(text, at, is_upper_name);
    if (name < 3 || at + name + 1 >= text.size() || text[at + name] != '=') return std::nullopt;
    if (!is_secret_name(text.substr(at, name))) return std::nullopt;
    return Match{name + 1 + value_length(text, at + name + 1),
                 std::string(text.substr(at, name + 1)) + std::string(kRedacted)};
  }

  static std::size_t value_length(std::string_view text, std::size_t at) {
    const char quote = text[at];
    if (quote == '"' || quote == '\'') {
      const auto end = text.find(quote, at + 1);
      return (end == std::string_view::npos ? text.size() : end + 1) - at;
    }
    return run(text, at, [](char c) { return c > ' ' && c != '&' && c != ';'; });
  }

  // Authorization: Bearer value
  Found authorization(std::string_view text, std::size_t at, Place) {
    if (!begins_word(text, at)) return std::nullopt;
    for (const std::string_view scheme : {"bearer ", "basic "}) {
      if (lower(text.substr(at, scheme.size())) != scheme) continue;
      const std::size_t length = run(text, at + scheme.size(), [](char c) {
        return is_name(c) || c == '+' || c == '/' || c == '=' || c == '~';
      });
      // Shorter words follow "basic" in plain English.
      if (length >= 16)
        return Match{scheme.size() + length,
                     std::string(text.substr(at, scheme.size())) + std::string(kRedacted)};
    }
    return std::nullopt;
  }

  // Tokens that say what they are: Hugging Face, GitHub, GitLab, AWS, OpenAI and the like, Slack,
  // NVIDIA NGC, Google, PyPI.
  Found token(std::string_view text, std::size_t at, Place) {
    struct Form {
      std::string_view prefix;
      std::size_t least;  // characters after the prefix
    };
    static constexpr Form kForms[] = {
        {"hf_", 20},  {"ghp_", 20},        {"gho_", 20},   {"ghu_", 20},  {"ghs_", 20},
        {"ghr_", 20}, {"github_pat_", 20}, {"glpat-", 16}, {"AKIA", 16},  {"ASIA", 16},
        {"sk-", 20},  {"xoxb-", 16},       {"xoxp-", 16},  {"xoxa-", 16}, {"nvapi-", 20},
        {"AIza", 30}, {"pypi-", 40}};
    if (!begins_word(text, at)) return std::nullopt;
    for (const auto& form : kForms) {
      if (!text.substr(at).starts_with(form.prefix)) continue;
      const std::size_t length = run(text, at + form.prefix.size(), is_token);
      if (length >= form.least) return Match{form.prefix.size() + length, std::string(kRedacted)};
    }
    return std::nullopt;
  }

  // A JSON Web Token: base64url of {"..., a dot, and two more parts.
  Found web_token(std::string_view text, std::size_t at, Place) {
    if (!begins_word(text, at) || !text.substr(at).starts_with("eyJ")) return std::nullopt;
    const std::size_t length = run(text, at, is_name);
    const auto body = text.substr(at, length);
    if (length < 30 || std::count(body.begin(), body.end(), '.') < 2) return std::nullopt;
    return Match{length, std::string(kRedacted)};
  }

  // ------------------------------------------------------------------------ hardware

  /// "GPU-", "MIG-" or "MIG-GPU-" when it begins at `at`.
  static std::string_view uuid_prefix(std::string_view text, std::size_t at) {
    if (!begins_word(text, at)) return {};
    for (const std::string_view prefix : {"MIG-GPU-", "MIG-", "GPU-"})
      if (text.substr(at).starts_with(prefix)) return text.substr(at, prefix.size());
    return {};
  }

  // CUDA_VISIBLE_DEVICES takes any unambiguous beginning of a UUID, so the short form has to stay a
  // beginning of the long one.
  Found gpu_uuid(std::string_view text, std::size_t at, Place) {
    const auto prefix = uuid_prefix(text, at);
    if (prefix.empty()) return std::nullopt;
    const std::size_t begin = at + prefix.size();
    if (const auto length = uuid_length(text, begin); length > 0)
      return Match{prefix.size() + length,
                   std::string(prefix) + uuid_text(text.substr(begin, length))};
    const std::size_t length = run(text, begin, [](char c) { return is_hex(c) || c == '-'; });
    if (length < 2 || (begin + length < text.size() && is_alnum(text[begin + length])))
      return std::nullopt;
    const std::string given(text.substr(begin, length));
    const auto numbers = uuids_.of_prefix(given);
    // A beginning of several UUIDs stays one: their numbers differ in the last digits alone.
    const std::string shown = numbers.size() > 1    ? "00000"
                              : numbers.size() == 1 ? eight_digits(numbers[0])
                                                    : eight_digits(uuids_.of(given));
    return Match{prefix.size() + length, std::string(prefix) + shown};
  }

  Found uuid(std::string_view text, std::size_t at, Place) {
    if (at > 0 && is_alnum(text[at - 1])) return std::nullopt;
    const std::size_t length = uuid_length(text, at);
    if (length == 0) return std::nullopt;
    return Match{length, uuid_text(text.substr(at, length))};
  }

  std::string uuid_text(std::string_view uuid) {
    if (uuid.ends_with("-0000-0000-0000-000000000000")) return std::string(uuid);
    return eight_digits(uuids_.of(std::string(uuid))) + "-0000-0000-0000-000000000000";
  }

  // "Serial Number: 1653122005876"
  Found serial(std::string_view text, std::size_t at, Place) {
    constexpr std::string_view kWord = "serial";
    if (!begins_word(text, at) || lower(text.substr(at, kWord.size())) != kWord)
      return std::nullopt;
    std::size_t end = at + kWord.size();
    for (const std::string_view word : {" number", " no.", "_number"})
      if (lower(text.substr(end, word.size())) == word) end += word.size();
    end += run(text, end, [](char c) { return c == ' ' || c == ':' || c == '=' || c == '#'; });
    const std::size_t length = run(text, end, is_alnum);
    if (length < 6 || !std::any_of(text.begin() + end, text.begin() + end + length, is_digit))
      return std::nullopt;
    return Match{end + length - at,
                 std::string(text.substr(at, end - at)) + std::string(kRedacted)};
  }

  // ------------------------------------------------------------------------- network

  // Six or more pairs of hex digits: Ethernet, InfiniBand. A PCI address has three groups.
  Found hardware_address(std::string_view text, std::size_t at, Place) {
    if (!begins_word(text, at) || (at > 0 && text[at - 1] == ':')) return std::nullopt;
    std::size_t end = at;
    std::size_t pairs = 0;
    while (run(text, end, is_hex) == 2) {
      end += 2;
      ++pairs;
      if (end >= text.size() || text[end] != ':' || run(text, end + 1, is_hex) != 2) break;
      ++end;
    }
    if (pairs < 6) return std::nullopt;
    return Match{end - at,
                 "<mac-" + std::to_string(macs_.of(std::string(text.substr(at, end - at)))) + ">"};
  }

  // Eight groups, or "::" between groups. "std::string" is none, "0000:3b:00.0" neither.
  Found ipv6(std::string_view text, std::size_t at, Place) {
    if (!begins_word(text, at) || (at > 0 && (text[at - 1] == ':' || text[at - 1] == '.')))
      return std::nullopt;
    const std::size_t length = run(text, at, [](char c) { return is_hex(c) || c == ':'; });
    const auto body = text.substr(at, length);
    if (length < 6 || (at + length < text.size() && is_letter(text[at + length])))
      return std::nullopt;
    const auto groups = split(body, ':');
    const bool digits = std::any_of(body.begin(), body.end(), is_digit);
    const bool short_groups =
        std::all_of(groups.begin(), groups.end(), [](auto g) { return g.size() <= 4; });
    const bool shortened = body.find("::") != std::string_view::npos && groups.size() >= 3;
    if (!digits || !short_groups || !(shortened || groups.size() == 8)) return std::nullopt;
    return Match{length, address_text(body)};
  }

  // "9.19.0.56" is a cuDNN, "10.3.10.19" a cuRAND. Four numbers are an address where a URL or a
  // port says so, and in logs and variables when nothing around them belongs to a name or a
  // version.
  Found ipv4(std::string_view text, std::size_t at, Place place) {
    if (at > 0 && (is_name(text[at - 1]) || text[at - 1] == '+')) return std::nullopt;
    const std::size_t length = dotted_quad_length(text, at);
    if (length == 0) return std::nullopt;
    const auto before = text.substr(0, at);
    const auto after = text.substr(at + length);
    const auto body = text.substr(at, length);
    if (body.starts_with("127.") || body == "0.0.0.0") return std::nullopt;
    const bool in_url = before.ends_with("://") || before.ends_with("@");
    const bool has_port = after.size() > 1 && after[0] == ':' && is_digit(after[1]);
    const bool alone =
        !before.ends_with("/") && (after.empty() || !(is_name(after[0]) || after[0] == '+'));
    if (!in_url && !has_port && !(place.network && alone && !follows_version(before)))
      return std::nullopt;
    return Match{length, address_text(body)};
  }

  // "Version: 96.0.5.1", "libcublas=13.1.0.3", but not "MASTER_ADDR=10.1.2.3".
  static bool follows_version(std::string_view before) {
    const auto last = words(before.substr(before.size() < 40 ? 0 : before.size() - 40));
    if (last.empty()) return false;
    const std::string word = lower(last.back());
    const auto has = [&](const char* part) { return word.find(part) != std::string::npos; };
    if (word.ends_with('='))
      return !(has("addr") || has("host") || has("ip=") || has("src=") || has("dst="));
    return has("version") || has("release") || has("driver") || has("cuda") || has("cudnn") ||
           has("module") || has("bios") || has("firmware");
  }

  std::string address_text(std::string_view address) {
    return "<ip-" + std::to_string(addresses_.of(std::string(address))) + ">";
  }

  Found email(std::string_view text, std::size_t at, Place) {
    if (at > 0 && (is_name(text[at - 1]) || text[at - 1] == '+')) return std::nullopt;
    const std::size_t local = run(text, at, [](char c) { return is_name(c) || c == '+'; });
    if (local == 0 || at + local >= text.size() || text[at + local] != '@') return std::nullopt;
    const std::size_t domain =
        run(text, at + local + 1, [](char c) { return is_alnum(c) || c == '-' || c == '.'; });
    const auto name = text.substr(at + local + 1, domain);
    const auto dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return std::nullopt;
    const auto top = name.substr(dot + 1);
    if (top.size() < 2 || run(top, 0, is_letter) != top.size()) return std::nullopt;
    // "getty@tty1.service" is a unit of systemd.
    for (const auto* unit :
         {"service", "socket", "target", "device", "timer", "slice", "conf", "so"})
      if (top == unit) return std::nullopt;
    return Match{local + 1 + domain, "<email>"};
  }

  // --------------------------------------------------------------------------- names

  // The name behind "/home/" or "/Users/" that begins at `at`, also below another directory
  // ("/var/home/x", "/mnt/c/Users/x").
  static std::string_view personal_name(std::string_view text, std::size_t at) {
    for (const std::string_view parent : {"/home/", "/Users/"}) {
      if (!text.substr(at).starts_with(parent)) continue;
      return text.substr(at + parent.size(), run(text, at + parent.size(), [](char c) {
                           return is_name(c) || c == '+' || static_cast<unsigned char>(c) >= 0x80;
                         }));
    }
    return {};
  }

  std::string user_text(std::string_view name) {
    if (is_anonymous(name) || is_our_user(name)) return std::string(name);
    return "user" + std::to_string(users_.of(std::string(name)));
  }

  Found home(std::string_view text, std::size_t at, Place) {
    for (const auto& known : homes_) {
      const std::size_t end = at + known.size();
      if (!text.substr(at).starts_with(known) || (end < text.size() && is_name(text[end])))
        continue;
      if (at > 0 && is_name(text[at - 1])) continue;
      if (!personal_name(known, 0).empty()) continue;  // the next recogniser's
      return Match{known.size(), "/home/" + user_text(path_name(known))};
    }
    return std::nullopt;
  }

  Found personal_directory(std::string_view text, std::size_t at, Place) {
    const auto name = personal_name(text, at);
    if (name.empty()) return std::nullopt;
    const auto parent = text.substr(at, name.data() - (text.data() + at));
    return Match{parent.size() + name.size(), std::string(parent) + user_text(name)};
  }

  Found known_name(std::string_view text, std::size_t at, Place) {
    if (at > 0 && is_name(text[at - 1])) return std::nullopt;
    // Hosts first, and the longest: "node7.example.org" before "node7".
    for (auto it = hosts_.rbegin(); it != hosts_.rend(); ++it)
      if (is_word(text, at, *it)) return Match{it->size(), "host"};
    for (auto it = user_words_.rbegin(); it != user_words_.rend(); ++it)
      if (is_word(text, at, *it)) return Match{it->size(), user_text(*it)};
    return std::nullopt;
  }

  static bool is_word(std::string_view text, std::size_t at, std::string_view word) {
    const std::size_t end = at + word.size();
    return text.substr(at).starts_with(word) && (end >= text.size() || !is_token(text[end]));
  }

  std::vector<std::string> homes_;  // longest first
  std::set<std::string> hosts_;
  std::set<std::string> user_words_;  // those long enough to be looked for outside a path
  Numbering users_, uuids_, macs_, addresses_;
};

}  // namespace

Json redact(const Json& snapshot, const PrivateNames& names) {
  return Redactor(snapshot, names).rewrite(snapshot, {}, "");
}

}  // namespace gpuwright
