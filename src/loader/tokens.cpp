#include "loader/tokens.h"

#include <algorithm>

#include "base/text.h"

// Dynamic string tokens (ld.so(8)): $NAME or ${NAME} in DT_RPATH, DT_RUNPATH, DT_NEEDED, in
// LD_LIBRARY_PATH and in the argument of dlopen. A name runs as far as letters, digits and
// underscores go, so "$ORIGINAL" is plain text. After glibc's _dl_dst_substitute (elf/dl-load.c).

namespace gpuwright::loader {
namespace {

bool continues_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// Length of `name` at the front of `text`, which follows a '$', braces included; 0 when it is not.
std::size_t token_length(std::string_view text, std::string_view name) {
  const bool braces = text.starts_with('{');
  if (braces) text.remove_prefix(1);
  if (!text.starts_with(name)) return 0;
  text.remove_prefix(name.size());
  if (braces) return text.starts_with('}') ? name.size() + 2 : 0;
  return !text.empty() && continues_name(text.front()) ? 0 : name.size();
}

std::string without_dots(std::string_view path) {
  std::vector<std::string> kept;
  for (const auto piece : split(path, '/')) {
    if (piece == ".." && !kept.empty()) kept.pop_back();
    if (!piece.empty() && piece != "." && piece != "..") kept.emplace_back(piece);
  }
  return "/" + join(kept, "/") + (kept.empty() ? "" : "/");
}

bool is_trusted(std::string_view path, const Tokens& tokens) {
  if (tokens.trusted_directories == nullptr || path.empty()) return false;
  const std::string plain = without_dots(path);
  return std::any_of(
      tokens.trusted_directories->begin(), tokens.trusted_directories->end(),
      [&](const std::string& directory) { return plain.starts_with(path_join(directory, "")); });
}

}  // namespace

std::string expand_tokens(std::string_view text, const Tokens& tokens) {
  std::string result;
  bool check_trust = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      result += text[at++];
      continue;
    }
    const auto rest = text.substr(at + 1);
    std::size_t length = 0;
    const std::string* value = nullptr;
    if ((length = token_length(rest, "ORIGIN")) != 0) {
      const bool alone = length == rest.size() || rest[length] == '/';
      if (tokens.secure && !(at == 0 && alone)) return {};
      check_trust = tokens.secure && tokens.of_program;
      value = &tokens.origin;
    } else if ((length = token_length(rest, "PLATFORM")) != 0) {
      value = &tokens.platform;
    } else if ((length = token_length(rest, "LIB")) != 0) {
      value = &tokens.lib;
    }
    if (value != nullptr && value->empty()) return {};
    result += value != nullptr ? *value : "$";
    at += 1 + length;
  }
  return check_trust && !is_trusted(result, tokens) ? std::string() : result;
}

bool has_tokens(std::string_view text) {
  for (auto at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    const auto rest = text.substr(at + 1);
    if (token_length(rest, "ORIGIN") != 0 || token_length(rest, "PLATFORM") != 0 ||
        token_length(rest, "LIB") != 0)
      return true;
  }
  return false;
}

}  // namespace gpuwright::loader
