#include "statistics/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>

namespace headgauge {

void check_pairs(std::span<const double> first, std::span<const double> second) {
  if (first.size() == second.size()) return;
  throw UsageError(fault("a paired test", "the same number of values on both sides",
                         fmt::format("{} and {}", first.size(), second.size()), ""));
}

void check_level(std::string_view what, double level) {
  if (level > 0 && level < 1) return;
  throw UsageError(fault(what, "a probability between 0 and 1", fmt::format("{}", level), ""));
}

std::vector<double> finite_values(std::span<const double> values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite),
                       [](double v) { return std::isfinite(v); });
  return finite;
}

std::vector<double> paired_differences(std::span<const double> first,
                                       std::span<const double> second) {
  check_pairs(first, second);
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (std::isfinite(first[i]) && std::isfinite(second[i])) {
      differences.push_back(first[i] - second[i]);
    }
  }
  return differences;
}

MeanWithError mean_with_error(std::span<const double> values) {
  const std::vector<double> x = finite_values(values);
  if (x.size() < 2) return {};
  const auto n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double squares = 0;
  for (const double v : x) squares += (v - mean) * (v - mean);
  return {mean, std::sqrt(squares / (n - 1) / n), n - 1};
}

Interval proportion_interval(Index hits, Index trials, double level) {
  check_level("the level of an interval", level);
  if (trials < 1) return {};
  using Binomial = boost::math::binomial_distribution<double>;
  const auto n = static_cast<double>(trials), k = static_cast<double>(hits);
  return {Binomial::find_lower_bound_on_p(n, k, level / 2),
          Binomial::find_upper_bound_on_p(n, k, level / 2)};
}

double least_squares_slope(std::span<const double> x, std::span<const double> y) {
  check_pairs(x, y);
  const auto count = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / count;
    mean_y += y[i] / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 ? xy / xx : kUndefined;
}

}  // namespace headgauge
