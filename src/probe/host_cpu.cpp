#include "probe/host_cpu.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

// What wheels and CUDA programs are compiled for, or test at start.
constexpr std::array<std::string_view, 16> kOfInterest = {
    "sse3", "pni",  "ssse3",   "sse4_1",   "sse4_2",      "avx",      "f16c",  "fma",
    "avx2", "bmi2", "avx512f", "avx512bw", "avx512_vnni", "amx_tile", "asimd", "sve"};

bool is_of_interest(std::string_view feature) {
  return std::find(kOfInterest.begin(), kOfInterest.end(), feature) != kOfInterest.end();
}

// "flags\t\t: fpu vme ...": what follows the colon of the first such line.
std::optional<std::string_view> field(std::string_view text, std::string_view key) {
  for (const auto line : lines(text)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    return trim(line.substr(colon + 1));
  }
  return std::nullopt;
}

}  // namespace

CpuInfo parse_cpu_info(std::string_view text) {
  CpuInfo info;
  info.model = printable(field(text, "model name").value_or(""));
  auto features = field(text, "flags");
  if (!features) features = field(text, "Features");
  info.has_features = features.has_value();
  for (const auto feature : words(features.value_or("")))
    if (is_of_interest(feature)) info.features.emplace_back(feature);
  return info;
}

// The kernel's list leaves out what it or a hypervisor switched off, which is what a program sees.
void fill_cpu(const System& system, Host& host) {
  const std::string path = "/proc/cpuinfo";
  const auto text = system.read(path, 8192);
  if (!text) {
    host.cpu_model = fact_of_proc_error<std::string>(system, path, text.error());
    host.cpu_features = fact_of_proc_error<std::vector<std::string>>(system, path, text.error());
    return;
  }
  auto info = parse_cpu_info(*text);
  host.cpu_model = info.model.empty() ? Fact<std::string>::absent(path)
                                      : Fact<std::string>::known(info.model, path);
  host.cpu_features =
      info.has_features
          ? Fact<std::vector<std::string>>::known(std::move(info.features), path)
          : Fact<std::vector<std::string>>::unknown(path, "has no line of flags or features");
}

}  // namespace gpuwright
