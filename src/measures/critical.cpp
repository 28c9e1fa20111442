#include "measures/critical.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "measures/coordinates.hpp"
#include "results/declared.hpp"
#include "statistics/bootstrap.hpp"
#include "statistics/inference.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Fewest heads for bootstrap quantiles.
constexpr Index kFewestHeads = 8;
constexpr std::size_t kFewestLengths = 3;  // to estimate a power of the length

// Derives critical N and the closest N at every length, and how the closest N grows with the
// length.
class CriticalSizes {
 public:
  CriticalSizes(std::span<const LayerStatistics* const> layers, const CriticalMetrics& metrics,
                const MeasureOptions& options, Results& results)
      : options_(options), results_(results) {
    const std::vector<int> numbers = coordinate_numbers(results, "head");
    for (Index layer = 0; layer < std::ssize(layers); ++layer) {
      for (Index head = 0; head < std::ssize(numbers); ++head) {
        const int number = numbers[head];
        const Index longest = std::ssize(options.lengths) - 1;
        if (layers[layer]->at(metrics.distance, number, longest, 0).rows == 0) continue;
        heads_.push_back({layer, head, number});
        if (sees_all_keys(results, layer)) comparable_.push_back(heads_.back());
      }
    }
    if (comparable_.empty()) comparable_ = heads_;
    for (Index l = 0; l < std::ssize(options.lengths); ++l) {
      const Index sizes = std::min<Index>(options.lengths[l] - 1, metrics.excess.count);
      const auto of = [&](std::span<const HeadPlace> heads) {
        return paired_means(layers, metrics, heads, l, std::max<Index>(sizes, 0));
      };
      means_.push_back(of(comparable_));
      if (comparable_.size() < heads_.size()) of_each_.push_back(of(heads_));
    }
  }

  void derive() {
    derive_equality();
    derive_closest();
    derive_of_paper();
    derive_by_head();
  }

 private:
  const PairedMeans& of_each(Index length) const {
    return of_each_.empty() ? means_[length] : of_each_[length];
  }
  LabelledArray& add(std::string_view name) { return add_declared(results_, name); }
  Index lengths() const { return std::ssize(options_.lengths); }
  static double share(double n, double keys) { return n > 0 ? n / keys : kUndefined; }

  void derive_equality() {
    LabelledArray& n = add(metric::critical_n);
    LabelledArray& fraction = add(metric::critical_fraction);
    for (Index l = 0; l < lengths(); ++l) {
      SignFlipOptions flips;
      flips.seed = options_.seed;
      flips.stream = static_cast<std::uint32_t>(l);
      const SizeFound found =
          first_equal(equality_p_values(means_[l], flips), options_.critical_level);
      n.set({l}, {.value = found.n, .p = found.value});
      fraction({l}) = share(found.n, options_.lengths[l]);
    }
  }

  // Computes the bootstrapped figures: n and ratio of each length, then the exponent.
  void fill_closest(std::vector<ClosestSize>& closest, std::span<const Index> heads,
                    std::span<double> figures) const {
    std::vector<double> log_length, log_n;
    for (Index l = 0; l < lengths(); ++l) {
      const SizeFound found = closest[l].of(heads);
      figures[2 * l] = found.n;
      figures[2 * l + 1] = std::exp(found.value);
      if (!inside_[l]) continue;
      log_length.push_back(std::log(options_.lengths[l]));
      log_n.push_back(std::log(found.n));
    }
    if (log_n.size() < kFewestLengths) return;
    figures[2 * lengths()] = least_squares_slope(log_length, log_n);
  }

  void derive_closest() {
    std::vector<ClosestSize> closest(means_.begin(), means_.end());
    std::vector<Index> all(comparable_.size());
    std::iota(all.begin(), all.end(), Index{0});
    // If the closest N is the last one searched, a larger N may be closer.
    inside_.clear();
    for (Index l = 0; l < lengths(); ++l) {
      inside_.push_back(closest[l].of(all).n < static_cast<double>(means_[l].sizes()));
    }
    const Index count = 2 * lengths() + 1;
    std::vector<double> whole(count, kUndefined);
    fill_closest(closest, all, whole);
    std::vector<Interval> intervals(count);
    if (std::ssize(comparable_) >= kFewestHeads) {
      BootstrapOptions options;
      options.kind = BootstrapKind::percentile;
      options.seed = options_.seed;
      options.stream = kStream;
      const auto figures = [&](std::span<const Index> heads, std::span<double> values) {
        fill_closest(closest, heads, values);
      };
      intervals = bootstrap_intervals(std::ssize(comparable_), count, figures, options);
    }
    // The metric's cells are every second figure, starting at `first`.
    const auto put = [&](const std::string& name, Index first) {
      LabelledArray& metric = add(name);
      for (Index i = 0; i < metric.size(); ++i) {
        metric.values[i] = whole[first + 2 * i];
        metric.low[i] = intervals[first + 2 * i].low;
        metric.high[i] = intervals[first + 2 * i].high;
      }
    };
    put(metric::closest_n, 0);
    put(metric::closest_ratio, 1);
    put(metric::closest_n_exponent, 2 * lengths());
  }

  void derive_of_paper() {
    LabelledArray& n = add(metric::critical_n_paper);
    LabelledArray& d = add(metric::critical_ks_d);
    for (Index l = 0; l < lengths(); ++l) {
      const KolmogorovSmirnovFound found = first_not_rejected(means_[l], options_.critical_level);
      n({l}) = found.n;
      d.set({l}, {.value = found.d, .p = found.p});
    }
  }

  void derive_by_head() {
    LabelledArray& n = add(metric::critical_n_head);
    LabelledArray& fraction = add(metric::critical_fraction_head);
    LabelledArray& closest_n = add(metric::closest_n_head);
    LabelledArray& closest_ratio = add(metric::closest_ratio_head);
    closest_ratio.with_standard_errors();
    for (Index l = 0; l < lengths(); ++l) {
      for (Index h = 0; h < std::ssize(heads_); ++h) {
        const auto [layer, head, number] = heads_[h];
        const SizeFound found =
            first_equal(equality_p_values_of_head(of_each(l), h), options_.critical_level);
        n({layer, head, l}) = found.n;
        const double window = window_of_layer(results_, layer);
        const double keys = options_.lengths[l];
        fraction({layer, head, l}) = share(found.n, window > 0 ? std::min(window, keys) : keys);
        const SizeFound closest = closest_size_of_head(of_each(l), h);
        closest_n({layer, head, l}) = closest.n;
        const double ratio = std::exp(closest.value);
        closest_ratio.set({layer, head, l}, {.value = ratio,
                                             .standard_error = ratio * closest.error,
                                             .degrees_of_freedom = closest.freedom});
      }
    }
  }

  static constexpr std::uint32_t kStream = 1u << 20;  // predictions of validate use those below

  const MeasureOptions& options_;
  Results& results_;
  std::vector<HeadPlace> heads_;
  std::vector<HeadPlace> comparable_;  // heads that see all keys of the longest length; all if none
  std::vector<PairedMeans> means_;     // by length, of comparable_
  std::vector<PairedMeans> of_each_;   // by length, of heads_; empty if these are the same
  std::vector<bool> inside_;           // by length
};

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

void derive_critical(std::span<const LayerStatistics* const> layers, const CriticalMetrics& metrics,
                     const MeasureOptions& options, Results& results) {
  CriticalSizes(layers, metrics, options, results).derive();
}

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
