// The makers of all patterns: one file a family, one line each in patterns.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "headgauge/patterns.hpp"
#include "normalize/rules.hpp"

namespace headgauge {

// A pattern as the registry knows it.
struct PatternRule {
  PatternInfo info;  // with the default parameters
  std::unique_ptr<Pattern> (*make)(const PatternInfo& info, RuleParameters&);
};

std::vector<PatternRule> window_patterns();
std::vector<PatternRule> strided_patterns();
std::vector<PatternRule> content_patterns();

// Collects the keys of a range that are added in ascending order; one added twice counts once.
class KeyCollector {
 public:
  KeyCollector(KeyRange range, std::vector<std::uint32_t>& keys)
      : next_(range.begin), end_(range.end), keys_(keys) {
    keys_.clear();
  }
  // The keys of [begin, end) beyond those added before.
  void add(Index begin, Index end) {
    for (next_ = std::max(next_, begin); next_ < std::min(end, end_); ++next_) {
      keys_.push_back(static_cast<std::uint32_t>(next_));
    }
  }

 private:
  Index next_;
  Index end_;
  std::vector<std::uint32_t>& keys_;
};

// The neighbours of a query: the last `size` keys, its own included, where attention is causal;
// size / 2 keys on either side and its own where it is not.
struct LocalWindow {
  Index size = 1;
  bool causal = true;
  KeyRange around(Index query) const {
    if (causal) return {query + 1 - size, query + 1};
    return {query - size / 2, query + size / 2 + 1};
  }
};

}  // namespace headgauge
