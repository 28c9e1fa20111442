// The gain of a step straight from its definition (docs/mathematics.md D4.2).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/sensitivity_direction.hpp"

namespace headgauge {

// ||softmax((l + eps v)/T) - softmax(l/T)||_2 / eps straight from the definition, in long double.
inline double gain(const std::vector<float>& logits, const std::vector<double>& v,
                   double temperature, double epsilon) {
  using Long = long double;
  const std::size_t n = logits.size();
  std::vector<Long> before(n), after(n);
  const Long top_logit = *std::ranges::max_element(logits);
  for (std::size_t i = 0; i < n; ++i) {
    before[i] = (logits[i] - top_logit) / temperature;
    after[i] = (logits[i] - top_logit + static_cast<Long>(epsilon) * v[i]) / temperature;
  }
  const auto normalize = [](std::vector<Long>& a) {
    const Long top = *std::ranges::max_element(a);
    Long sum = 0, lost = 0;  // compensated: a thousand equal small weights beside a large one
    for (Long& x : a) {
      x = std::exp(x - top);
      const Long next = sum + x;
      lost += sum > x ? (sum - next) + x : (x - next) + sum;
      sum = next;
    }
    for (Long& x : a) x /= sum + lost;
  };
  normalize(before);
  normalize(after);
  Long square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    square += (after[i] - before[i]) * (after[i] - before[i]);
  }
  return static_cast<double>(std::sqrt(square) / epsilon);
}

inline std::vector<double> top2(const std::vector<float>& logits) {
  std::vector<double> v(logits.size());
  top2_direction(logits, v);
  return v;
}

}  // namespace headgauge
