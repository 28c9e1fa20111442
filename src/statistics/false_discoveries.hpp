// Many tests at once: the false discovery rate (Benjamini and Hochberg, JRSS B 57, 1995).
#pragma once

#include <span>
#include <vector>

#include "statistics/inference.hpp"

namespace headgauge {

// The adjusted p of each test: the smallest level at which it is among the discoveries. Of those
// taken at a level q, at most the share q is false in the mean: for tests that are independent, or
// that move together (Benjamini and Yekutieli 2001). Where nothing is there to find at all, that is
// the probability of finding anything. Tests whose p is undefined are none and stay undefined.
std::vector<double> adjusted_p_values(std::span<const double> p);

}  // namespace headgauge
