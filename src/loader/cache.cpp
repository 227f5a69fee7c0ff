#include "loader/cache.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/text.h"

// /etc/ld.so.cache, written by ldconfig(8), read by glibc's elf/dl-cache.c; layout in
// sysdeps/generic/dl-cache.h of glibc. The form of glibc >= 2.2:
//   0  "glibc-ld.so.cache1.1"  20 u32 rows  24 u32 bytes of strings  28 u8 endianness (2: little)
//   32 u32 offset of the extension block, 0 for none;  48 rows of 24 bytes
//   row: u32 flags, u32 key, u32 value (string offsets from the header), u32 unused, u64 hwcap
// It may stand behind a table of the older form ("ld.so-1.7.0", u32 rows at 12, rows of 12 bytes),
// aligned to 8. Rows are sorted descending. hwcap bit 62 marks a row for a glibc-hwcaps
// sub-directory: the low 32 bits are an index into the extension's names, bits 32..41 the x86
// level.

namespace gpuwright::loader {
namespace {

constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::size_t kHeaderSize = 48;
constexpr std::size_t kRowSize = 24;
constexpr std::size_t kOldHeaderSize = 16;
constexpr std::size_t kOldRowSize = 12;
constexpr std::uint8_t kBigEndian = 3;
constexpr std::uint32_t kExtensionMagic = 0xeaa42174;
constexpr std::uint32_t kHwcapsTag = 1;
constexpr std::uint64_t kNamedHwcaps = 1ULL << 62;
constexpr std::size_t kMaxCacheBytes = 64 << 20;
// Names of the extension: glibc knows four sub-directories.
constexpr std::size_t kMaxHwcaps = 64;
// No name or path of a row is longer than what open(2) takes.
constexpr std::size_t kMaxString = 4096;

std::uint32_t u32_at(std::string_view text, std::size_t offset) {
  std::uint32_t value = 0;
  if (offset <= text.size() && text.size() - offset >= sizeof value)
    std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

// FLAG_ELF_LIBC6 with the processor's bits, _DL_CACHE_DEFAULT_ID of each port.
std::uint32_t flags_of(const Config& config) {
  switch (config.machine) {
    case 62:
      return config.elf_class == 2 ? 0x0303 : 0x0803;  // x86-64, x32
    case 183:
      return 0x0a03;  // aarch64
    case 21:
      return 0x0503;  // ppc64
    case 22:
      return 0x0403;  // s390x
    case 243:
      return 0x1003;  // riscv64, double float
    default:
      return 0x0003;  // i386
  }
}

// Bits of the x86 levels that the CPU has: bit 0 is the baseline, bit 1 x86-64-v2, ...
std::uint64_t isa_bits(const Config& config) {
  return (std::uint64_t{2} << config.cpu_levels.size()) - 1;
}

// The search does not end at a row for a better sub-directory, so any number larger than those.
constexpr std::size_t kPlainRank = std::numeric_limits<std::size_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the number at the front. Wraps around, as the loader's int does.
std::uint32_t take_number(std::string_view& text) {
  std::uint32_t value = 0;
  for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1))
    value = value * 10 + static_cast<std::uint32_t>(text.front() - '0');
  return value;
}

}  // namespace

int compare_library_names(std::string_view a, std::string_view b) {
  while (!a.empty()) {
    const bool digit_a = is_digit(a.front());
    const bool digit_b = !b.empty() && is_digit(b.front());
    if (digit_a != digit_b) return digit_a ? 1 : -1;
    if (digit_a) {
      const auto difference = static_cast<std::int32_t>(take_number(a) - take_number(b));
      if (difference != 0) return difference;
      continue;
    }
    if (b.empty() || a.front() != b.front())
      return static_cast<signed char>(a.front()) -
             (b.empty() ? 0 : static_cast<signed char>(b.front()));
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return b.empty() ? 0 : -1;
}

Result<Cache> Cache::parse(std::string text) {
  Cache cache;
  cache.text_ = std::move(text);
  const std::string_view view = cache.text_;
  std::size_t header = 0;
  if (view.starts_with(kOldMagic)) {
    const std::uint64_t rows = u32_at(view, 12);
    const std::uint64_t end = kOldHeaderSize + rows * kOldRowSize;
    if (end > view.size()) return fail("its table is larger than the file");
    header = static_cast<std::size_t>((end + 7) / 8 * 8);
    if (header > view.size() || !view.substr(header).starts_with(kMagic)) {
      cache.table_ = {kOldHeaderSize, kOldRowSize, rows, static_cast<std::size_t>(end)};
      return cache;
    }
  }
  if (!view.substr(header).starts_with(kMagic)) return fail("not a cache that ldconfig wrote");
  if (view.size() - header < kHeaderSize) return fail("its header is cut off");
  if (static_cast<std::uint8_t>(view[header + 28]) == kBigEndian)
    return fail("written on a big-endian machine");
  cache.table_ = {header + kHeaderSize, kRowSize, u32_at(view, header + 20), header};
  if (cache.table_.count > (view.size() - cache.table_.start) / kRowSize)
    return fail("its table is larger than the file");
  cache.read_extensions(header);
  return cache;
}

// {u32 magic, u32 count, count x {u32 tag, u32 flags, u32 offset, u32 size}}; the offsets, and the
// string offsets of the hwcaps section, count from the start of the file.
void Cache::read_extensions(std::size_t header) {
  const std::string_view view = text_;
  const std::size_t start = u32_at(view, header + 32);
  if (start == 0 || u32_at(view, start) != kExtensionMagic) return;
  const std::uint64_t count = u32_at(view, start + 4);
  for (std::uint64_t i = 0; i < count && start + 8 + (i + 1) * 16 <= view.size(); ++i) {
    const auto section = static_cast<std::size_t>(start + 8 + i * 16);
    if (u32_at(view, section) != kHwcapsTag) continue;
    const std::uint64_t offset = u32_at(view, section + 8);
    const std::uint64_t size = u32_at(view, section + 12);
    if (offset > view.size() || size > view.size() - offset) return;
    for (std::uint64_t at = offset; at + 4 <= offset + size; at += 4) {
      const std::size_t name = u32_at(view, static_cast<std::size_t>(at));
      if (name > view.size() || hwcaps_.size() == kMaxHwcaps) return;
      const auto rest = view.substr(name, kMaxString);
      hwcaps_.emplace_back(rest.substr(0, rest.find('\0')));
    }
  }
}

Cache::Row Cache::row(std::size_t index) const {
  const std::size_t at = table_.start + index * table_.row_size;
  Row row{u32_at(text_, at), u32_at(text_, at + 4), u32_at(text_, at + 8), 0};
  if (table_.row_size == kRowSize)
    std::memcpy(&row.hwcap, text_.data() + at + 16, sizeof row.hwcap);
  return row;
}

std::optional<std::string_view> Cache::string_at(std::uint64_t offset) const {
  if (offset >= text_.size() - table_.strings) return std::nullopt;
  const auto rest =
      std::string_view(text_).substr(table_.strings + static_cast<std::size_t>(offset), kMaxString);
  const auto end = rest.find('\0');
  // Text without an end, or too long to be a path, is none.
  if (end == rest.npos && rest.size() == kMaxString) return std::nullopt;
  return rest.substr(0, end);
}

std::string_view Cache::hwcaps_name(std::uint64_t hwcap) const {
  const auto index = static_cast<std::uint32_t>(hwcap);
  return (hwcap & kNamedHwcaps) != 0 && index < hwcaps_.size() ? hwcaps_[index]
                                                               : std::string_view{};
}

CacheEntry Cache::entry(std::size_t index) const {
  const Row found = row(index);
  CacheEntry entry;
  entry.name = string_at(found.key).value_or("");
  entry.path = string_at(found.value).value_or("");
  entry.flags = found.flags;
  entry.hwcaps = hwcaps_name(found.hwcap);
  entry.legacy_hwcaps = found.hwcap != 0 && (found.hwcap & kNamedHwcaps) == 0;
  return entry;
}

bool Cache::match(std::size_t index, std::string_view name) const {
  const auto key = string_at(row(index).key);
  return key && compare_library_names(name, *key) == 0;
}

// How good a row is for this CPU, 0 the best; nothing when it may not be used.
std::optional<std::size_t> Cache::rank(const Row& row, const Config& config) const {
  if (row.hwcap == 0) return kPlainRank;
  if ((row.hwcap & kNamedHwcaps) == 0) {
    // A row for tls/, haswell/ ...: fits when this CPU looks into that sub-directory.
    if (!config.glibc_before("2.37")) return std::nullopt;
    const auto directory = path_directory(string_at(row.value).value_or(""));
    for (const auto& sub : config.hwcaps)
      if (directory.ends_with("/" + sub)) return kPlainRank;
    return std::nullopt;
  }
  if (config.glibc_before("2.33")) return std::nullopt;
  const std::uint64_t level = 1ULL << ((row.hwcap >> 32) & 0x3f);
  if ((isa_bits(config) & level) == 0) return std::nullopt;
  const auto name = hwcaps_name(row.hwcap);
  for (std::size_t i = 0; i < config.cpu_levels.size(); ++i)
    if (config.cpu_levels[i] == name) return i;
  return std::nullopt;
}

// Binary search, then the first fitting row of that name in the file's order. Rows for
// glibc-hwcaps stand before the plain ones of the same name and are weighed by the CPU's order.
std::optional<std::string> Cache::look_up(std::string_view name, const Config& config) const {
  std::size_t first = 0;
  std::size_t end = table_.count;
  while (first < end) {
    const std::size_t middle = first + (end - first) / 2;
    const auto key = string_at(row(middle).key);
    if (!key) return std::nullopt;
    // Descending order: a key that is not below `name` and not equal lies before it.
    if (compare_library_names(*key, name) > 0)
      first = middle + 1;
    else
      end = middle;
  }
  std::optional<std::string_view> best;
  std::size_t best_rank = kPlainRank;
  const std::uint32_t wanted = flags_of(config);
  for (std::size_t i = first; i < table_.count && match(i, name); ++i) {
    const Row candidate = row(i);
    const auto path = string_at(candidate.value);
    if (candidate.flags != wanted || !path) continue;
    const auto how_good = rank(candidate, config);
    if (!how_good) continue;
    if (!best || *how_good < best_rank) best = path;
    best_rank = std::min(best_rank, *how_good);
    if (*how_good == kPlainRank) break;
  }
  return best ? std::optional<std::string>(*best) : std::nullopt;
}

Result<std::vector<CacheEntry>> read_cache(const System& system, const std::string& path) {
  return system.read(path, kMaxCacheBytes)
      .and_then([](std::string text) { return Cache::parse(std::move(text)); })
      .transform([](const Cache& cache) {
        std::vector<CacheEntry> rows;
        rows.reserve(cache.size());
        for (std::size_t i = 0; i < cache.size(); ++i) rows.push_back(cache.entry(i));
        return rows;
      });
}

}  // namespace gpuwright::loader
