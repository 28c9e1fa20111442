// The experiments of `reproduce tokens` with random keys: all heads at once, with increasing
// numbers of keys, and one head at a time.
#pragma once

#include <vector>

#include "headgauge/compare.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// The windows that random keys are added to; 1 is the query's own key.
inline constexpr int kKeyWindows[] = {1, 32};

// Returns the numbers of random keys: doubling from 4 to half of the context.
std::vector<int> numbers_of_random_keys(int length);

// Every head sees a window and random keys, for each combination of both. The lengths divide the
// second half of the context into 8 batches of rows.
CompareOptions all_heads_options(int length, const ScanOptions& scan);

// One head at a time sees its own key and 32 random ones.
CompareOptions each_head_options(int length, const ScanOptions& scan);

// Returns the results of the first comparison over the coordinates `window` and `random` instead of
// pattern names; undefined where a pattern was left out.
Results by_random_keys(const Results& comparison);

// Returns the results of the second comparison over layer and head.
Results by_head(const Results& comparison);

}  // namespace headgauge
