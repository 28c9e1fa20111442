// Shares: how many of a number of heads, texts or trials do as is said.
#pragma once

#include "statistics/inference.hpp"

namespace headgauge {

struct ShareTest {
  double share = kUndefined;  // successes / trials
  double p = kUndefined;
};

// Whether independent trials succeed with probability `expected`: the exact tail of the binomial
// distribution; on both sides twice the smaller one. It is conservative, as counts are discrete.
// Undefined of no trials.
ShareTest share_test(Index successes, Index trials, double expected, Tail tail = Tail::both);

// What holds the true share in at least all but `level` of the cases (Clopper and Pearson,
// Biometrika 26, 1934).
Interval share_interval(Index successes, Index trials, double level = 0.05);

}  // namespace headgauge
