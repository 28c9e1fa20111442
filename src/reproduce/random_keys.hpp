// The experiments of `reproduce tokens` in which heads see random keys: all heads at once, with
// ever more keys, and one head at a time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/compare.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// The windows that the random keys come on top of; 1 is the query's own key.
inline constexpr int kKeyWindows[] = {1, 32};

// The numbers of random keys: doubling from 4 to half of the context.
std::vector<int> numbers_of_random_keys(int length);

// Every head sees a window and random keys, for each of both. The lengths cut the second half of
// the context into 8 batches of rows.
CompareOptions all_heads_options(int length, const ScanOptions& scan);

// One head at a time sees its own key and 32 random ones.
CompareOptions each_head_options(int length, const ScanOptions& scan);

// What the first comparison changed, over the coordinates `window` and `random` in place of the
// patterns' names; undefined where a pattern was left out.
Results by_random_keys(const Results& comparison);

// What the second comparison changed, over layer and head.
Results by_head(const Results& comparison);

}  // namespace headgauge
