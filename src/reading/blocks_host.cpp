#include <re2/re2.h>

#include <optional>
#include <string>

#include "base/text.h"
#include "reading/blocks.h"

// What the host says about devices and services in several lines: lspci (plain, -nn, -k, -vvv) and
// systemctl status. Each line that matters is an event of its own, which names the device or
// service of the heading.

namespace gpuwright {
namespace {

// lspci: a line a device, what -k and -v add is indented. People cut it with grep, so any part may
// be missing.
class PciDevice : public Block {
 public:
  PciDevice(std::string address, std::string kind, std::string name, std::string device,
            std::string revision, bool nvidia)
      : address_(std::move(address)),
        kind_(std::move(kind)),
        name_(std::move(name)),
        device_(std::move(device)),
        revision_(std::move(revision)),
        nvidia_(nvidia) {}

  bool line(const std::string& text, const EventSink& sink) override {
    if (first_) {
      first_ = false;
      heading_ = text;
      if (nvidia_) emit("pci.device", text, {}, sink);
      return true;
    }
    if (text.empty() || (text[0] != ' ' && text[0] != '\t')) return false;
    static const RE2 kDriver(R"(Kernel driver in use: (\S+))"), kModules(R"(Kernel modules: (.+))"),
        kState(R"(LnkSta:\s+Speed ([\d.]+)GT/s(?: \((\w+)\))?, Width x(\d+)(?: \((\w+)\))?)"),
        kCapability(R"(LnkCap:.*Speed ([\d.]+)GT/s, Width x(\d+))"), kAcs(R"(ACSCtl:\s*(.+))");
    std::string one, two, three, four;
    if (RE2::PartialMatch(text, kDriver, &one)) {
      driver_ = one;
      if (nvidia_) emit("pci.driver", text, {{"driver", one}}, sink);
    } else if (RE2::PartialMatch(text, kModules, &one)) {
      modules_ = one;
    } else if (RE2::PartialMatch(text, kCapability, &one, &two)) {
      speed_ = one;
      width_ = two;
    } else if (RE2::PartialMatch(text, kState, &one, &two, &three, &four)) {
      if (nvidia_)
        emit("pci.link", text,
             {{"speed", one}, {"width", three}, {"speed_max", speed_}, {"width_max", width_}},
             sink);
    } else if (RE2::PartialMatch(text, kAcs, &one)) {
      emit("pci.acs", text, {{"control", one}}, sink);
    }
    return true;
  }

  void end(const EventSink& sink) override {
    if (nvidia_ && driver_.empty() && !modules_.empty())
      emit("pci.no-driver", heading_, {{"modules", modules_}}, sink);
  }

 private:
  void emit(const char* id, const std::string& text, std::map<std::string, std::string> values,
            const EventSink& sink) const {
    Event event{.id = id, .text = std::string(trim(text))};
    if (text != heading_) event.text = address_ + " " + name_ + ": " + event.text;
    event.values = std::move(values);
    event.values["address"] = address_;
    event.values["class"] = kind_;
    event.values["name"] = name_;
    event.values["device"] = device_;
    event.values["revision"] = revision_;
    sink(std::move(event));
  }

  std::string address_, kind_, name_, device_, revision_;
  bool nvidia_;
  bool first_ = true;
  std::string heading_, driver_, modules_, speed_, width_;
};

// "NVIDIA Corporation TU106M [GeForce RTX 2060 Mobile]" is what people call GeForce RTX 2060
// Mobile.
std::string model_of(const std::string& text) {
  static const RE2 kModel(R"(NVIDIA Corporation\s+\S*\s*\[([^\]]+)\])");
  std::string model;
  if (RE2::PartialMatch(text, kModel, &model) && model.find(':') == std::string::npos) return model;
  static const RE2 kTail(R"(\s*(?:\[[0-9a-f]{4}:[0-9a-f]{4}\])?\s*(?:\(.*\))*\s*$)");
  model = text;
  RE2::Replace(&model, kTail, "");
  return model;
}

std::unique_ptr<Block> begin_pci(const std::string& line) {
  static const RE2 kDevice(
      R"(^\s*(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?:"?)([A-Z0-9][^:\["]+?)(?: \[[0-9a-f]{4}\])?: (.+)$)");
  static const RE2 kId(R"(\[10de:([0-9a-f]{4})\])"), kRevision(R"(\(rev ([0-9a-f]{2})\))");
  std::string domain, slot, kind, rest, device, revision;
  if (!RE2::FullMatch(line, kDevice, &domain, &slot, &kind, &rest)) return nullptr;
  const bool display =
      kind.find("controller") != std::string::npos &&
      (kind.starts_with("VGA") || kind.starts_with("3D") || kind.starts_with("Display"));
  const bool nvidia = rest.find("NVIDIA") != std::string::npos && display;
  if (!nvidia && kind.find("bridge") == std::string::npos) return nullptr;
  RE2::PartialMatch(rest, kId, &device);
  RE2::PartialMatch(rest, kRevision, &revision);
  return std::make_unique<PciDevice>((domain.empty() ? "0000" : domain) + ":" + slot, kind,
                                     model_of(rest), device, revision, nvidia);
}

class Service : public Block {
 public:
  explicit Service(std::string name) : name_(std::move(name)) {}
  bool line(const std::string& text, const EventSink& sink) override {
    if (first_) {
      first_ = false;
      return true;
    }
    if (text.empty() || text[0] != ' ') return false;
    static const RE2 kActive(R"(^\s+Active: (\w+)(?: \(([^)]*)\))?)");
    std::string state, detail;
    if (RE2::PartialMatch(text, kActive, &state, &detail)) {
      Event event{.id = "service.state", .text = name_ + ": " + std::string(trim(text))};
      event.values = {{"name", name_}, {"state", state}, {"detail", detail}};
      sink(std::move(event));
    }
    return true;
  }

 private:
  std::string name_;
  bool first_ = true;
};

std::unique_ptr<Block> begin_service(const std::string& line) {
  static const RE2 kHeading(R"(^\s*(?:[^\w\s]+|x|\*)?\s*([\w@-]+)\.service - )");
  std::string name;
  if (!RE2::PartialMatch(line, kHeading, &name)) return nullptr;
  return std::make_unique<Service>(name);
}

constexpr BlockKind kKinds[] = {
    {"VGA compatible controller|3D controller|Display controller|PCI bridge|Host bridge",
     begin_pci},
    {".service - ", begin_service},
};

}  // namespace

std::span<const BlockKind> host_blocks() { return kKinds; }

}  // namespace gpuwright
