#include <re2/re2.h>

#include <optional>

#include "base/text.h"
#include "reading/blocks.h"

// Lists of packages with their heading: pip list, conda list. Lines of such lists that were cut out
// with grep are read by patterns of the packages that matter.

namespace gpuwright {
namespace {

class PackageList : public Block {
 public:
  explicit PackageList(bool conda) : conda_(conda) {}

  bool line(const std::string& text, const EventSink& sink) override {
    const auto parts = words(text);
    if (parts.empty()) return started_++ == 0;
    if (text.starts_with("#") || text.find("---") == 0 || parts[0] == "Package") return true;
    if (parts.size() < 2 || parts.size() > 5) return false;
    static const RE2 kName(R"(^[A-Za-z0-9][A-Za-z0-9._-]*$)"), kVersion(R"(^\d[\w.+!-]*$)");
    const std::string name(parts[0]), version(parts[1]);
    if (!RE2::FullMatch(name, kName) || !RE2::FullMatch(version, kVersion)) return false;
    Event event{.id = "package", .text = text};
    event.values = {{"name", lower(name)}, {"version", version}};
    if (conda_ && parts.size() >= 3) event.values["build"] = std::string(parts[2]);
    if (conda_ && parts.size() >= 4) event.values["channel"] = std::string(parts[3]);
    sink(std::move(event));
    return true;
  }

 private:
  bool conda_;
  int started_ = 0;
};

std::unique_ptr<Block> begin_pip(const std::string& line) {
  static const RE2 kHead(R"(^Package\s+Version(\s+\S.*)?$)");
  return RE2::FullMatch(line, kHead) ? std::make_unique<PackageList>(false) : nullptr;
}

std::unique_ptr<Block> begin_conda(const std::string& line) {
  static const RE2 kHead(R"(^#\s+Name\s+Version\s+Build.*$|^# packages in environment at .*$)");
  return RE2::FullMatch(line, kHead) ? std::make_unique<PackageList>(true) : nullptr;
}

constexpr BlockKind kKinds[] = {
    {"Package  ", begin_pip},
    {"# packages in environment|# Name ", begin_conda},
};

}  // namespace

std::span<const BlockKind> list_blocks() { return kKinds; }

}  // namespace gpuwright
