#include "measures/critical.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "measures/coordinates.hpp"

namespace headgauge {
namespace {

constexpr double kStandardErrors = 2.0;

struct Found {
  double n = -1.0;
  double d = kUndefined;
  double p = kUndefined;
};

// The first N of 1..last at which the test does not reject; else the largest p.
Found find_critical(std::span<const LayerStatistics* const> layers, const CriticalMetrics& metrics,
                    std::span<const int> heads, Index length, int last, double level) {
  Found best;
  for (int n = 1; n <= last; ++n) {
    std::vector<double> distances, contexts;
    for (const LayerStatistics* layer : layers) {
      for (const int head : heads) {
        const Estimate distance = layer->at(metrics.distance, head, length, n - 1);
        if (distance.rows == 0) continue;
        const Estimate excess = layer->at(metrics.excess, head, length, n - 1);
        distances.push_back(distance.value);
        contexts.push_back(distance.value - excess.value);
      }
    }
    if (distances.empty()) continue;
    const std::size_t count = distances.size();
    const double d = ks_distance(std::move(distances), std::move(contexts));
    const double p = ks_probability(d, count, count);
    if (p >= level) return {static_cast<double>(n), d, p};
    if (std::isnan(best.p) || p > best.p) best = {-1.0, d, p};
  }
  if (std::isnan(best.p)) best.n = kUndefined;
  return best;
}

// The first N at which the two means of a head meet; -1 if none, undefined without standard errors.
double find_critical_of_head(const LayerStatistics& layer, const CriticalMetrics& metrics, int head,
                             Index length, int last) {
  bool known = false;
  for (int n = 1; n <= last; ++n) {
    const Estimate excess = layer.at(metrics.excess, head, length, n - 1);
    if (std::isnan(excess.standard_error)) continue;
    known = true;
    if (std::abs(excess.value) < kStandardErrors * excess.standard_error) return n;
  }
  return known ? -1.0 : kUndefined;
}

}  // namespace

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
    // The same function by the other theta series, which converges fast here.
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

void derive_critical(std::span<const LayerStatistics* const> layers, const CriticalMetrics& metrics,
                     const MeasureOptions& options, Results& results) {
  const std::vector<int> heads = coordinate_numbers(results, "head");
  const auto add = [&](const char* name, std::vector<std::string> dims, const char* unit) {
    results.add_metric(name, std::move(dims), unit);
    return results.metrics.size() - 1;
  };
  const auto values = [&](std::size_t metric) -> std::vector<double>& {
    return results.metrics[metric].second.values;
  };
  const auto n = add("critical_n", {"length"}, "keys");
  const auto fraction = add("critical_fraction", {"length"}, "1");
  const auto d = add("critical_ks_d", {"length"}, "1");
  const auto p = add("critical_ks_p", {"length"}, "1");
  const auto n_head = add("critical_n_head", {"layer", "head", "length"}, "keys");
  const auto fraction_head = add("critical_fraction_head", {"layer", "head", "length"}, "1");

  for (Index l = 0; l < std::ssize(options.lengths); ++l) {
    const int length = options.lengths[l];
    const auto last = static_cast<int>(std::min<Index>(length - 1, metrics.excess.count));
    const Found found = find_critical(layers, metrics, heads, l, last, options.critical_level);
    values(n)[l] = found.n;
    values(fraction)[l] = found.n > 0 ? found.n / length : kUndefined;
    values(d)[l] = found.d;
    values(p)[l] = found.p;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      for (std::size_t h = 0; h < heads.size(); ++h) {
        const double own = find_critical_of_head(*layers[layer], metrics, heads[h], l, last);
        const std::size_t cell = (layer * heads.size() + h) * options.lengths.size() + l;
        values(n_head)[cell] = own;
        values(fraction_head)[cell] = own > 0 ? own / length : kUndefined;
      }
    }
  }
}

}  // namespace headgauge
