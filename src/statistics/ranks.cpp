#include "headgauge/ranks.hpp"

#include <algorithm>
#include <numeric>

namespace headgauge {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double rank = (static_cast<double>(i + end) + 1) / 2;
    for (; i < end; ++i) out[order[i]] = rank;
  }
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return kUndefined;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double sorted_quantile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return kUndefined;
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace headgauge
