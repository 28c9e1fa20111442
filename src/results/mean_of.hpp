// Converts an estimate to the type that the tests of src/statistics take.
#pragma once

#include <cmath>

#include "statistics/inference.hpp"

namespace headgauge {

// Accepts an Estimate, a MetricCell or any type with these three members. If the degrees of freedom
// are unknown, as in older files, the standard error counts as known.
template <class Estimated>
MeanWithError mean_of(const Estimated& estimate) {
  const double freedom = estimate.degrees_of_freedom;
  return {estimate.value, estimate.standard_error, std::isnan(freedom) ? kKnownError : freedom};
}

}  // namespace headgauge
