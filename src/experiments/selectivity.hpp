// Tests whether a pattern makes heads select better, or only lets them see fewer keys.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Returns a sentence for each pattern of a comparison at the longest length. It uses quantities
// that do not change with the number of keys alone: the distance of the entropy from log n
// (unchanged if keys are dropped at random) and the excess of separability over permuted weights.
// Their changes are means over the changed heads. A change counts if its 95 % interval over the
// heads (Student's t) lies beyond 0.05 nats or 0.02. There is no change if both intervals lie
// within these; otherwise the sentence says that it is undecided. A pattern that keeps the heaviest
// keys gets no verdict. Returns nothing if the results have no patterns or fewer than 4 heads.
std::vector<std::string> selectivity_of_patterns(const Results& results);

}  // namespace headgauge
