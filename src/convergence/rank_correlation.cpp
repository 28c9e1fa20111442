#include "convergence/rank_correlation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.hpp"

namespace headgauge {
namespace {

constexpr int kResamples = 2000;
constexpr double kTail = 0.025;

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double rank = (static_cast<double>(i + end) + 1) / 2;
    for (; i < end; ++i) out[order[i]] = rank;
  }
  return out;
}

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

// Linear between the order statistics, as numpy's percentile.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

RankCorrelation rank_correlation(std::span<const double> x, std::span<const double> y,
                                 std::uint64_t seed, std::uint32_t pair) {
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
  std::vector<double> resampled, p(a.size()), q(a.size());
  for (std::uint32_t resample = 0; resample < kResamples; ++resample) {
    const RandomStream random(seed, RandomDomain::bootstrap, pair, resample);
    std::array<std::uint32_t, 4> words{};
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i % 4 == 0) words = random.block(static_cast<std::uint32_t>(i / 4));
      const auto at = static_cast<std::size_t>((std::uint64_t{words[i % 4]} * a.size()) >> 32);
      p[i] = a[at];
      q[i] = b[at];
    }
    const double value = correlation(ranks(p), ranks(q));
    if (!std::isnan(value)) resampled.push_back(value);
  }
  std::ranges::sort(resampled);
  if (resampled.empty()) return found;
  found.low = quantile(resampled, kTail);
  found.high = quantile(resampled, 1 - kTail);
  return found;
}

}  // namespace headgauge
