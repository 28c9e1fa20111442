#include "statistics/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace headgauge
