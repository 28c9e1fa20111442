// Spearman's rank correlation over the heads of a model or the pieces of a text, with an interval
// by bootstrap.
#pragma once

#include <cstdint>
#include <span>

#include "statistics/inference.hpp"

namespace headgauge {

// With fewer heads a rank correlation says nothing.
inline constexpr int kFewestPairs = 16;

struct RankCorrelation {
  double value = kUndefined;  // of the pairs in which both are finite; ties have the mean rank
  double low = kUndefined;    // the 2.5 and 97.5 % points of 2000 resamples of the pairs
  double high = kUndefined;
  int pairs = 0;
  // That there is none: Student's t of r sqrt((n - 2)/(1 - r^2)), n - 2 degrees of freedom (Kendall
  // and Stuart, The Advanced Theory of Statistics 2, 31.19).
  double p = kUndefined;
};

// Undefined with fewer than kFewestPairs pairs, or where all values of one side are the same.
// Pairs are independent. `pair` names the stream of random numbers.
RankCorrelation rank_correlation(std::span<const double> x, std::span<const double> y,
                                 std::uint64_t seed, std::uint32_t pair);

// What is left of it where a third quantity is held fixed: (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)
// (1 - r_yz^2)) of the ranks (Kendall and Stuart, 27.5). It has no p: where both move with the
// third, Student's t with n - 3 degrees of freedom rejects 6.7 % at .05.
RankCorrelation partial_rank_correlation(std::span<const double> x, std::span<const double> y,
                                         std::span<const double> given, std::uint64_t seed,
                                         std::uint32_t stream);

}  // namespace headgauge
