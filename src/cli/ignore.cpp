#include "cli/ignore.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/text.h"

namespace gpuwright::cli {
namespace {

bool is_rule(std::string_view id) {
  for (const auto& table : all_rules())
    for (const auto& rule : table.rules)
      if (id == rule.id) return true;
  return false;
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = parse_unsigned(text.substr(0, 4));
  const auto month = parse_unsigned(text.substr(5, 2));
  const auto day = parse_unsigned(text.substr(8, 2));
  return year && month && day && *month >= 1 && *month <= 12 && *day >= 1 && *day <= 31;
}

/// One line, eaten from the front.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(trim(text)) {}

  std::string_view rest() const { return rest_; }
  std::string_view word() {
    const auto end = std::min(rest_.find_first_of(" \t"), rest_.size());
    const auto word = rest_.substr(0, end);
    rest_ = trim(rest_.substr(end));
    return word;
  }
  // What follows `key`, which may stand in double quotes; nothing when the line does not go on so.
  Result<std::string> value(std::string_view key) {
    rest_.remove_prefix(key.size());
    if (!rest_.starts_with('"')) return std::string(word());
    const auto end = rest_.find('"', 1);
    if (end == std::string_view::npos) return fail("a quotation mark is not closed");
    const std::string value(rest_.substr(1, end - 1));
    rest_ = trim(rest_.substr(end + 1));
    return value;
  }

 private:
  std::string_view rest_;
};

Result<Ignore> parse_line(Line line) {
  Ignore ignore;
  ignore.id = line.word();
  if (!is_rule(ignore.id))
    return fail("no rule has the id '" + ignore.id + "'; gpuwright check --list shows them");
  for (;;) {
    std::string* into = nullptr;
    std::string_view key;
    for (const std::string_view one : {"subject=", "until="})
      if (line.rest().starts_with(one)) key = one;
    if (key.empty()) break;
    into = key == "subject=" ? &ignore.subject : &ignore.until;
    auto value = line.value(key);
    if (!value) return tl::unexpected(value.error());
    if (value->empty()) return fail(std::string(key) + " is empty");
    *into = std::move(*value);
  }
  if (!ignore.until.empty() && !is_date(ignore.until))
    return fail("'" + ignore.until + "' is no date of the form 2026-12-31");
  ignore.reason = line.rest();
  if (ignore.reason.empty()) return fail("the reason is missing: write why behind the id");
  return ignore;
}

}  // namespace

Result<std::vector<Ignore>> parse_ignores(std::string_view text, const std::string& file) {
  std::vector<Ignore> ignores;
  std::size_t number = 0;
  for (const auto line : lines(text)) {
    ++number;
    if (trim(line).empty() || trim(line).starts_with('#')) continue;
    const std::string place = file + ":" + std::to_string(number);
    auto ignore = parse_line(Line(line));
    if (!ignore) return fail(ignore.error().message, place);
    ignore->place = place;
    ignores.push_back(std::move(*ignore));
  }
  return ignores;
}

std::vector<std::string> usual_ignore_files() {
  std::vector<std::string> files = {"/etc/gpuwright/ignore"};
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && *config == '/') {
    files.push_back(std::string(config) + "/gpuwright/ignore");
  } else if (home != nullptr && *home == '/') {
    files.push_back(std::string(home) + "/.config/gpuwright/ignore");
  }
  std::erase_if(files, [](const std::string& file) { return ::access(file.c_str(), F_OK) != 0; });
  return files;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  char text[16] = "";
  ::localtime_r(&now, &date);
  std::strftime(text, sizeof text, "%Y-%m-%d", &date);
  return text;
}

}  // namespace gpuwright::cli
