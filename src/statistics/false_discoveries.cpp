#include "statistics/false_discoveries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headgauge {

std::vector<double> adjusted_p_values(std::span<const double> p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (std::isnan(p[i])) continue;
    if (p[i] < 0 || p[i] > 1) {
      throw UsageError(fault("p-values", "probabilities", fmt::format("{}", p[i]), ""));
    }
    order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size(), kUndefined);
  const auto tests = static_cast<double>(order.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    least = std::min(least, p[i] * tests / static_cast<double>(rank));
    adjusted[i] = least;
  }
  return adjusted;
}

}  // namespace headgauge
