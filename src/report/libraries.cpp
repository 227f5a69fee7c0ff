#include "report/libraries.h"

#include <algorithm>

#include "base/text.h"

namespace gpuwright {
namespace {

// Most files of a table lie in one site-packages directory whose path fills a line by itself.
constexpr std::string_view kShort = "site-packages";

/// Shortens paths below the directory that holds the framework.
class Shortener {
 public:
  explicit Shortener(const Framework& framework)
      : directory_(framework.location.empty() ? "" : path_directory(framework.location)) {}

  /// Empty when there is nothing to shorten.
  const std::string& directory() const { return directory_; }
  std::string operator()(const std::string& path) const {
    if (directory_.size() < 2 || !path.starts_with(directory_ + "/")) return path;
    return std::string(kShort) + path.substr(directory_.size());
  }

 private:
  std::string directory_;
};

/// One library's row. The file comes last, since its length has no bound.
struct Row {
  std::string name, version, rule, file;
};

// "DT_RUNPATH of /x/libtensorflow_framework.so.2" is DT_RUNPATH in its column.
std::string stage_of(const std::string& rule) { return rule.substr(0, rule.find(" of ")); }

// The object whose tag it was, by its file name; empty when that is the opener above the table.
std::string tag_owner(const ResolvedLibrary& library, const Framework& framework) {
  const auto at = library.rule.find(" of ");
  if (at == std::string::npos) return "";
  const std::string owner(path_name(std::string_view(library.rule).substr(at + 4)));
  const bool is_opener = framework.opener.is_known() && path_name(*framework.opener) == owner;
  return is_opener ? "" : owner;
}

// The loader's words begin with the library's name, which the first column has said.
std::string failure_of(const ResolvedLibrary& library) {
  const std::string repeated = library.name + ": ";
  if (library.error.empty()) return library.state;
  return library.state + ": " +
         (library.error.starts_with(repeated) ? library.error.substr(repeated.size())
                                              : library.error);
}

Row row_of(const ResolvedLibrary& library, const Shortener& shortened) {
  if (library.state != "found") return {library.name, "-", "-", failure_of(library)};
  return {library.name, library.version.is_known() ? library.version->text() : "-",
          stage_of(library.rule),
          shortened(library.real_path.empty() ? library.path : library.real_path)};
}

void write_row_notes(Page& page, const ResolvedLibrary& library, const Framework& framework,
                     const Shortener& shortened, const std::string& indent) {
  const auto note = [&](const char* what, const std::string& which) {
    page.verbatim(indent, what + which, Tint::kFaint);
  };
  if (const auto owner = tag_owner(library, framework); !owner.empty()) note("tag of ", owner);
  if (library.state == "found")
    for (const auto& path : library.shadows) note("shadows ", shortened(path));
  for (const auto& path : library.elsewhere) note("not loaded: ", shortened(path));
}

void write_table(Page& page, const Framework& framework, const Shortener& shortened) {
  std::vector<Row> rows = {{"library", "version", "rule", "file"}};
  for (const auto& library : framework.libraries) rows.push_back(row_of(library, shortened));
  std::size_t name = 0, version = 0, rule = 0;
  for (const auto& row : rows) {
    name = std::max(name, columns(row.name) + 2);
    version = std::max(version, columns(row.version) + 2);
    rule = std::max(rule, columns(row.rule) + 2);
  }
  const std::string indent(2 + name + version + rule, ' ');
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const bool missing = i > 0 && framework.libraries[i - 1].state != "found";
    page.verbatim("  ",
                  pad(row.name, name) + pad(row.version, version) + pad(row.rule, rule) + row.file,
                  i == 0    ? Tint::kFaint
                  : missing ? Tint::kBad
                            : Tint::kPlain);
    if (i > 0) write_row_notes(page, framework.libraries[i - 1], framework, shortened, indent);
  }
}

void write_framework(Page& page, const Framework& framework) {
  const Shortener shortened(framework);
  const std::string version = framework.version.is_known() ? framework.version->text() : "";
  page.gap();
  page.paragraph("libraries of " + name_and_version(framework.name, version), "", Tint::kBold);
  if (shortened.directory().size() > 1)
    page.verbatim("  " + std::string(kShort) + " is ", shortened.directory(), Tint::kFaint);
  if (framework.opener.is_known())
    page.verbatim("  opened by ", shortened(*framework.opener), Tint::kFaint);
  if (framework.libraries.empty()) {
    page.paragraph("  ", "none");
  } else {
    write_table(page, framework, shortened);
  }
}

}  // namespace

std::string name_and_version(const std::string& name, const std::string& version) {
  return version.empty() ? name : name + " " + version;
}

void write_libraries(Page& page, const std::vector<Framework>& frameworks) {
  for (const auto& framework : frameworks) write_framework(page, framework);
  if (!frameworks.empty()) return;
  page.gap();
  page.paragraph("libraries: ", "no framework in this environment");
}

}  // namespace gpuwright
