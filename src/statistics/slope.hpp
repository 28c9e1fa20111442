// The slope of a straight line.
#pragma once

#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// Returns the slope of the unweighted least squares line of y on x. Undefined with fewer than 2
// points, or if all x are equal. Throws UsageError if the numbers of x and y differ.
double least_squares_slope(std::span<const double> x, std::span<const double> y);

}  // namespace headgauge
