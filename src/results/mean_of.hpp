// An estimate as the tests of src/statistics take it.
#pragma once

#include <cmath>

#include "statistics/inference.hpp"

namespace headgauge {

// Of an Estimate, a MetricCell or what else has these three. An error whose degrees of freedom are
// unknown, as in older files, counts as known.
template <class Estimated>
MeanWithError mean_of(const Estimated& estimate) {
  const double freedom = estimate.degrees_of_freedom;
  return {estimate.value, estimate.standard_error, std::isnan(freedom) ? kKnownError : freedom};
}

}  // namespace headgauge
