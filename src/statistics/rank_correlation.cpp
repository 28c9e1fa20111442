#include "statistics/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "statistics/bootstrap.hpp"
#include "statistics/ranks.hpp"
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

// Values whose resamples are ranked by counting: how often each distinct value was drawn tells the
// midranks of all.
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

}  // namespace

RankCorrelation rank_correlation(std::span<const double> x, std::span<const double> y,
                                 std::uint64_t seed, std::uint32_t pair) {
  check_pairs(x, y);
  std::vector<double> a, b;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
    a.push_back(x[i]);
    b.push_back(y[i]);
  }
  RankCorrelation found;
  found.pairs = static_cast<int>(a.size());
  if (found.pairs < kFewestHeads) return found;
  found.value = correlation(ranks(a), ranks(b));
  if (std::isnan(found.value)) return found;
  found.p = p_of_correlation(found.value, found.pairs);
  ResampledRanks of_a(a), of_b(b);
  const auto of_heads = [&](std::span<const Index> heads) {
    return correlation(of_a.of(heads), of_b.of(heads));
  };
  BootstrapOptions options;
  options.kind = BootstrapKind::percentile;
  options.seed = seed;
  options.stream = pair;
  const Interval interval = bootstrap_interval(std::ssize(a), of_heads, options);
  found.low = interval.low;
  found.high = interval.high;
  return found;
}

}  // namespace headgauge
