// Spearman's rank correlation over the heads of a model or the pieces of a text, with a bootstrap
// confidence interval.
#pragma once

#include <cstdint>
#include <span>

#include "statistics/inference.hpp"

namespace headgauge {

// Fewest pairs for a meaningful rank correlation.
inline constexpr int kFewestPairs = 16;

struct RankCorrelation {
  double value = kUndefined;  // over the pairs in which both are finite; ties have the mean rank
  double low = kUndefined;    // the 2.5 and 97.5 % points of 2000 resamples of the pairs
  double high = kUndefined;
  int pairs = 0;
  // The p-value of no correlation: Student's t of r sqrt((n - 2)/(1 - r^2)) with n - 2 degrees of
  // freedom (Kendall and Stuart, The Advanced Theory of Statistics 2, 31.19).
  double p = kUndefined;
};

// Undefined with fewer than kFewestPairs pairs, or if all values of one side are equal. The pairs
// must be independent. `pair` selects the stream of random numbers.
RankCorrelation rank_correlation(std::span<const double> x, std::span<const double> y,
                                 std::uint64_t seed, std::uint32_t pair);

// Computes the correlation with a third quantity held fixed: (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)
// (1 - r_yz^2)) of the ranks (Kendall and Stuart, 27.5). It has no p-value: if both depend on the
// third, Student's t with n - 3 degrees of freedom rejects 6.7 % at .05.
RankCorrelation partial_rank_correlation(std::span<const double> x, std::span<const double> y,
                                         std::span<const double> given, std::uint64_t seed,
                                         std::uint32_t stream);

}  // namespace headgauge
