#include "statistics/rank_correlation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "headgauge/ranks.hpp"
#include "statistics/bootstrap.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kUndefined;
}

// Ranks the resamples of values by counting: how often each distinct value was drawn determines all
// midranks.
class ResampledRanks {
 public:
  explicit ResampledRanks(const std::vector<double>& values) : class_of_(values.size()) {
    std::vector<double> distinct = values;
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
      class_of_[i] = std::ranges::lower_bound(distinct, values[i]) - distinct.begin();
    }
    midrank_.resize(distinct.size());
    ranks_.resize(values.size());
  }

  const std::vector<double>& of(std::span<const Index> drawn) {
    std::ranges::fill(midrank_, 0);
    for (const Index i : drawn) ++midrank_[class_of_[i]];
    double before = 0;
    for (double& rank : midrank_) {
      const double count = rank;
      rank = before + (count + 1) / 2;
      before += count;
    }
    for (std::size_t i = 0; i < drawn.size(); ++i) ranks_[i] = midrank_[class_of_[drawn[i]]];
    return ranks_;
  }

 private:
  std::vector<Index> class_of_;
  std::vector<double> midrank_, ranks_;
};

double p_of_correlation(double r, int pairs) {
  const double freedom = pairs - 2;
  const double rest = 1 - r * r;
  const double t =
      rest > 0 ? std::abs(r) * std::sqrt(freedom / rest) : std::numeric_limits<double>::infinity();
  return 2 * student_tail(t, freedom);
}

// Returns the columns, limited to the rows in which all of them are finite.
std::vector<std::vector<double>> complete(std::span<const std::span<const double>> columns) {
  std::vector<std::vector<double>> kept(columns.size());
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    const auto finite = [&](std::span<const double> column) { return std::isfinite(column[i]); };
    if (!std::ranges::all_of(columns, finite)) continue;
    for (std::size_t k = 0; k < columns.size(); ++k) kept[k].push_back(columns[k][i]);
  }
  return kept;
}

// Computes a correlation of the ranks of some columns, and its interval from resampled rows.
template <class Figure>
RankCorrelation of_ranks(std::span<const std::span<const double>> columns, const Figure& figure,
                         std::uint64_t seed, std::uint32_t stream) {
  for (const auto& column : columns) check_pairs(columns.front(), column);
  const std::vector<std::vector<double>> kept = complete(columns);
  RankCorrelation found;
  found.pairs = static_cast<int>(kept.front().size());
  if (found.pairs < kFewestPairs) return found;
  std::vector<std::vector<double>> ranked;
  for (const auto& column : kept) ranked.push_back(ranks(column));
  found.value = figure(ranked);
  if (std::isnan(found.value)) return found;
  std::vector<ResampledRanks> resampled(kept.begin(), kept.end());
  const auto of_units = [&](std::span<const Index> units) {
    for (std::size_t k = 0; k < ranked.size(); ++k) ranked[k] = resampled[k].of(units);
    return figure(ranked);
  };
  BootstrapOptions options;
  options.kind = BootstrapKind::percentile;
  options.seed = seed;
  options.stream = stream;
  const Interval interval = bootstrap_interval(found.pairs, of_units, options);
  found.low = interval.low;
  found.high = interval.high;
  return found;
}

}  // namespace

RankCorrelation rank_correlation(std::span<const double> x, std::span<const double> y,
                                 std::uint64_t seed, std::uint32_t pair) {
  const auto figure = [](const std::vector<std::vector<double>>& ranked) {
    return correlation(ranked[0], ranked[1]);
  };
  RankCorrelation found = of_ranks(std::array{x, y}, figure, seed, pair);
  if (!std::isnan(found.value)) found.p = p_of_correlation(found.value, found.pairs);
  return found;
}

RankCorrelation partial_rank_correlation(std::span<const double> x, std::span<const double> y,
                                         std::span<const double> given, std::uint64_t seed,
                                         std::uint32_t stream) {
  const auto figure = [](const std::vector<std::vector<double>>& ranked) {
    const double xy = correlation(ranked[0], ranked[1]);
    const double xz = correlation(ranked[0], ranked[2]);
    const double yz = correlation(ranked[1], ranked[2]);
    const double left = (1 - xz * xz) * (1 - yz * yz);
    return left > 0 ? (xy - xz * yz) / std::sqrt(left) : kUndefined;
  };
  return of_ranks(std::array{x, y, given}, figure, seed, stream);
}

}  // namespace headgauge
