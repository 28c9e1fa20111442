// Critical N (docs/mathematics.md 2, 7a): the first N at which a test shows the heads' mean
// distances and mean expected distances to be equal; the N at which they are closest; and paper A's
// critical N (Fig. 2c and Alg. 3), the first N at which a test finds no difference.
#pragma once

#include <span>

#include "headgauge/measure.hpp"

namespace headgauge {

// Two means count as equal if their ratio is from 1/(1 + margin) to 1 + margin.
inline constexpr double kEqualityMargin = 0.05;

// The hidden metrics from which critical N is derived, for N = 1..count.
struct CriticalMetrics {
  MetricHandle distance;  // distance_at_n
  MetricHandle context;   // expected_distance_context_at_n
  MetricHandle excess;    // context_excess_at_n, the difference of the two in each row
};

// Adds every metric of critical N and of the closest N, for the whole model and for each head.
void derive_critical(std::span<const LayerStatistics* const> layers, const CriticalMetrics& metrics,
                     const MeasureOptions& options, Results& results);

}  // namespace headgauge
