// Rows of logits of all kinds, for properties that hold on every row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// Row `i` of an endless supply: lengths 1 to 300, spreads from 1e-3 to 100, a third with one key
// lifted above the others, some with two keys alike, some all alike.
inline std::vector<float> any_row(std::uint64_t i) {
  std::mt19937_64 generator(i);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  const auto n = static_cast<std::size_t>(std::exp(uniform(generator) * std::log(300.0)) + 0.5);
  const double spread = std::pow(10.0, -3 + 5 * uniform(generator));
  std::normal_distribution<double> normal(0.0, i % 11 == 0 ? 0.0 : spread);
  std::vector<float> logits(n);
  for (float& l : logits) l = static_cast<float>(normal(generator));
  const auto top = std::ranges::max_element(logits);
  if (i % 3 == 0) *top += static_cast<float>(30 * uniform(generator));
  if (i % 7 == 0) logits[i % n] = *top;
  return logits;
}

}  // namespace headgauge
