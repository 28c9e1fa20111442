#include "statistics/bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "statistics/ranks.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// The figures of all resamples in order.
std::vector<double> resampled_figures(Index units, const FigureOfUnits& figure,
                                      const BootstrapOptions& options) {
  std::vector<double> figures;
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
    const double value = figure(drawn);
    if (!std::isnan(value)) figures.push_back(value);
  }
  std::ranges::sort(figures);
  return figures;
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

// Undefined where all resamples lie on one side of the figure.
Shares accelerated_shares(Index units, const FigureOfUnits& figure, double whole,
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
  std::vector<double> without(units);
  std::vector<Index> others(units - 1);
  for (Index left_out = 0; left_out < units; ++left_out) {
    for (Index i = 0; i + 1 < units; ++i) others[i] = i < left_out ? i : i + 1;
    without[left_out] = figure(others);
  }
  const double mean =
      std::accumulate(without.begin(), without.end(), 0.0) / static_cast<double>(units);
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

}  // namespace

Interval bootstrap_interval(Index units, const FigureOfUnits& figure,
                            const BootstrapOptions& options) {
  check_level("the level of an interval", options.level);
  if (options.resamples < 1) {
    throw UsageError(
        fault("a bootstrap", "1 resample or more", fmt::format("{}", options.resamples), ""));
  }
  if (units < 2) return {};
  std::vector<Index> all(units);
  std::iota(all.begin(), all.end(), Index{0});
  const double whole = figure(all);
  if (std::isnan(whole)) return {};
  const std::vector<double> figures = resampled_figures(units, figure, options);
  if (figures.empty()) return {};
  const double tail = options.level / 2;
  Shares shares{tail, 1 - tail};
  if (figures.front() == figures.back()) return {figures.front(), figures.back()};
  if (options.kind == BootstrapKind::expanded) shares = expanded_shares(units, tail);
  if (options.kind == BootstrapKind::bca) {
    shares = accelerated_shares(units, figure, whole, figures, tail);
    if (std::isnan(shares.low)) return {};
  }
  return {sorted_quantile(figures, shares.low), sorted_quantile(figures, shares.high)};
}

}  // namespace headgauge
