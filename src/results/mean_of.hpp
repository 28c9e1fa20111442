// Converts an estimate to the type that the tests of src/statistics take.
#pragma once

#include <cmath>

#include "headgauge/array.hpp"
#include "statistics/inference.hpp"
#include "statistics/student.hpp"

namespace headgauge {

// Accepts an Estimate, a MetricCell or any type with these three members. If the degrees of freedom
// are unknown, as in older files, the standard error counts as known.
template <class Estimated>
MeanWithError mean_of(const Estimated& estimate) {
  const double freedom = estimate.degrees_of_freedom;
  return {estimate.value, estimate.standard_error, std::isnan(freedom) ? kKnownError : freedom};
}

// Returns the estimate with its 95 % interval by Student's t.
inline Estimate with_t_interval(Estimate estimate) {
  const Interval interval = t_interval(mean_of(estimate));
  estimate.low = interval.low;
  estimate.high = interval.high;
  return estimate;
}

// Returns it with that interval, and with the p of the two-sided t test of a mean of 0.
inline Estimate with_t_test(Estimate estimate) {
  estimate.p = t_test(mean_of(estimate)).p;
  return with_t_interval(estimate);
}

// Returns a share of independent cases with the 95 % interval of Clopper and Pearson.
inline Estimate share_of(Index hits, Index cases) {
  const Interval interval = proportion_interval(hits, cases);
  return {.value = static_cast<double>(hits) / static_cast<double>(cases),
          .rows = cases,
          .low = interval.low,
          .high = interval.high};
}

}  // namespace headgauge
