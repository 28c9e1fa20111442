// Ranks, medians and quantiles.
#pragma once

#include <span>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// Ranks values from 1; equal values share the mean of their ranks.
std::vector<double> ranks(std::span<const double> values);

// Undefined for an empty list.
double median(std::vector<double> values);

// Interpolates linearly between the order statistics, as numpy's percentile does; undefined for an
// empty list.
double sorted_quantile(std::span<const double> sorted, double share);

}  // namespace headgauge
