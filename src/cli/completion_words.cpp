#include "cli/completion_words.h"

#include "base/embedded.h"
#include "base/text.h"
#include "diagnose/diagnose.h"

namespace gpuwright {
extern const EmbeddedFile k_finding_pages[];
}

namespace gpuwright::cli {
namespace {

bool names(std::string_view placeholder, std::string_view what) {
  return placeholder.find(what) != std::string_view::npos;
}

void add_placeholders(std::string_view placeholder, Words& out) {
  if (names(placeholder, "SHELL")) out.words = {"bash", "zsh", "fish"};
  if (names(placeholder, "COMMAND"))
    for (const auto& command : commands()) out.words.emplace_back(command.name);
  if (names(placeholder, "RUNG"))
    for (const auto& table : all_rules())
      if (!table.log && (out.words.empty() || out.words.back() != name_of(table.rung)))
        out.words.emplace_back(name_of(table.rung));
  if (names(placeholder, "ID"))
    for (const auto* page = k_finding_pages; page->name != nullptr; ++page)
      out.words.emplace_back(page->name);
  out.directories = names(placeholder, "DIR");
  out.files = names(placeholder, "FILE") || names(placeholder, "PATH");
  out.list = placeholder.ends_with(",...");
}

}  // namespace

Words words_of_value(const Option& option) {
  Words out;
  add_placeholders(option.value, out);
  for (const auto word : words(option.choices)) out.words.emplace_back(word);
  return out;
}

Words words_of_operand(const Command& command) {
  Words out;
  add_placeholders(command.operand, out);
  return out;
}

std::string in_single_quotes(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out;
}

}  // namespace gpuwright::cli
