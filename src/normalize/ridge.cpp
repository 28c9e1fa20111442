#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "headgauge/normalize.hpp"

namespace headgauge {

// With r_1 the largest and r_2 the next, f(lam) = sum r_i/(r_i - lam) rises from -inf to +inf on
// (r_2, r_1). Multiplied by (r_1 - lam)(lam - r_2) it has no poles there and the same root, which a
// bracketing solver finds in few steps. r_2 and its equals stay in the sum: their pole is simple.
double ridge_spectral_norm(std::span<const float> r) {
  double first = 0, second = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const double value = r[i];
    if (value > first) {
      second = first;
      first = value;
      at = i;
    } else if (value > second) {
      second = value;
    }
  }
  if (second == 0 || first == second) return second;
  const auto scaled = [&](double lam) {
    const double above = first - lam;
    const double below = lam - second;
    double sum = 0;
    for (std::size_t i = 0; i < r.size(); ++i) {
      // Each term of the sum times (lam - r_2): finite at r_i = r_2.
      const double value = r[i];
      if (i != at) sum += value == second ? -value : value * below / (value - lam);
    }
    return first * below + above * sum;
  };
  std::uintmax_t steps = 100;
  const auto close = [&](double low, double high) { return high - low <= 1e-13 * high; };
  const auto [low, high] = boost::math::tools::toms748_solve(
      scaled, second, first, scaled(second), first * (first - second), close, steps);
  return 0.5 * (low + high);
}

}  // namespace headgauge
