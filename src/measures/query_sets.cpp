#include "measures/query_sets.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headgauge {
namespace {

// The first of the n keys that a query sees.
Index first_key(const TopSet& set) {
  return std::max<Index>(set.query + 1 - set.n, 0);
}

}  // namespace

QuerySets compare_queries(std::span<const TopSet> sets, const TopSets& members, int size,
                          Index keys) {
  std::vector<double> count(static_cast<std::size_t>(keys), 0.0);
  // Sums of log(1 - size/n) over the queries that see a key, as differences along the keys.
  std::vector<double> misses(static_cast<std::size_t>(keys) + 1, 0.0);
  QuerySets found;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto n = static_cast<double>(sets[i].n);
    const Index begin = first_key(sets[i]), end = begin + sets[i].n;
    for (const std::uint32_t key : members.members(sets[i], size)) {
      found.overlap += count[key];  // with the queries before
      found.distinct += count[key] == 0 ? 1 : 0;
      ++count[key];
    }
    const double log_miss = std::log1p(-size / n);
    misses[begin] += log_miss;
    misses[end] -= log_miss;
    for (std::size_t j = 0; j < i; ++j) {
      const Index other = first_key(sets[j]);
      const Index first = std::max(begin, other), last = std::min(end, other + sets[j].n);
      const auto both = static_cast<double>(std::max<Index>(last - first, 0));
      found.overlap_random += both * size / n * size / static_cast<double>(sets[j].n);
    }
  }
  double sum = 0;
  for (Index key = 0; key < keys; ++key) {
    sum += misses[key];
    found.distinct_random -= std::expm1(sum);
  }
  const auto queries = static_cast<double>(sets.size());
  const double pairs = queries * (queries - 1) / 2;
  found.overlap /= pairs * size;
  found.overlap_random /= pairs * size;
  found.distinct /= queries * size;
  found.distinct_random /= queries * size;
  return found;
}

}  // namespace headgauge
