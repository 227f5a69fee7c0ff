#include "loader/config_parts.h"

#include <algorithm>
#include <set>
#include <span>

#include "base/text.h"

// The pieces that make_config puts together, each from one text.

namespace gpuwright::loader {
namespace {

constexpr std::uint16_t kI386 = 3;
constexpr std::uint16_t kX86_64 = 62;
constexpr std::uint16_t kAarch64 = 183;

// A default directory as SYSTEM_DIRS of glibc holds it: absolute, with a slash at its end.
bool is_system_directory(std::string_view text) {
  return text.starts_with('/') && text.ends_with('/') && text.find("/lib") != text.npos &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

// The sets of glibc's get_isa_level, in the kernel's spelling ("pni" is SSE3, "abm" holds LZCNT).
// The kernel hides AVX when it does not save the registers, so "listed" means "usable".
constexpr std::string_view kLevel2[] = {"cx16",  "lahf_lm", "popcnt", "pni",
                                        "ssse3", "sse4_1",  "sse4_2"};
constexpr std::string_view kLevel3[] = {"avx", "avx2", "f16c", "fma", "abm", "movbe"};
constexpr std::string_view kLevel4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

using Flags = std::set<std::string_view>;

bool has_all(const Flags& flags, std::span<const std::string_view> wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](std::string_view flag) { return flags.contains(flag); });
}

// glibc replaces AT_PLATFORM on Intel processors only, and counts AVX-512 as a capability there
// (init_cpu_features of sysdeps/x86/cpu-features.c).
void refine_for_intel(const Flags& flags, Processor& processor) {
  constexpr std::string_view kHaswell[] = {"avx2", "bmi1", "bmi2", "abm", "movbe", "popcnt", "fma"};
  constexpr std::string_view kXeonPhi[] = {"avx512cd", "avx512er", "avx512pf"};
  constexpr std::string_view kAvx512[] = {"avx512cd", "avx512bw", "avx512dq", "avx512vl"};
  if (has_all(flags, kXeonPhi))
    processor.platform = "xeon_phi";
  else if (has_all(flags, kHaswell))
    processor.platform = "haswell";
  if (has_all(flags, kAvx512) && !flags.contains("avx512er"))
    processor.legacy_capabilities.emplace_back("avx512_1");
}

Flags flags_of(std::string_view cpuinfo, std::string_view key) {
  const auto line = value_after(cpuinfo, key).value_or("");
  const auto colon = line.find(':');
  if (colon == line.npos) return {};
  const auto list = words(line.substr(colon + 1));
  return {list.begin(), list.end()};
}

}  // namespace

// The texts stand one behind the other, each with its NUL, sometimes at two places. Of several runs
// the longest is taken, and the first of equals.
std::vector<std::string> parse_system_directories(std::string_view image) {
  std::vector<std::string> best;
  for (auto at = image.find("/lib"); at != image.npos; at = image.find("/lib", at)) {
    const auto before = image.rfind('\0', at);
    std::size_t start = before == image.npos ? 0 : before + 1;
    std::vector<std::string> run;
    for (;;) {
      const auto rest = image.substr(start);
      const auto text = rest.substr(0, rest.find('\0'));
      if (!is_system_directory(text)) break;
      run.emplace_back(text.substr(0, text.size() - 1));
      start += std::min(text.size() + 1, rest.size());
    }
    at = std::max(at + 1, start);
    if (run.size() > best.size()) best = std::move(run);
  }
  return best;
}

std::optional<Version> parse_glibc_release(std::string_view image) {
  constexpr std::string_view kKey = "release version ";
  for (auto at = image.find(kKey); at != image.npos; at = image.find(kKey, at + 1)) {
    const auto rest = image.substr(at + kKey.size());
    auto text = rest.substr(0, rest.find_first_not_of("0123456789."));
    while (text.ends_with('.')) text.remove_suffix(1);
    const auto version = Version::parse(text);
    if (version) return *version;
  }
  return std::nullopt;
}

Processor parse_processor(std::string_view cpuinfo, std::uint16_t machine) {
  Processor processor;
  if (machine == kAarch64) {
    processor.platform = "aarch64";
    if (flags_of(cpuinfo, "Features").contains("atomics"))
      processor.legacy_capabilities.emplace_back("atomics");
  }
  if (machine != kX86_64) return processor;
  const Flags flags = flags_of(cpuinfo, "flags");
  processor.platform = "x86_64";
  processor.legacy_capabilities.emplace_back("x86_64");
  const auto vendor = value_after(cpuinfo, "vendor_id").value_or("");
  if (vendor.find("GenuineIntel") != vendor.npos) refine_for_intel(flags, processor);
  const std::pair<const char*, std::span<const std::string_view>> levels[] = {
      {"x86-64-v2", kLevel2}, {"x86-64-v3", kLevel3}, {"x86-64-v4", kLevel4}};
  for (const auto& [name, wanted] : levels) {
    if (!has_all(flags, wanted)) break;
    processor.levels.insert(processor.levels.begin(), name);
  }
  return processor;
}

// All combinations of "tls", the platform and the capabilities, the fullest first: what
// _dl_important_hwcaps built until it was taken out in 2.37. On a processor whose platform is
// called like a capability ("x86_64") some come out twice; one is enough.
std::vector<std::string> legacy_hwcaps(const Processor& processor) {
  std::vector<std::string> parts = processor.legacy_capabilities;
  if (!processor.platform.empty()) parts.push_back(processor.platform);
  parts.emplace_back("tls");
  std::vector<std::string> result;
  for (std::size_t set = (std::size_t{1} << parts.size()) - 1; set > 0; --set) {
    std::vector<std::string> chosen;
    for (std::size_t i = parts.size(); i-- > 0;)
      if ((set >> i & 1) != 0) chosen.push_back(parts[i]);
    auto text = join(chosen, "/");
    if (std::find(result.begin(), result.end(), text) == result.end())
      result.push_back(std::move(text));
  }
  return result;
}

std::string lib_token_of(std::string_view directory) {
  const auto at = directory.rfind("/lib");
  return at == directory.npos ? "lib" : std::string(directory.substr(at + 1));
}

std::vector<std::string> parse_preload_variable(std::string_view text, bool secure) {
  std::vector<std::string> names;
  for (const auto piece : split(text, ' '))
    for (const auto name : split(piece, ':'))
      if (!name.empty() && !(secure && name.find('/') != name.npos)) names.emplace_back(name);
  return names;
}

std::vector<std::string> parse_preload_file(std::string_view text) {
  std::vector<std::string> names;
  for (const auto line : lines(text)) {
    const auto kept = line.substr(0, line.find('#'));
    for (const auto piece : split(kept, ':'))
      for (const auto name : words(piece)) names.emplace_back(name);
  }
  return names;
}

std::string usual_interpreter(std::uint8_t elf_class, std::uint16_t machine) {
  switch (machine) {
    case kX86_64:
      return elf_class == 2 ? "/lib64/ld-linux-x86-64.so.2" : "/libx32/ld-linux-x32.so.2";
    case kAarch64:
      return "/lib/ld-linux-aarch64.so.1";
    case kI386:
      return "/lib/ld-linux.so.2";
    default:
      return {};
  }
}

}  // namespace gpuwright::loader
