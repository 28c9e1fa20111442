// The two-sample Kolmogorov-Smirnov test (Smirnov, Annals of Mathematical Statistics 19, 1948), as
// paper A uses it. It assumes that the two samples are independent.
#pragma once

#include <cstddef>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// Computes D = sup |F1 - F2| of two samples.
double ks_distance(std::vector<double> first, std::vector<double> second);
// Computes Q(x) = 2 sum_{k >= 1} (-1)^(k-1) exp(-2 k^2 x^2), the tail of the Kolmogorov
// distribution. It is written here because Boost.Math has it only from 1.75 on, and Debian 12 has
// 1.74.
double kolmogorov_tail(double x);
// Returns the asymptotic p-value of D for samples of n and m values, without correction.
double ks_probability(double d, std::size_t n, std::size_t m);

}  // namespace headgauge
