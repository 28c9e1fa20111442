#include "statistics/bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "headgauge/ranks.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Returns the defined values of each figure over all resamples, sorted.
std::vector<std::vector<double>> resampled_figures(Index units, Index count,
                                                   const FiguresOfUnits& figures,
                                                   const BootstrapOptions& options) {
  std::vector<std::vector<double>> found(count);
  std::vector<double> values(count);
  std::vector<Index> drawn(units);
  for (std::uint32_t resample = 0; resample < static_cast<std::uint32_t>(options.resamples);
       ++resample) {
    const RandomStream random(options.seed, RandomDomain::bootstrap, options.stream, resample);
    std::array<std::uint32_t, 4> words{};
    for (Index i = 0; i < units; ++i) {
      if (i % 4 == 0) words = random.block(static_cast<std::uint32_t>(i / 4));
      drawn[i] = static_cast<Index>(
          (std::uint64_t{words[i % 4]} * static_cast<std::uint64_t>(units)) >> 32);
    }
    std::ranges::fill(values, kUndefined);
    figures(drawn, values);
    for (Index k = 0; k < count; ++k) {
      if (!std::isnan(values[k])) found[k].push_back(values[k]);
    }
  }
  for (auto& figure : found) std::ranges::sort(figure);
  return found;
}

struct Shares {
  double low, high;
};

Shares expanded_shares(Index units, double tail) {
  const auto n = static_cast<double>(units);
  const double reach = std::sqrt(n / (n - 1)) * student_quantile(tail, n - 1);
  const double share = cdf(complement(boost::math::normal(), reach));
  return {share, 1 - share};
}

// Undefined if all resamples lie on one side of the figure. `without` holds the figure with each
// unit left out in turn.
Shares accelerated_shares(std::span<const double> without, double whole,
                          std::span<const double> figures, double tail) {
  const auto below =
      static_cast<double>(std::ranges::lower_bound(figures, whole) - figures.begin());
  const auto up_to =
      static_cast<double>(std::ranges::upper_bound(figures, whole) - figures.begin());
  const double share = (below + up_to) / 2 / static_cast<double>(figures.size());
  if (!(share > 0 && share < 1)) return {kUndefined, kUndefined};
  const boost::math::normal normal;
  const double bias = quantile(normal, share);
  // The acceleration is the skewness of the figure's jackknife.
  const double mean =
      std::accumulate(without.begin(), without.end(), 0.0) / static_cast<double>(without.size());
  double squares = 0, cubes = 0;
  for (const double value : without) {
    const double deviation = mean - value;
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  const double acceleration = squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
  const auto adjusted = [&](double z) {
    return cdf(normal, bias + (bias + z) / (1 - acceleration * (bias + z)));
  };
  const double z = quantile(normal, tail);
  if (!std::isfinite(acceleration)) return {kUndefined, kUndefined};
  return {adjusted(z), adjusted(-z)};
}

// Computes each figure (rows) with each unit left out in turn (columns).
Matrix<double> jackknife(Index units, Index count, const FiguresOfUnits& figures) {
  Matrix<double> without(count, units);
  std::vector<Index> others(units - 1);
  std::vector<double> values(count);
  for (Index left_out = 0; left_out < units; ++left_out) {
    for (Index i = 0; i + 1 < units; ++i) others[i] = i < left_out ? i : i + 1;
    std::ranges::fill(values, kUndefined);
    figures(others, values);
    for (Index k = 0; k < count; ++k) without(k, left_out) = values[k];
  }
  return without;
}

}  // namespace

Interval bootstrap_interval(Index units, const FigureOfUnits& figure,
                            const BootstrapOptions& options) {
  return bootstrap_intervals(
             units, 1,
             [&](std::span<const Index> drawn, std::span<double> figures) {
               figures[0] = figure(drawn);
             },
             options)
      .front();
}

std::vector<Interval> bootstrap_intervals(Index units, Index count, const FiguresOfUnits& figures,
                                          const BootstrapOptions& options) {
  check_level("the level of an interval", options.level);
  if (options.resamples < 1) {
    throw UsageError(
        fault("a bootstrap", "at least 1 resample", fmt::format("{}", options.resamples), ""));
  }
  std::vector<Interval> intervals(count);
  if (units < 2) return intervals;
  std::vector<Index> all(units);
  std::iota(all.begin(), all.end(), Index{0});
  std::vector<double> whole(count, kUndefined);
  figures(all, whole);
  if (std::ranges::all_of(whole, [](double value) { return std::isnan(value); })) return intervals;
  const auto resampled = resampled_figures(units, count, figures, options);
  const double tail = options.level / 2;
  Matrix<double> without;
  if (options.kind == BootstrapKind::bca) without = jackknife(units, count, figures);
  for (Index k = 0; k < count; ++k) {
    const std::vector<double>& drawn = resampled[k];
    if (std::isnan(whole[k]) || drawn.empty()) continue;
    if (drawn.front() == drawn.back()) {
      intervals[k] = {drawn.front(), drawn.back()};
      continue;
    }
    Shares shares{tail, 1 - tail};
    if (options.kind == BootstrapKind::expanded) shares = expanded_shares(units, tail);
    if (options.kind == BootstrapKind::bca) {
      shares = accelerated_shares(without.row(k), whole[k], drawn, tail);
      if (std::isnan(shares.low)) continue;
    }
    intervals[k] = {sorted_quantile(drawn, shares.low), sorted_quantile(drawn, shares.high)};
  }
  return intervals;
}

}  // namespace headgauge
