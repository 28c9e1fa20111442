#include "statistics/nonparametric.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "headgauge/ranks.hpp"

namespace headgauge {
namespace {

// Sums of ranks count as equal if they differ by no more than this, which is due to rounding.
constexpr double kRounding = 1e-9;

// Draws +1 or -1 for every unit.
void draw_signs(const SignFlipOptions& options, std::uint32_t flip, std::span<double> signs) {
  constexpr std::size_t kBits = 128;  // in one block
  const RandomStream random(options.seed, RandomDomain::sign_flips, options.stream, flip);
  std::array<std::uint32_t, 4> words{};
  for (std::size_t unit = 0; unit < signs.size(); ++unit) {
    const std::size_t bit = unit % kBits;
    if (bit == 0) words = random.block(static_cast<std::uint32_t>(unit / kBits));
    signs[unit] = (words[bit / 32] >> (bit % 32) & 1) != 0 ? -1.0 : 1.0;
  }
}

// Signed ranks of the distances from the null, positive on the side that counts against it. Each
// column is divided by the root of its sum of squares. 0 if a value is missing or equals the null.
class RankedColumns {
 public:
  RankedColumns(MatrixView<const double> values, double null, Tail tail)
      : scaled_(values.rows(), values.cols()),
        count_(values.cols()),
        square_(values.cols()),
        sums_(values.cols()) {
    const double side = tail == Tail::above ? 1.0 : -1.0;
    std::vector<Index> units;
    std::vector<double> distances, sizes;
    for (Index test = 0; test < values.cols(); ++test) {
      units.clear();
      distances.clear();
      sizes.clear();
      for (Index unit = 0; unit < values.rows(); ++unit) {
        const double distance = side * (values(unit, test) - null);
        if (!std::isfinite(distance)) continue;
        ++count_[test];
        if (distance == 0) continue;
        units.push_back(unit);
        distances.push_back(distance);
        sizes.push_back(std::abs(distance));
      }
      const std::vector<double> midranks = ranks(sizes);
      for (const double rank : midranks) square_[test] += rank * rank;
      for (std::size_t i = 0; i < units.size(); ++i) {
        scaled_(units[i], test) =
            std::copysign(midranks[i], distances[i]) / std::sqrt(square_[test]);
      }
    }
  }
  bool has_test(Index test) const { return count_[test] >= 2; }
  bool has_spread(Index test) const { return square_[test] > 0; }

  // Computes the statistic of every column under these signs; valid until the next call.
  std::span<const double> statistics(std::span<const double> signs) {
    std::ranges::fill(sums_, 0.0);
    for (Index unit = 0; unit < scaled_.rows(); ++unit) {
      const double sign = signs[unit];
      const double* row = scaled_.row(unit).data();
      for (std::size_t test = 0; test < sums_.size(); ++test) sums_[test] += sign * row[test];
    }
    return sums_;
  }

 private:
  Matrix<double> scaled_;
  std::vector<int> count_;
  std::vector<double> square_, sums_;
};

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

std::vector<double> sign_flip_tests(MatrixView<const double> values, double null, Tail tail,
                                    const SignFlipOptions& options) {
  if (tail == Tail::both) {
    throw UsageError(fault("a test by sign flips", "Tail::above or Tail::below", "both", ""));
  }
  const Index tests = values.cols();
  std::vector<double> p(tests, kUndefined);
  if (values.rows() < 2 || tests == 0) return p;
  RankedColumns columns(values, null, tail);
  std::vector<double> signs(values.rows(), 1.0);
  const auto own = columns.statistics(signs);
  const std::vector<double> found(own.begin(), own.end());
  std::vector<int> reached(tests, 1);  // the observed signs are the first draw
  for (int flip = 0; flip < options.flips; ++flip) {
    draw_signs(options, static_cast<std::uint32_t>(flip), signs);
    const double largest = std::ranges::max(columns.statistics(signs));
    for (Index test = 0; test < tests; ++test) {
      reached[test] += largest >= found[test] - kRounding ? 1 : 0;
    }
  }
  for (Index test = 0; test < tests; ++test) {
    if (!columns.has_test(test)) continue;
    p[test] =
        columns.has_spread(test) ? static_cast<double>(reached[test]) / (options.flips + 1) : 1.0;
  }
  return p;
}

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

double ks_distance(std::vector<double> first, std::vector<double> second) {
  std::ranges::sort(first);
  std::ranges::sort(second);
  const auto n = static_cast<double>(first.size()), m = static_cast<double>(second.size());
  double largest = 0;
  std::size_t i = 0, j = 0;
  while (i < first.size() && j < second.size()) {
    const double x = std::min(first[i], second[j]);
    while (i < first.size() && first[i] <= x) ++i;
    while (j < second.size() && second[j] <= x) ++j;
    largest = std::max(largest, std::abs(static_cast<double>(i) / n - static_cast<double>(j) / m));
  }
  return largest;
}

double kolmogorov_tail(double x) {
  if (x <= 0.0) return 1.0;
  constexpr int kTerms = 20;
  double sum = 0;
  if (x < 1.0) {
    // Computes the same function by the other theta series, which converges fast here.
    for (int k = 1; k <= kTerms; ++k) {
      const double odd = (2 * k - 1) * std::numbers::pi / x;
      sum += std::exp(-odd * odd / 8.0);
    }
    return 1.0 - std::sqrt(2.0 * std::numbers::pi) / x * sum;
  }
  for (int k = 1; k <= kTerms; ++k) {
    sum += (k % 2 == 1 ? 2.0 : -2.0) * std::exp(-2.0 * k * k * x * x);
  }
  return sum;
}

double ks_probability(double d, std::size_t n, std::size_t m) {
  const auto a = static_cast<double>(n), b = static_cast<double>(m);
  return kolmogorov_tail(d * std::sqrt(a * b / (a + b)));
}

}  // namespace headgauge
