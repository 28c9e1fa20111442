#include "measures/paired_means.hpp"

#include <algorithm>
#include <cmath>

#include "headgauge/ranks.hpp"
#include "statistics/kolmogorov_smirnov.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

const double kEdge = std::log1p(kEqualityMargin);
// The absolute log ratio if one of the two means is 0, exactly or by rounding.
constexpr double kFarApart = 20;

// Computes the standard error of log(distance / context) by the delta method; the covariance of the
// two means follows from the error of their difference.
double error_of_log_ratio(const Estimate& distance, const Estimate& context,
                          const Estimate& excess) {
  const auto square = [](double value) { return value * value; };
  const double first = square(distance.standard_error), second = square(context.standard_error);
  const double covariance = (first + second - square(excess.standard_error)) / 2;
  const double variance = first / square(distance.value) + second / square(context.value) -
                          2 * covariance / (distance.value * context.value);
  return std::sqrt(std::max(variance, 0.0));
}

double p_of_equality(const MeanWithError& log_ratio) {
  if (std::isnan(log_ratio.standard_error)) return kUndefined;
  return std::max(t_test(log_ratio, -kEdge, Tail::above).p,
                  t_test(log_ratio, kEdge, Tail::below).p);
}

// Returns the heads' median of log_ratio at one N, with its error if the heads' errors are fully
// correlated.
MeanWithError median_over_heads(const PairedMeans& means, Index size) {
  std::vector<double> ratios;
  MeanWithError middle{0, 0, kUndefined};
  for (Index head = 0; head < means.heads(); ++head) {
    if (std::isnan(means.log_ratio(head, size))) continue;
    ratios.push_back(means.log_ratio(head, size));
    middle.standard_error += means.error(head, size);
    middle.degrees_of_freedom = std::fmin(middle.degrees_of_freedom, means.freedom(head, size));
  }
  middle.standard_error /= static_cast<double>(ratios.size());
  middle.value = median(std::move(ratios));
  return middle;
}

}  // namespace

PairedMeans paired_means(std::span<const LayerStatistics* const> layers,
                         const CriticalMetrics& metrics, std::span<const HeadPlace> heads,
                         Index length, Index sizes) {
  const Index count = std::ssize(heads);
  PairedMeans means;
  for (auto* matrix :
       {&means.distance, &means.context, &means.log_ratio, &means.error, &means.freedom}) {
    *matrix = Matrix<double>(count, sizes);
    std::fill_n(matrix->data(), count * sizes, kUndefined);
  }
  for (Index h = 0; h < count; ++h) {
    const HeadPlace& place = heads[h];
    for (Index k = 0; k < sizes; ++k) {
      const auto at = [&](MetricHandle metric) {
        return layers[place.layer]->at(metric, place.number, length, k);
      };
      const Estimate distance = at(metrics.distance);
      if (distance.rows == 0) continue;
      const Estimate context = at(metrics.context);
      means.distance(h, k) = distance.value;
      means.context(h, k) = context.value;
      if (!(distance.value > 0) && !(context.value > 0)) continue;
      const double ratio = std::log(distance.value / context.value);
      means.log_ratio(h, k) = std::clamp(ratio, -kFarApart, kFarApart);
      means.error(h, k) = std::abs(ratio) < kFarApart
                              ? error_of_log_ratio(distance, context, at(metrics.excess))
                              : 0;
      means.freedom(h, k) = distance.degrees_of_freedom;
    }
  }
  return means;
}

std::vector<double> equality_p_values(const PairedMeans& means, const SignFlipOptions& options) {
  const auto above = sign_flip_tests(means.log_ratio, -kEdge, Tail::above, options);
  const auto below = sign_flip_tests(means.log_ratio, kEdge, Tail::below, options);
  std::vector<double> p(means.sizes(), kUndefined);
  for (Index k = 0; k < means.sizes(); ++k) {
    if (std::isnan(above[k])) continue;
    const double over_text = p_of_equality(median_over_heads(means, k));
    p[k] = std::fmax(std::max(above[k], below[k]), over_text);
  }
  return p;
}

std::vector<double> equality_p_values_of_head(const PairedMeans& means, Index head) {
  std::vector<double> p(means.sizes(), kUndefined);
  for (Index k = 0; k < means.sizes(); ++k) {
    p[k] = p_of_equality({means.log_ratio(head, k), means.error(head, k), means.freedom(head, k)});
  }
  return p;
}

SizeFound first_equal(std::span<const double> p, double level) {
  SizeFound least;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (p[k] < level) return {.n = static_cast<double>(k + 1), .value = p[k]};
    if (std::isnan(p[k]) || p[k] >= least.value) continue;
    least = {.n = -1.0, .value = p[k]};
  }
  return least;
}

ClosestSize::ClosestSize(const PairedMeans& means)
    : means_(means), ascending_(means.sizes()), times_(means.heads()) {
  for (Index k = 0; k < means.sizes(); ++k) {
    std::vector<Index>& order = ascending_[k];
    for (Index head = 0; head < means.heads(); ++head) {
      if (!std::isnan(means.log_ratio(head, k))) order.push_back(head);
    }
    std::ranges::sort(order, {}, [&](Index head) { return means.log_ratio(head, k); });
  }
}

// Averages the middle two, or the middle one with itself.
double ClosestSize::median_at(Index size, std::span<const Index> heads) const {
  const std::vector<Index>& order = ascending_[size];
  Index count = std::ssize(heads);
  if (std::ssize(order) < means_.heads()) {
    count = 0;
    for (const Index head : order) count += times_[head];
  }
  if (count == 0) return kUndefined;
  const Index lower = (count - 1) / 2, upper = count / 2;
  Index passed = 0;
  double first = kUndefined;
  for (const Index head : order) {
    const Index before = passed;
    passed += times_[head];
    if (before <= lower && lower < passed) first = means_.log_ratio(head, size);
    if (upper < passed) return (first + means_.log_ratio(head, size)) / 2;
  }
  return kUndefined;
}

SizeFound ClosestSize::of(std::span<const Index> heads) {
  std::ranges::fill(times_, 0);
  for (const Index head : heads) ++times_[head];
  SizeFound closest;
  for (Index k = 0; k < means_.sizes(); ++k) {
    const double middle = median_at(k, heads);
    if (std::isnan(middle) || std::abs(middle) >= std::abs(closest.value)) continue;
    closest = {.n = static_cast<double>(k + 1), .value = middle};
  }
  return closest;
}

SizeFound closest_size_of_head(const PairedMeans& means, Index head) {
  SizeFound closest;
  for (Index k = 0; k < means.sizes(); ++k) {
    const double ratio = means.log_ratio(head, k);
    if (std::isnan(ratio) || std::abs(ratio) >= std::abs(closest.value)) continue;
    closest = {static_cast<double>(k + 1), ratio, means.error(head, k), means.freedom(head, k)};
  }
  return closest;
}

KolmogorovSmirnovFound first_not_rejected(const PairedMeans& means, double level) {
  KolmogorovSmirnovFound best;
  for (Index k = 0; k < means.sizes(); ++k) {
    std::vector<double> distances, contexts;
    for (Index head = 0; head < means.heads(); ++head) {
      if (std::isnan(means.distance(head, k))) continue;
      distances.push_back(means.distance(head, k));
      contexts.push_back(means.context(head, k));
    }
    if (distances.empty()) continue;
    const std::size_t count = distances.size();
    const double d = ks_distance(std::move(distances), std::move(contexts));
    const double p = ks_probability(d, count, count);
    if (p >= level) return {static_cast<double>(k + 1), d, p};
    if (!(p <= best.p)) best = {-1.0, d, p};
  }
  return best;
}

}  // namespace headgauge
