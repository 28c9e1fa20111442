#include "measures/closest_pair.hpp"

#include <algorithm>
#include <limits>

namespace headgauge {

std::vector<double> nearest_positions(const Gram& gram, bool unit_sphere, ThreadPool& pool) {
  std::vector<double> nearest(gram.columns(), std::numeric_limits<double>::infinity());
  pool.for_each(gram.columns(), [&](Index i) {
    double& best = nearest[i];
    for (Index j = 0; j < gram.columns() && best > 0.0; ++j) {
      if (j != i)
        best = std::min(best, squared_distance(gram, std::max(i, j), std::min(i, j), unit_sphere));
    }
  });
  return nearest;
}

double ClosestPair::find(const Gram& gram, std::span<const double> nearest, const Row& row,
                         bool unit_sphere) {
  keys_.resize(row.n());
  for (Index i = 0; i < row.n(); ++i) {
    keys_[i] = static_cast<std::uint32_t>(row.key(i));
  }
  std::ranges::sort(keys_, {}, [&](std::uint32_t key) { return nearest[key]; });
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < keys_.size() && nearest[keys_[i]] < best; ++i) {
    // Pairs with earlier keys were compared before.
    for (std::size_t j = i + 1; j < keys_.size() && best > 0.0; ++j) {
      const Index a = std::max(keys_[i], keys_[j]), b = std::min(keys_[i], keys_[j]);
      best = std::min(best, squared_distance(gram, a, b, unit_sphere));
    }
  }
  return best;
}

}  // namespace headgauge
