// Controls the false discovery rate of many tests (Benjamini and Hochberg, JRSS B 57, 1995).
#pragma once

#include <span>
#include <vector>

#include "statistics/inference.hpp"

namespace headgauge {

// Returns the adjusted p-value of each test: the smallest level at which it is a discovery. At
// level q, the expected share of false discoveries is at most q, for tests that are independent or
// positively dependent (Benjamini and Yekutieli 2001). If every null hypothesis is true, q bounds
// the probability of any discovery. Tests with an undefined p are not counted and stay undefined.
std::vector<double> adjusted_p_values(std::span<const double> p);

}  // namespace headgauge
