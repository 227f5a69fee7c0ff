#include <re2/re2.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "reading/blocks.h"
#include "reading/facts.h"
#include "reading/line.h"
#include "reading/pattern.h"
#include "reading/reading.h"
#include "reading/scanner.h"

namespace gpuwright {
namespace {

// Limits that keep the memory flat whatever the input. What lies beyond is still counted where it
// repeats something known.
constexpr std::size_t kMostEvents = 2000;
constexpr std::size_t kMostOfOneKind = 60;
constexpr std::size_t kMostUnplaced = 40;
constexpr std::size_t kMostNoise = 200;
constexpr std::size_t kLongestLine = 8 << 10;  ///< On either side of a hit that is looked at.
constexpr std::size_t kLongestText = 1000;

// Words that make a line look like trouble. A line that holds one and that no pattern knows is
// shown as unplaced.
constexpr const char* kTroubleWords =
    "error|failed|failure|cannot |can't |could not|couldn't|not found|unable to|traceback|"
    "exception|fatal|aborted|segmentation|killed|no such file|denied|not supported|mismatch|"
    "unsupported|invalid";

/// What a literal of the scanner belongs to.
struct Target {
  enum class Kind { kPattern, kNoise, kBlock, kTrouble } kind;
  std::size_t index;
};

/// An expression that is compiled when its literal is first seen: a start has no use for most.
class Expression {
 public:
  explicit Expression(const char* text) : text_(text) {}

  /// The named groups when `line` matches.
  std::optional<std::map<std::string, std::string>> match(const std::string& line) {
    if (!compiled_) compile();
    if (!compiled_->ok()) return std::nullopt;
    const int groups = compiled_->NumberOfCapturingGroups() + 1;
    std::vector<re2::StringPiece> found(static_cast<std::size_t>(groups));
    if (!compiled_->Match(line, 0, line.size(), RE2::UNANCHORED, found.data(), groups))
      return std::nullopt;
    std::map<std::string, std::string> values;
    for (const auto& [name, index] : compiled_->NamedCapturingGroups()) {
      const auto& piece = found[static_cast<std::size_t>(index)];
      if (piece.data() != nullptr) values[name] = std::string(piece.data(), piece.size());
    }
    return values;
  }

 private:
  void compile() {
    RE2::Options options;
    options.set_encoding(RE2::Options::EncodingLatin1);  // A log may hold any bytes.
    options.set_log_errors(false);
    options.set_case_sensitive(true);
    compiled_ = std::make_unique<RE2>(text_, options);
  }
  const char* text_;
  std::unique_ptr<RE2> compiled_;
};

std::vector<std::string> literals_of(const char* text) {
  std::vector<std::string> out;
  for (const auto piece : split(text, '|')) out.emplace_back(piece);
  return out;
}

/// The tables as one, and the scanner over all their literals.
class Knowledge {
 public:
  Knowledge() {
    for (const auto table :
         {driver_patterns(), kernel_patterns(), module_patterns(), scheduler_patterns(),
          cuda_patterns(), tensorflow_patterns(), torch_patterns(), jax_patterns(),
          python_patterns(), container_patterns(), host_patterns()})
      for (const auto& pattern : table) {
        add(pattern.literals, {Target::Kind::kPattern, patterns.size()});
        patterns.push_back(&pattern);
        expressions.emplace_back(pattern.expression);
      }
    for (const auto& pattern : noise_patterns()) {
      add(pattern.literals, {Target::Kind::kNoise, noise.size()});
      noise.push_back(&pattern);
      noise_expressions.emplace_back(pattern.expression);
    }
    for (const auto table : {smi_blocks(), csv_blocks(), host_blocks(), list_blocks()})
      for (const auto& kind : table) {
        add(kind.literals, {Target::Kind::kBlock, blocks.size()});
        blocks.push_back(&kind);
      }
    add(kTroubleWords, {Target::Kind::kTrouble, 0});
    scanner = make_scanner(texts_);
  }

  std::vector<const Pattern*> patterns;
  std::vector<Expression> expressions;
  std::vector<const NoisePattern*> noise;
  std::vector<Expression> noise_expressions;
  std::vector<const BlockKind*> blocks;
  std::vector<std::vector<Target>> targets;  ///< By literal.
  std::unique_ptr<Scanner> scanner;

 private:
  // A literal that several rows share is searched for once.
  void add(const char* literals, Target target) {
    for (auto& text : literals_of(literals)) {
      const auto [it, fresh] = index_.try_emplace(lower(text), texts_.size());
      if (fresh) {
        texts_.push_back(text);
        targets.emplace_back();
      }
      targets[it->second].push_back(target);
    }
  }
  std::vector<std::string> texts_;
  std::map<std::string, std::size_t> index_;
};

// Escape sequences out of a block, so that a coloured word does not hide a literal.
std::string without_escapes(std::string_view block) {
  std::string out;
  out.reserve(block.size());
  for (std::size_t i = 0; i < block.size();) {
    if (block[i] != '\x1b') {
      out += block[i++];
      continue;
    }
    std::size_t end = i + 1;
    if (end < block.size() && block[end] == '[') {
      ++end;
      while (end < block.size() && (block[end] < '@' || block[end] > '~') && block[end] != '\n')
        ++end;
    }
    i = std::min(end < block.size() && block[end] == '\n' ? end : end + 1, block.size());
  }
  return out;
}

bool ends_line(char c) { return c == '\n' || c == '\r'; }

}  // namespace

struct Reader::Impl {
  Knowledge known;
  Reading reading;
  std::string name;
  std::string carry;              ///< The beginning of a line whose end has not come yet.
  std::uint64_t line_number = 1;  ///< Of the first line of the next block.
  std::unique_ptr<Block> block;
  std::map<std::string, std::size_t> seen_events;
  std::map<std::string, std::size_t> of_kind;
  std::map<std::size_t, std::size_t> seen_noise;
  std::map<std::string, std::size_t> seen_shapes;
  std::uint64_t trouble_lines = 0;

  std::string place(std::uint64_t number) const { return name + ":" + std::to_string(number); }

  void add_event(Event event, std::uint64_t number) {
    std::string key = event.id;
    for (const auto& [value_name, value] : event.values) key += '\n' + value_name + '=' + value;
    const auto known_one = seen_events.find(key);
    if (known_one != seen_events.end()) {
      ++reading.machine.events[known_one->second].count;
      return;
    }
    if (seen_events.size() >= kMostEvents || ++of_kind[event.id] > kMostOfOneKind) return;
    seen_events.emplace(std::move(key), reading.machine.events.size());
    std::replace(event.text.begin(), event.text.end(), '\t', ' ');
    event.text = printable(event.text.substr(0, kLongestText));
    event.source = place(number);
    reading.machine.events.push_back(std::move(event));
  }

  void add_noise(std::size_t index, const std::string& text, std::uint64_t number) {
    const auto known_one = seen_noise.find(index);
    if (known_one != seen_noise.end()) {
      ++reading.noise[known_one->second].count;
      return;
    }
    if (reading.noise.size() >= kMostNoise) return;
    seen_noise.emplace(index, reading.noise.size());
    reading.noise.push_back(
        {place(number), printable(text.substr(0, kLongestText)), known.noise[index]->why, 1});
  }

  void add_unplaced(const std::string& text, std::uint64_t number) {
    const auto known_one = seen_shapes.find(shape_of(text));
    if (known_one != seen_shapes.end()) {
      ++reading.unplaced[known_one->second].count;
      return;
    }
    if (reading.unplaced.size() >= kMostUnplaced) return;
    seen_shapes.emplace(shape_of(text), reading.unplaced.size());
    auto shown = text.substr(0, kLongestText);
    std::replace(shown.begin(), shown.end(), '\t', ' ');
    reading.unplaced.push_back({place(number), printable(std::string(trim(shown))), 1});
  }

  // A long log of a broken run repeats its trouble by the million; enough is enough.
  bool tired_of_trouble() const {
    return trouble_lines > 100000 && reading.unplaced.size() >= kMostUnplaced;
  }

  /// One line with what its literals call for.
  void read_line(std::string_view raw, std::uint64_t number, const std::vector<Target>& targets) {
    const std::string text = clean_line(raw);
    bool placed = false, trouble = false;
    // What is known to be harmless is nothing else.
    for (const auto& target : targets) {
      if (target.kind == Target::Kind::kTrouble) trouble = true;
      if (target.kind != Target::Kind::kNoise) continue;
      if (!known.noise_expressions[target.index].match(text)) continue;
      add_noise(target.index, text, number);
      return;
    }
    for (const auto& target : targets) {
      if (target.kind != Target::Kind::kPattern) continue;
      auto values = known.expressions[target.index].match(text);
      if (!values) continue;
      Event event;
      event.id = known.patterns[target.index]->id;
      event.text = text;
      event.values = std::move(*values);
      add_event(std::move(event), number);
      placed = true;
    }
    if (trouble) ++trouble_lines;
    if (trouble && !placed && block == nullptr) add_unplaced(text, number);
  }

  void begin_block(std::string_view raw, std::uint64_t number, const std::vector<Target>& targets) {
    if (block != nullptr) return;
    for (const auto& target : targets) {
      if (target.kind != Target::Kind::kBlock) continue;
      block = known.blocks[target.index]->begin(clean_line(raw));
      if (block == nullptr) continue;
      continue_block(raw, number);
      return;
    }
  }

  void continue_block(std::string_view raw, std::uint64_t number) {
    const EventSink sink = [&](Event event) { add_event(std::move(event), number); };
    if (block->line(clean_line(raw), sink)) return;
    block->end(sink);
    block.reset();
  }

  void end_block(std::uint64_t number) {
    if (block == nullptr) return;
    block->end([&](Event event) { add_event(std::move(event), number); });
    block.reset();
  }

  struct LineHits {
    std::size_t begin = 0, end = 0;  ///< Of the line in the block.
    std::vector<Target> targets;
  };

  // Lines with hits, in order, and what their literals call for.
  std::vector<LineHits> hits_of(std::string_view text) {
    std::vector<LineHits> lines_hit;
    known.scanner->scan(text, [&](std::uint32_t literal, std::size_t last) {
      const auto& targets = known.targets[literal];
      if (targets.size() == 1 && targets[0].kind == Target::Kind::kTrouble && tired_of_trouble())
        return;
      if (lines_hit.empty() || last >= lines_hit.back().end) {
        LineHits line;
        line.begin = last;
        while (line.begin > 0 && last - line.begin < kLongestLine &&
               !ends_line(text[line.begin - 1]))
          --line.begin;
        const auto limit = std::min(text.size(), last + kLongestLine);
        line.end = last;
        while (line.end < limit && !ends_line(text[line.end])) ++line.end;
        lines_hit.push_back(std::move(line));
      }
      auto& found = lines_hit.back().targets;
      for (const auto& target : targets)
        if (std::none_of(found.begin(), found.end(), [&](const Target& one) {
              return one.kind == target.kind && one.index == target.index;
            }))
          found.push_back(target);
    });
    return lines_hit;
  }

  /// Whole lines.
  void read_block(std::string_view text) {
    std::string plain;
    if (std::memchr(text.data(), '\x1b', text.size()) != nullptr) {
      plain = without_escapes(text);
      text = plain;
    }
    if (std::memchr(text.data(), '\0', text.size()) != nullptr) reading.binary = true;
    const auto lines_hit = hits_of(text);
    std::size_t at = 0;
    std::uint64_t number = line_number;
    const auto advance_to = [&](std::size_t to) {
      number += static_cast<std::uint64_t>(
          std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                     text.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
      at = to;
    };
    auto hit = lines_hit.begin();
    while (hit != lines_hit.end() || block != nullptr) {
      if (block == nullptr) {
        advance_to(hit->begin);
        const auto line = text.substr(hit->begin, hit->end - hit->begin);
        begin_block(line, number, hit->targets);
        read_line(line, number, hit->targets);
        advance_to(std::min(hit->end + 1, text.size()));
        ++hit;
        continue;
      }
      // Inside a block every line counts, with or without a hit.
      if (at >= text.size()) break;
      auto end = text.find_first_of("\n\r", at);
      if (end == std::string_view::npos) end = text.size();
      const auto line = text.substr(at, end - at);
      continue_block(line, number);
      if (hit != lines_hit.end() && hit->begin <= end && hit->begin >= at) {
        if (block == nullptr) begin_block(line, number, hit->targets);
        read_line(line, number, hit->targets);
        ++hit;
      }
      while (hit != lines_hit.end() && hit->begin < end) ++hit;
      advance_to(std::min(end + 1, text.size()));
    }
    advance_to(text.size());
    line_number = number;
  }

  void feed(std::string_view bytes) {
    reading.bytes += bytes.size();
    const auto last = bytes.rfind('\n');
    if (last == std::string_view::npos) {
      carry += bytes;
      // A line of many megabytes is read in pieces; its number stays.
      if (carry.size() > (4U << 20)) read_block(std::exchange(carry, {}));
      return;
    }
    if (!carry.empty()) {
      const auto first = bytes.find('\n');
      carry += bytes.substr(0, first + 1);
      read_block(std::exchange(carry, {}));
      bytes.remove_prefix(first + 1);
      if (first == last) {
        carry = bytes;
        return;
      }
    }
    const auto whole = bytes.rfind('\n') + 1;
    read_block(bytes.substr(0, whole));
    carry = bytes.substr(whole);
  }
};

Reader::Reader() : impl_(std::make_unique<Impl>()) {}
Reader::~Reader() = default;

void Reader::begin(const std::string& name) {
  impl_->name = name;
  impl_->line_number = 1;
  impl_->carry.clear();
}

void Reader::feed(std::string_view bytes) { impl_->feed(bytes); }

void Reader::end() {
  if (!impl_->carry.empty()) {
    impl_->read_block(std::exchange(impl_->carry, {}));
    ++impl_->line_number;
  }
  impl_->end_block(impl_->line_number);
  impl_->reading.lines += impl_->line_number - 1;
}

Reading Reader::take() {
  Reading out = std::move(impl_->reading);
  impl_->reading = {};
  fill_facts(out.machine);
  return out;
}

Reading read_text(std::string_view text, const std::string& name) {
  Reader reader;
  reader.begin(name);
  reader.feed(text);
  reader.end();
  return reader.take();
}

}  // namespace gpuwright
