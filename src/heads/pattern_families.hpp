// The families of patterns, each with one file and one line here, and code that they share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "headgauge/patterns.hpp"
#include "normalize/registry.hpp"

namespace headgauge {

using PatternMakers = Makers<PatternInfo, Pattern>;

PatternMakers window_patterns();
PatternMakers content_patterns();
PatternMakers eviction_patterns();

// Collects ranges of keys, added in ascending order; a key that is added twice counts once.
class KeyCollector {
 public:
  KeyCollector(KeyRange range, std::vector<std::uint32_t>& keys)
      : next_(range.begin), end_(range.end), keys_(keys) {
    keys_.clear();
  }
  // Adds the keys of [begin, end) that were not added before.
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

// The neighbours of a query. In causal attention they are the last `size` keys including its own,
// else its own key and size / 2 keys on either side.
struct LocalWindow {
  Index size = 1;
  bool causal = true;
  KeyRange around(Index query) const {
    if (causal) return {query + 1 - size, query + 1};
    return {query - size / 2, query + size / 2 + 1};
  }
};

}  // namespace headgauge
