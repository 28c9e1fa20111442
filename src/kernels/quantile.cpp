#include <algorithm>
#include <functional>

#include "kernels/top.hpp"

namespace headgauge {

Index mass_quantile(std::span<const float> weights, double fraction, TopWorkspace& workspace) {
  auto& sorted = workspace.values;
  sorted.assign(weights.begin(), weights.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double total = 0.0;
  for (const float w : sorted) total += w;
  if (total <= 0.0) return 0;
  const double target = fraction * total * (1.0 - 1e-6);
  double sum = 0.0;
  Index k = 0;
  while (k < static_cast<Index>(sorted.size()) && sum < target) {
    sum += sorted[static_cast<std::size_t>(k++)];
  }
  return k;
}

}  // namespace headgauge
