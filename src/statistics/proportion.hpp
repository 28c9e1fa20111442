// The confidence interval of a share (Clopper and Pearson, Biometrika 26, 1934).
#pragma once

#include "statistics/inference.hpp"

namespace headgauge {

// Returns an interval that contains the true share with probability 1 - `level` or more, after
// `hits` of `trials` independent cases; undefined without cases.
Interval proportion_interval(Index hits, Index trials, double level = 0.05);

}  // namespace headgauge
