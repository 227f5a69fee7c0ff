#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "reading/blocks.h"

// nvidia-smi, by every driver branch since 418. Its table has two lines a GPU, three since MIG came
// (450); columns have moved and widened, so cells are taken between the bars and not by place. Its
// -q form is an indented outline of "key : value" lines, of which people often paste a part.

namespace gpuwright {
namespace {

// ------------------------------------------------------------------------ the table

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  const auto pieces = split(line, '|');
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) cells.emplace_back(trim(pieces[i]));
  return cells;
}

bool is_rule(std::string_view line) {
  return line.find_first_not_of("|+-= ") == std::string_view::npos;
}

// "00000000:01:00.0" and "0000:01:00.0" are one address; sysfs writes the short form.
std::string pci_address(std::string text) {
  text = lower(text);
  if (text.size() == 16 && text.starts_with("0000")) text.erase(0, 4);
  return text;
}

class SmiTable : public Block {
 public:
  bool line(const std::string& text, const EventSink& sink) override {
    if (is_rule(text)) {
      finish(sink);
      return true;
    }
    // A prefix of a log collector or of a terminal may stand in front.
    const auto bar = text.find('|');
    if (bar == std::string::npos) return false;
    const auto row = std::string(trim(text.substr(bar)));
    // A command with a pipe is no row.
    if (row.back() != '|') return false;
    if (row.find("NVIDIA-SMI") != std::string::npos) return true;
    const auto cells = cells_of(row);
    if (row.find("No running processes found") != std::string::npos) {
      sink({.id = "smi.no-processes", .text = text});
      return true;
    }
    if (row.find("No MIG devices found") != std::string::npos) {
      sink({.id = "smi.no-mig-devices", .text = text});
      return true;
    }
    if (cells.size() == 3) return gpu_line(text, cells, sink);
    if (cells.size() == 1) process_line(text, cells[0], sink);
    return true;
  }
  void end(const EventSink& sink) override { finish(sink); }

 private:
  void finish(const EventSink& sink) {
    if (gpu_) sink(*std::exchange(gpu_, std::nullopt));
  }

  bool gpu_line(const std::string& text, const std::vector<std::string>& cells,
                const EventSink& sink) {
    static const RE2 kFirst(R"(^(\d+)\s+(.+?)\s+(On|Off|N/A)$)");
    static const RE2 kBus(R"(^([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s+(\S+)$)");
    static const RE2 kSecond(R"(^(\S+)\s+(\S+)\s+(P\d+|N/A|ERR!)\s+(\S+(?: \S+)?)\s*/\s*(\S+)$)");
    static const RE2 kMemory(R"(^(\d+)MiB\s*/\s*(\d+)MiB$)");
    static const RE2 kLoad(R"(^(\S+?)%?\s+(\S.*)$)");
    std::string index, name, persistence, address, display, fan, temperature, state, power, limit,
        used, total, load, mode;
    if (RE2::FullMatch(cells[0], kFirst, &index, &name, &persistence) &&
        RE2::FullMatch(cells[1], kBus, &address, &display)) {
      finish(sink);
      gpu_ = Event{.id = "smi.gpu", .text = text};
      gpu_->values = {{"index", index},
                      {"name", name},
                      {"persistence", persistence},
                      {"address", pci_address(address)},
                      {"ecc", cells[2]}};
    } else if (gpu_ &&
               RE2::FullMatch(cells[0], kSecond, &fan, &temperature, &state, &power, &limit)) {
      gpu_->values["temperature"] = temperature;
      gpu_->values["state"] = state;
      gpu_->values["power"] = power;
      gpu_->values["power_limit"] = limit;
      if (RE2::FullMatch(cells[1], kMemory, &used, &total)) {
        gpu_->values["used_mib"] = used;
        gpu_->values["total_mib"] = total;
      }
      if (RE2::FullMatch(cells[2], kLoad, &load, &mode)) {
        gpu_->values["utilisation"] = load;
        gpu_->values["compute_mode"] = mode;
      }
      gpu_->text += " / " + text;
    } else if (gpu_ && cells[0].empty() && !cells[2].empty()) {
      gpu_->values["mig"] = cells[2];
    }
    return true;
  }

  static void process_line(const std::string& text, const std::string& cell,
                           const EventSink& sink) {
    static const RE2 kProcess(
        R"(^(\d+)\s+(?:\S+\s+\S+\s+)?(\d+)\s+([CGM+]+)\s+(.*?)\s+(\d+MiB|N/A)$)");
    std::string gpu, pid, type, name, memory;
    if (!RE2::FullMatch(cell, kProcess, &gpu, &pid, &type, &name, &memory)) return;
    Event event{.id = "smi.process", .text = text};
    event.values = {{"gpu", gpu}, {"pid", pid}, {"type", type}, {"name", name}, {"memory", memory}};
    sink(std::move(event));
  }

  std::optional<Event> gpu_;
};

// Literals do not tell upper from lower case: a command line holds this one too.
std::unique_ptr<Block> begin_table(const std::string& line) {
  if (line.find("NVIDIA-SMI ") == std::string::npos || line.find('|') == std::string::npos)
    return nullptr;
  return std::make_unique<SmiTable>();
}

// --------------------------------------------------------------------------- nvidia-smi -q

// Keys worth an event, by the end of their path. All else of the outline is passed over.
constexpr std::string_view kKeys[] = {
    "Driver Version",
    "CUDA Version",
    "Attached GPUs",
    "Product Name",
    "Persistence Mode",
    "MIG Mode/Current",
    "Compute Mode",
    "GPU Virtualization Mode/Virtualization Mode",
    "vGPU Software Licensed Product/License Status",
    "GRID Licensed Product/License Status",
    "Fabric/State",
    "Fabric/Status",
    "PCIe Generation/Max",
    "PCIe Generation/Current",
    "PCIe Generation/Device Max",
    "PCIe Generation/Device Current",
    "PCIe Generation/Host Max",
    "Link Width/Max",
    "Link Width/Current",
    "FB Memory Usage/Total",
    "FB Memory Usage/Used",
    "Utilization/Gpu",
    "ECC Mode/Current",
    "Volatile/DRAM Uncorrectable",
    "Volatile/SRAM Uncorrectable",
    "Volatile/SRAM Uncorrectable Parity",
    "Volatile/SRAM Uncorrectable SEC-DED",
    "Aggregate/DRAM Uncorrectable",
    "Aggregate/SRAM Uncorrectable",
    "Remapped Rows/Uncorrectable Error",
    "Remapped Rows/Pending",
    "Remapped Rows/Remapping Failure Occurred",
    "Retired Pages/Pending Page Blacklist",
    "Retired Pages/Pending",
    "Retired Pages/Double Bit ECC",
    "Temperature/GPU Current Temp",
    "GPU Recovery Action",
};
// Sections whose every key matters when it is "Active".
constexpr std::string_view kActiveSections[] = {"Clocks Throttle Reasons", "Clocks Event Reasons"};
constexpr std::string_view kTitles[] = {
    "Remapped Rows", "Fabric",        "Clocks Throttle Reasons", "Clocks Event Reasons",
    "MIG Mode",      "GPU Link Info", "Retired Pages",           "ECC Errors"};

class SmiOutline : public Block {
 public:
  bool line(const std::string& text, const EventSink& sink) override {
    const auto content = trim(text);
    if (content.empty()) return ++blank_ < 3;
    blank_ = 0;
    if (content.find("NVSMI LOG") != std::string_view::npos) return true;
    const auto indent = text.find_first_not_of(" \t");
    const auto colon = content.find(" : ");
    if (content.starts_with("GPU ") && content.find(':') != std::string_view::npos &&
        colon == std::string_view::npos) {
      address_ = pci_address(std::string(content.substr(4)));
      path_.clear();
      return true;
    }
    while (!path_.empty() && path_.back().first >= indent) path_.pop_back();
    if (colon == std::string_view::npos) {
      if (indent == 0 || content.size() > 60) return false;
      path_.emplace_back(indent, std::string(content));
      return path_.size() < 8;
    }
    const auto key = std::string(trim(content.substr(0, colon)));
    emit(text, key, std::string(trim(content.substr(colon + 3))), sink);
    return true;
  }

 private:
  void emit(const std::string& text, const std::string& key, const std::string& value,
            const EventSink& sink) const {
    const auto section = path_.empty() ? "" : path_.back().second;
    const auto full = section.empty() ? key : section + "/" + key;
    const bool active =
        value == "Active" && std::any_of(path_.begin(), path_.end(), [](const auto& part) {
          return std::find(std::begin(kActiveSections), std::end(kActiveSections), part.second) !=
                 std::end(kActiveSections);
        });
    const bool wanted = std::any_of(std::begin(kKeys), std::end(kKeys), [&](std::string_view one) {
      return full == one || (key == one && one.find('/') == std::string_view::npos);
    });
    if (!wanted && !active) return;
    Event event{.id = "smi.q", .text = std::string(trim(text))};
    event.values = {{"gpu", address_},
                    {"key", active ? "Clocks Event Reasons/" + key : full},
                    {"value", value}};
    sink(std::move(event));
  }

  std::string address_;
  std::vector<std::pair<std::size_t, std::string>> path_;  ///< Indentation and title.
  int blank_ = 0;
};

std::unique_ptr<Block> begin_outline(const std::string& line) {
  const auto content = trim(line);
  const bool title =
      std::find(std::begin(kTitles), std::end(kTitles), content) != std::end(kTitles);
  static const RE2 kGpu(R"(^GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d$)");
  const bool gpu = RE2::FullMatch(re2::StringPiece(content.data(), content.size()), kGpu);
  if (!title && !gpu && content.find("NVSMI LOG") == std::string_view::npos) return nullptr;
  return std::make_unique<SmiOutline>();
}

constexpr BlockKind kKinds[] = {
    {"NVIDIA-SMI ", begin_table},
    {"=NVSMI LOG=|Remapped Rows|    Fabric|Clocks Throttle Reasons|Clocks Event Reasons|MIG Mode|"
     "GPU Link Info|Retired Pages|ECC Errors|GPU 0000",
     begin_outline},
};

}  // namespace

std::span<const BlockKind> smi_blocks() { return kKinds; }

}  // namespace gpuwright
