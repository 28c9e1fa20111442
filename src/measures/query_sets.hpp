// Whether different queries of a head select the same keys (docs/mathematics.md 7a).
#pragma once

#include <span>

#include "measures/top_sets.hpp"

namespace headgauge {

// Shares of the members of the sets of a head's queries: the mean over pairs of queries of those
// that both select, and the distinct keys of all queries together. Beside each stands its
// expectation if every query drew its set from the keys that it sees.
struct QuerySets {
  double overlap = 0, overlap_random = 0, distinct = 0, distinct_random = 0;
};

inline constexpr Index kComparedQueries = 64;

// `sets` are those of one head, by query, at least 2, in a text of `keys` tokens; each query sees
// more than `size` keys. The random sets take them as the last ones up to the query.
QuerySets compare_queries(std::span<const TopSet> sets, const TopSets& members, int size,
                          Index keys);

}  // namespace headgauge
