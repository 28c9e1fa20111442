// Ranks, medians and quantiles.
#pragma once

#include <span>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// From 1; equal values share the mean of their ranks.
std::vector<double> ranks(std::span<const double> values);

// Undefined of nothing.
double median(std::vector<double> values);

// Linear between the order statistics, as numpy's percentile; undefined of nothing.
double sorted_quantile(std::span<const double> sorted, double share);

}  // namespace headgauge
