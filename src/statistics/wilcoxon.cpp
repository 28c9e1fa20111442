#include "statistics/wilcoxon.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <vector>

#include "headgauge/ranks.hpp"

namespace headgauge {
namespace {

// P(sum <= statistic) and P(sum >= statistic).
struct SignedRankTails {
  double below = 1;
  double above = 1;
};

// Enumerates all signs of these ranks. Twice a midrank is a whole number, so sums are counted in
// halves.
SignedRankTails enumerated_tails(std::span<const double> midranks, double statistic) {
  std::vector<double> share{1};
  for (const double rank : midranks) {
    const auto step = static_cast<std::size_t>(std::lround(2 * rank));
    std::vector<double> next(share.size() + step);
    for (std::size_t sum = 0; sum < share.size(); ++sum) {
      next[sum] += share[sum] / 2;
      next[sum + step] += share[sum] / 2;
    }
    share = std::move(next);
  }
  const auto at = static_cast<std::size_t>(std::lround(2 * statistic));
  SignedRankTails tails{0, 0};
  for (std::size_t sum = 0; sum < share.size(); ++sum) {
    if (sum <= at) tails.below += share[sum];
    if (sum >= at) tails.above += share[sum];
  }
  return tails;
}

SignedRankTails normal_tails(std::span<const double> midranks, double statistic) {
  double mean = 0, variance = 0;
  for (const double rank : midranks) {
    mean += rank / 2;
    variance += rank * rank / 4;  // with midranks this includes the correction for ties
  }
  const double deviation = std::sqrt(variance);
  const boost::math::normal normal;
  return {cdf(normal, (statistic - mean + 0.5) / deviation),
          cdf(complement(normal, (statistic - mean - 0.5) / deviation))};
}

}  // namespace

WilcoxonTest wilcoxon_test(std::span<const double> values, double null, Tail tail) {
  std::vector<double> differences;
  for (const double v : finite_values(values)) {
    if (v != null) differences.push_back(v - null);
  }
  WilcoxonTest test;
  test.differences = static_cast<int>(differences.size());
  if (differences.empty()) return test;
  std::vector<double> sizes = differences;
  for (double& size : sizes) size = std::abs(size);
  const std::vector<double> midranks = ranks(sizes);
  test.statistic = 0;
  for (std::size_t i = 0; i < midranks.size(); ++i) {
    if (differences[i] > 0) test.statistic += midranks[i];
  }
  test.exact = test.differences <= kExactSignedRanks;
  const SignedRankTails tails = test.exact ? enumerated_tails(midranks, test.statistic)
                                           : normal_tails(midranks, test.statistic);
  if (tail == Tail::above) {
    test.p = tails.above;
  } else if (tail == Tail::below) {
    test.p = tails.below;
  } else {
    test.p = std::min(1.0, 2 * std::min(tails.below, tails.above));
  }
  return test;
}

}  // namespace headgauge
