// The slope of a straight line.
#pragma once

#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// That of the unweighted least squares line of y on x. Undefined with fewer than 2 points, or where
// all x are equal. UsageError unless there are as many of both.
double least_squares_slope(std::span<const double> x, std::span<const double> y);

}  // namespace headgauge
