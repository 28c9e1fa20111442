// Whether a pattern makes heads select better, or merely lets them see fewer keys.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// A sentence for each pattern of a comparison, at the longest length, from what does not change
// with the number of keys by itself: how far the entropy is below log n (for keys left out at
// random it stays what it was) and the separability over that of permuted weights. Their changes
// are means over the heads changed. A change counts where its 95 % interval over the heads
// (Student's t) is beyond 0.05 nats or 0.02, and there is none where both intervals are within
// these; else the sentence says that it is open. Of a pattern that takes the heaviest keys there is
// no verdict. Nothing where the results have no patterns or
// fewer than 4 heads.
std::vector<std::string> selectivity_of_patterns(const Results& results);

}  // namespace headgauge
