// Critical N (paper A, Fig. 2c and Alg. 3; docs/mathematics.md 2, 7a): the first N at which a test
// finds no difference between the heads' mean distances and their mean expected distances.
#pragma once

#include <span>
#include <vector>

#include "headgauge/measure.hpp"

namespace headgauge {

// D = sup |F1 - F2| of two samples.
double ks_distance(std::vector<double> first, std::vector<double> second);
// Q(x) = 2 sum_{k >= 1} (-1)^(k-1) exp(-2 k^2 x^2), the tail of the Kolmogorov distribution.
double kolmogorov_tail(double x);
// The asymptotic p of D for samples of n and m, without correction.
double ks_probability(double d, std::size_t n, std::size_t m);

// The hidden metrics that critical N is found from, for N = 1..count.
struct CriticalMetrics {
  MetricHandle distance;  // distance_at_n
  MetricHandle excess;    // context_excess_at_n
};

// Adds critical_n, critical_fraction, critical_ks_d, critical_ks_p and, by head, critical_n_head
// and critical_fraction_head.
void derive_critical(std::span<const LayerStatistics* const> layers, const CriticalMetrics& metrics,
                     const MeasureOptions& options, Results& results);

}  // namespace headgauge
