#include <algorithm>

#include "base/embedded.h"
#include "base/text.h"
#include "cli/command.h"

namespace gpuwright {
extern const EmbeddedFile k_finding_pages[];
extern const EmbeddedFile k_guides[];
}

namespace gpuwright::cli {
namespace {

const EmbeddedFile* find_page(std::string_view id) {
  for (const auto* page = k_finding_pages; page->name != nullptr; ++page)
    if (page->name == id) return page;
  for (const auto* page = k_guides; page->name != nullptr; ++page)
    if (page->name == id) return page;
  return nullptr;
}

// A page begins with "# id: what it says in a few words".
std::string title_of(const EmbeddedFile& page) {
  const auto title = value_after(page.text(), "# " + std::string(page.name) + ":");
  return std::string(title.value_or(""));
}

std::string list_of_findings() {
  std::size_t width = 0;
  for (const auto* page = k_finding_pages; page->name != nullptr; ++page)
    width = std::max(width, std::string_view(page->name).size());
  std::string out = "\nFindings (gpuwright help ID explains one):\n";
  for (const auto* page = k_finding_pages; page->name != nullptr; ++page) {
    const std::string id = page->name;
    out += "  " + id + std::string(width + 2 - id.size(), ' ') + title_of(*page) + "\n";
  }
  return out;
}

// "version-mismatch" where "driver.version-mismatch" was meant.
std::string suggestion(std::string_view typed) {
  for (const auto* page = k_finding_pages; page->name != nullptr; ++page)
    if (std::string_view(page->name).find(typed) != std::string_view::npos)
      return std::string("; did you mean ") + page->name + "?";
  return "; gpuwright help lists both";
}

}  // namespace

Result<int> run_help(const Arguments& arguments, Output& output) {
  if (arguments.operands().empty()) {
    output.data(overview_text() + list_of_findings());
    return kAllRight;
  }
  if (arguments.operands().size() > 1) return fail("one finding or command at a time");
  const std::string& topic = arguments.operands()[0];
  if (const auto* page = find_page(topic)) {
    output.data(page->text());
  } else if (const auto* command = find_command(topic)) {
    output.data(help_text(*command));
  } else {
    return fail("no finding or command '" + topic + "'" + suggestion(topic));
  }
  return kAllRight;
}

}  // namespace gpuwright::cli
