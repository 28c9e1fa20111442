#include "measures/expected.hpp"

namespace headgauge {

ExpectedSums expected_distances(std::span<const float> scaled, std::span<const float> projection,
                                std::span<const float> norm, const ContextFacts& facts,
                                Index size) {
  const auto n = static_cast<double>(facts.n);
  const auto chosen = static_cast<double>(size);
  const double k = chosen / (n - 1.0);
  // v_i = f (sum |y_j|^2 - |y_i|^2 - (|Y|^2 - 2 <y_i, Y> + |y_i|^2) / (n - 1)), docs/mathematics.md
  // 7a.
  const double f = n > 2.0 ? chosen * (n - 1.0 - chosen) / ((n - 1.0) * (n - 2.0)) : 0.0;
  ExpectedCoefficients c;
  c.main_scale = static_cast<float>(1.0 + k);
  c.main_linear = static_cast<float>(2.0 * k);
  c.main_constant = static_cast<float>(k * k * facts.total_square);
  // |m_i|^2 + v_i, with terms collected.
  c.upper_square = static_cast<float>((1.0 + k) * (1.0 + k) - f - f / (n - 1.0));
  c.upper_linear = static_cast<float>(-2.0 * k * (1.0 + k) + 2.0 * f / (n - 1.0));
  c.upper_constant = static_cast<float>(k * k * facts.total_square +
                                        f * (facts.scaled_square - facts.total_square / (n - 1.0)));
  c.spread = static_cast<float>(k);
  c.total_square = static_cast<float>(facts.total_square);
  const double p = (n - chosen) / n;
  const ExpectedSums sums = sum_expected(scaled, projection, norm, c);
  return {p * sums.main, p * sums.upper, p * sums.context};
}

}  // namespace headgauge
