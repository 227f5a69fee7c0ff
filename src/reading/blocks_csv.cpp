#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "reading/blocks.h"

// nvidia-smi --query-gpu=FIELDS --format=csv[,noheader][,nounits]: a heading of field names with
// units, then a row a GPU. Without a heading the command line tells the fields.

namespace gpuwright {
namespace {

using Names = std::vector<std::string>;

// "clocks.current.sm [MHz]" and "clocks.sm" are one field.
std::string field_name(std::string_view text) {
  std::string name(trim(text.substr(0, text.find('['))));
  static const std::map<std::string, std::string> kOther = {
      {"clocks.current.sm", "clocks.sm"},
      {"clocks.current.graphics", "clocks.gr"},
      {"clocks.current.memory", "clocks.mem"},
      {"clocks_event_reasons.active", "clocks_throttle_reasons.active"},
      {"gpu_name", "name"},
      {"pci.bus_id", "address"},
      {"gpu_bus_id", "address"}};
  const auto found = kOther.find(name);
  return found == kOther.end() ? name : found->second;
}

Names pieces_of(const std::string& text) {
  Names out;
  for (const auto piece : split(text, ',')) out.emplace_back(trim(piece));
  return out;
}

bool is_field(const std::string& text) {
  static const RE2 kField(R"(^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*(?: \[[^\]]+\])?$)");
  return RE2::FullMatch(text, kField);
}

class SmiCsv : public Block {
 public:
  explicit SmiCsv(Names fields) : fields_(std::move(fields)) {}

  bool line(const std::string& text, const EventSink& sink) override {
    if (first_) {
      first_ = false;
      return true;
    }
    const auto cells = pieces_of(text);
    if (cells.size() != fields_.size()) return false;
    if (std::all_of(cells.begin(), cells.end(), is_field)) return true;
    if (text.find('$') != std::string::npos || text.find('#') != std::string::npos) return false;
    // A single cell could be any line; a value has few words.
    if (cells.size() == 1 && words(cells[0]).size() > 6) return false;
    Event event{.id = "smi.row", .text = text};
    for (std::size_t i = 0; i < cells.size(); ++i) event.values[fields_[i]] = cells[i];
    sink(std::move(event));
    return true;
  }

 private:
  Names fields_;
  bool first_ = true;
};

std::unique_ptr<Block> begin_heading(const std::string& line) {
  const auto cells = pieces_of(line);
  if (cells.size() < 2 || !std::all_of(cells.begin(), cells.end(), is_field)) return nullptr;
  Names fields;
  for (const auto& cell : cells) fields.push_back(field_name(cell));
  return std::make_unique<SmiCsv>(std::move(fields));
}

std::unique_ptr<Block> begin_command(const std::string& line) {
  static const RE2 kQuery(R"(--query-gpu=['"]?([a-z0-9_.,]+))");
  std::string list;
  if (!RE2::PartialMatch(line, kQuery, &list)) return nullptr;
  Names fields;
  for (const auto& one : pieces_of(list)) fields.push_back(field_name(one));
  return std::make_unique<SmiCsv>(std::move(fields));
}

constexpr BlockKind kKinds[] = {
    {"--query-gpu=", begin_command},
    {"name, |index, |uuid, |driver_version|memory.used|utilization.gpu|pcie.link.|temperature.gpu|"
     "clocks.|pstate",
     begin_heading},
};

}  // namespace

std::span<const BlockKind> csv_blocks() { return kKinds; }

}  // namespace gpuwright
