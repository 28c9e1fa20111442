// Mean and standard deviation of the values of several replicates.
#pragma once

#include <cmath>
#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

struct Spread {
  double mean = kUndefined;
  double deviation = 0;                // standard deviation of one value; 0 if there is only one
  double standard_error = kUndefined;  // standard error of the mean; undefined if there is only one
                                       // value
};

inline Spread spread_of(std::span<const double> values) {
  Spread spread;
  if (values.empty()) return spread;
  const auto count = static_cast<double>(values.size());
  double sum = 0, square = 0;
  for (double value : values) sum += value;
  spread.mean = sum / count;
  for (double value : values) square += (value - spread.mean) * (value - spread.mean);
  if (values.size() < 2) return spread;
  spread.deviation = std::sqrt(square / (count - 1));
  spread.standard_error = spread.deviation / std::sqrt(count);
  return spread;
}

}  // namespace headgauge
