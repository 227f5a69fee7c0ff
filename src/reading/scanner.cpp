#include "reading/scanner.h"

#include <algorithm>

#include "base/text.h"

#if __has_include(<hs/hs.h>)
#include <hs/hs.h>
#define GPUWRIGHT_HYPERSCAN 1
#endif

namespace gpuwright {
namespace {

// Aho-Corasick would be faster and is not worth its code: this one serves tests and processors
// without Hyperscan. Texts are found by a table of their first two bytes.
class PlainScanner : public Scanner {
 public:
  explicit PlainScanner(const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      texts_.push_back(lower(text));
      by_start_[key(texts_.back()[0], texts_.back().size() > 1 ? texts_.back()[1] : '\0')]
          .push_back(static_cast<std::uint32_t>(texts_.size() - 1));
    }
  }

  void scan(std::string_view block,
            const std::function<void(std::uint32_t, std::size_t)>& hit) override {
    std::vector<std::pair<std::size_t, std::uint32_t>> hits;
    const std::string folded = lower(block);
    for (std::size_t i = 0; i < folded.size(); ++i) {
      const auto& candidates =
          by_start_[key(folded[i], i + 1 < folded.size() ? folded[i + 1] : '\0')];
      for (const auto index : candidates)
        if (folded.compare(i, texts_[index].size(), texts_[index]) == 0)
          hits.emplace_back(i + texts_[index].size() - 1, index);
    }
    std::sort(hits.begin(), hits.end());
    for (const auto& [end, index] : hits) hit(index, end);
  }

 private:
  static std::size_t key(char first, char second) {
    return static_cast<unsigned char>(first) * 256U + static_cast<unsigned char>(second);
  }
  std::vector<std::string> texts_;
  std::vector<std::vector<std::uint32_t>> by_start_ =
      std::vector<std::vector<std::uint32_t>>(256 * 256);
};

#ifdef GPUWRIGHT_HYPERSCAN

using Hit = std::function<void(std::uint32_t, std::size_t)>;

int on_match(unsigned int id, unsigned long long, unsigned long long to, unsigned int,
             void* context) {
  (*static_cast<const Hit*>(context))(id, static_cast<std::size_t>(to) - 1);
  return 0;
}

class HyperscanScanner : public Scanner {
 public:
  static std::unique_ptr<Scanner> make(const std::vector<std::string>& texts) {
    std::vector<const char*> expressions;
    std::vector<std::size_t> lengths;
    std::vector<unsigned> flags(texts.size(), HS_FLAG_CASELESS), ids;
    for (const auto& text : texts) {
      expressions.push_back(text.c_str());
      lengths.push_back(text.size());
      ids.push_back(static_cast<unsigned>(ids.size()));
    }
    auto scanner = std::unique_ptr<HyperscanScanner>(new HyperscanScanner);
    hs_compile_error_t* error = nullptr;
    if (hs_compile_lit_multi(expressions.data(), flags.data(), ids.data(), lengths.data(),
                             static_cast<unsigned>(texts.size()), HS_MODE_BLOCK, nullptr,
                             &scanner->database_, &error) != HS_SUCCESS) {
      hs_free_compile_error(error);
      return nullptr;
    }
    if (hs_alloc_scratch(scanner->database_, &scanner->scratch_) != HS_SUCCESS) return nullptr;
    return scanner;
  }
  ~HyperscanScanner() override {
    hs_free_scratch(scratch_);
    hs_free_database(database_);
  }
  HyperscanScanner(const HyperscanScanner&) = delete;
  HyperscanScanner& operator=(const HyperscanScanner&) = delete;

  void scan(std::string_view block, const Hit& hit) override {
    hs_scan(database_, block.data(), static_cast<unsigned>(block.size()), 0, scratch_, on_match,
            const_cast<Hit*>(&hit));
  }

 private:
  HyperscanScanner() = default;
  hs_database_t* database_ = nullptr;
  hs_scratch_t* scratch_ = nullptr;
};

#endif

}  // namespace

std::unique_ptr<Scanner> make_plain_scanner(const std::vector<std::string>& texts) {
  return std::make_unique<PlainScanner>(texts);
}

std::unique_ptr<Scanner> make_scanner(const std::vector<std::string>& texts) {
#ifdef GPUWRIGHT_HYPERSCAN
  // It needs SSSE3, which a virtual machine may hide.
  if (hs_valid_platform() == HS_SUCCESS)
    if (auto scanner = HyperscanScanner::make(texts)) return scanner;
#endif
  return make_plain_scanner(texts);
}

}  // namespace gpuwright
