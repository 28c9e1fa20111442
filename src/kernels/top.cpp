#include "kernels/top.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace headgauge {

Index select_top(std::span<const float> values, Index count, std::span<std::uint32_t> out_index,
                 TopWorkspace& workspace) {
  const Index n = static_cast<Index>(values.size());
  const Index k = std::min(count, n);
  assert(static_cast<Index>(out_index.size()) >= k);
  auto& index = workspace.index;
  index.resize(values.size());
  std::iota(index.begin(), index.end(), 0u);
  std::partial_sort(index.begin(), index.begin() + k, index.end(),
                    [&](std::uint32_t i, std::uint32_t j) {
                      return values[i] != values[j] ? values[i] > values[j] : i < j;
                    });
  std::copy_n(index.begin(), k, out_index.begin());
  return k;
}

Index mass_quantile(std::span<const float> weights, double fraction, TopWorkspace& workspace) {
  auto& sorted = workspace.values;
  sorted.assign(weights.begin(), weights.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double total = 0.0;
  for (const float w : sorted) total += w;
  if (total <= 0.0) return 0;
  double sum = 0.0;
  Index k = 0;
  while (k < static_cast<Index>(sorted.size()) && sum < fraction * total) {
    sum += sorted[static_cast<std::size_t>(k++)];
  }
  return k;
}

}  // namespace headgauge
