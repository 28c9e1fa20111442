#include "statistics/kolmogorov_smirnov.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headgauge {

double ks_distance(std::vector<double> first, std::vector<double> second) {
  std::ranges::sort(first);
  std::ranges::sort(second);
  const auto n = static_cast<double>(first.size()), m = static_cast<double>(second.size());
  double largest = 0;
  std::size_t i = 0, j = 0;
  while (i < first.size() && j < second.size()) {
    const double x = std::min(first[i], second[j]);
    while (i < first.size() && first[i] <= x) ++i;
    while (j < second.size() && second[j] <= x) ++j;
    largest = std::max(largest, std::abs(static_cast<double>(i) / n - static_cast<double>(j) / m));
  }
  return largest;
}

double kolmogorov_tail(double x) {
  if (x <= 0.0) return 1.0;
  constexpr int kTerms = 20;
  double sum = 0;
  if (x < 1.0) {
    // Computes the same function by the other theta series, which converges fast here.
    for (int k = 1; k <= kTerms; ++k) {
      const double odd = (2 * k - 1) * std::numbers::pi / x;
      sum += std::exp(-odd * odd / 8.0);
    }
    return 1.0 - std::sqrt(2.0 * std::numbers::pi) / x * sum;
  }
  for (int k = 1; k <= kTerms; ++k) {
    sum += (k % 2 == 1 ? 2.0 : -2.0) * std::exp(-2.0 * k * k * x * x);
  }
  return sum;
}

double ks_probability(double d, std::size_t n, std::size_t m) {
  const auto a = static_cast<double>(n), b = static_cast<double>(m);
  return kolmogorov_tail(d * std::sqrt(a * b / (a + b)));
}

}  // namespace headgauge
