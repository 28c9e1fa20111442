#include "convergence/budget.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "convergence/population.hpp"
#include "headgauge/synthetic.hpp"
#include "heads/masked_row.hpp"
#include "kernels/prefix_sums.hpp"

namespace headgauge {
namespace {

constexpr Index kFewestKeys = 8;
constexpr int kPoints = 12;
constexpr Index kBudgetTile = 16;

// Returns a permutation of [0, size).
std::vector<std::uint32_t> shuffled(const RandomStream& random, Index size) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0u);
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    if (i % 4 == 0) words = random.block(static_cast<std::uint32_t>(i / 4));
    const auto left = static_cast<std::uint64_t>(order.size() - i);
    std::swap(order[i], order[i + ((std::uint64_t{words[i % 4]} * left) >> 32)]);
  }
  return order;
}

// Lists the keys of a row in the order in which "recent" keeps them.
void recent_order(bool causal, Index query, KeyRange range, std::vector<std::uint32_t>& order) {
  order.clear();
  const Index sinks = std::clamp(kSinks, range.begin, range.end);  // that the row still sees
  for (Index key = range.begin; key < sinks; ++key)
    order.push_back(static_cast<std::uint32_t>(key));
  const auto add = [&](Index key) {
    if (key >= sinks && key < range.end) order.push_back(static_cast<std::uint32_t>(key));
  };
  add(query);
  for (Index far = 1; std::ssize(order) < range.size(); ++far) {
    add(query - far);
    if (!causal) add(query + far);
  }
}

struct BudgetWorkspace {
  std::vector<std::uint32_t> order;
  std::vector<float> weights;  // by key
  std::vector<float> logits, some, own;
  std::vector<double> masses;
  Matrix<float> sums;
  Matrix<float> tile;  // logits of some queries
};

class Budget {
 public:
  Budget(const HeadInput& head, const Normalizer& normalizer, Index length,
         const BudgetOptions& options)
      : head_(head),
        normalizer_(normalizer),
        pointwise_(normalizer.traits().pointwise),
        length_(length),
        d_(head.values.cols()),
        logits_(head, normalizer, {0, length}),
        points_(budget_points(head.visibility.range(length - 1, length).size())),
        stop_(options.stop) {
    // Rounded up to a multiple of the kernel's columns.
    const Index padded = (d_ + kVectorColumns - 1) / kVectorColumns * kVectorColumns;
    values_ = Matrix<float>(length, padded);
    for (Index i = 0; i < length; ++i) {
      std::ranges::copy(head.values.row(i), values_.row(i).begin());
    }
    for (int draw = 0; draw < options.draws && !stop_.stop_requested(); ++draw) {
      draws_.push_back(shuffled(
          RandomStream(options.seed, RandomDomain::budget_keys,
                       static_cast<std::uint32_t>(head.document), static_cast<std::uint32_t>(draw)),
          length));
    }
    const Index first = length - length / 4;
    const Index all = length - first;
    const Index count = options.queries > 0 ? std::min<Index>(options.queries, all) : all;
    for (Index i = 0; i < count; ++i) queries_.push_back(first + (2 * i + 1) * all / (2 * count));
  }

  const std::vector<Index>& points() const { return points_; }
  const std::vector<Index>& queries() const { return queries_; }

  // Handles queries [first, first + count) of queries(). A row of `out` holds samplers x points
  // errors and the error constant, or NaN if the query's output is 0.
  void observe(Index first, Index count, BudgetWorkspace& work, MatrixView<double> out) const {
    if (work.tile.empty()) work.tile = Matrix<float>(kBudgetTile, length_);
    const auto query = [&](Index i) { return queries_[first + i]; };
    const bool neighbours = query(count - 1) - query(0) == count - 1;
    const auto tile = work.tile.view().block(0, count, 0, length_);
    if (neighbours) logits_.rows(query(0), count, tile);
    for (Index i = 0; i < count; ++i) {
      if (!neighbours) logits_.rows(query(i), 1, tile.block(i, 1, 0, length_));
      observe_row(query(i), tile.row(i), work, out.row(i));
    }
  }

 private:
  void observe_row(Index query, std::span<const float> row, BudgetWorkspace& work,
                   std::span<double> out) const {
    const KeyRange range = head_.visibility.range(query, length_);
    const auto keys = static_cast<std::size_t>(range.size());
    work.logits.assign(row.begin() + range.begin, row.begin() + range.end);
    require_finite(head_, query, range, work.logits);
    work.weights.assign(static_cast<std::size_t>(length_), 0.0f);
    const std::span<float> weights = std::span(work.weights).subspan(range.begin, keys);
    normalizer_.weigh(work.logits, {range.size(), query}, weights);
    work.masses.resize(points_.size());
    if (work.sums.empty()) work.sums = Matrix<float>(kPoints, values_.cols());
    std::vector<double> full(static_cast<std::size_t>(d_), 0.0);
    const double mass = own_output(range, weights, full);
    double length = 0;
    for (const double o : full) length += o * o;
    length = std::sqrt(length);
    std::ranges::fill(out, kUndefined);
    if (length == 0) return;
    std::ranges::fill(out.first(std::size(kSamplers) * points_.size()), 0.0);
    for (std::size_t draw = 0; draw < draws_.size() && !stop_.stop_requested(); ++draw) {
      work.order.clear();
      for (const std::uint32_t key : draws_[draw]) {
        if (static_cast<Index>(key) >= range.begin && static_cast<Index>(key) < range.end) {
          work.order.push_back(key);
        }
      }
      add_errors(query, range, full, length, 1.0 / static_cast<double>(draws_.size()), work,
                 out.subspan(0, points_.size()));
    }
    recent_order(head_.visibility.is_causal(), query, range, work.order);
    add_errors(query, range, full, length, 1, work, out.subspan(points_.size(), points_.size()));
    std::ranges::sort(work.order);
    // If the normalizer preserves order, sorts by logits, because small weights underflow to equal
    // zeros.
    const bool by_logit = normalizer_.traits().increasing;
    const auto begin = static_cast<std::size_t>(range.begin);
    std::ranges::stable_sort(work.order, std::ranges::greater(), [&](std::uint32_t key) {
      return by_logit ? work.logits[key - begin] : work.weights[key];
    });
    add_errors(query, range, full, length, 1, work,
               out.subspan(2 * points_.size(), points_.size()));
    if (pointwise_) out.back() = constant(range, weights, mass, full, length);
  }

  // Computes the output over all keys in float64; returns the sum of weights that it was divided
  // by.
  double own_output(KeyRange range, std::span<const float> weights, std::span<double> full) const {
    double mass = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const auto value = head_.values.row(range.begin + static_cast<Index>(j));
      for (std::size_t c = 0; c < full.size(); ++c) full[c] += double{weights[j]} * value[c];
      mass += weights[j];
    }
    if (!pointwise_ || mass == 0) return 1;
    for (double& o : full) o /= mass;
    return mass;
  }

  // Adds `share` times the errors with the first k keys of work.order, for every point.
  void add_errors(Index query, KeyRange range, std::span<const double> full, double length,
                  double share, BudgetWorkspace& work, std::span<double> out) const {
    std::array<Index, kPoints> ends{};
    std::size_t count = 0;  // points smaller than the number of keys in the row
    while (count < points_.size() && points_[count] < range.size()) {
      ends[count] = points_[count];
      ++count;
    }
    const std::span<const Index> cut = std::span(ends).first(count);
    if (count == 0) return;
    if (pointwise_) {
      prefix_sums(work.order, work.weights, values_, cut, work.sums, work.masses);
    } else {
      for (std::size_t p = 0; p < count; ++p) weigh_alone(query, range, cut[p], p, work);
    }
    for (std::size_t p = 0; p < count; ++p) {
      if (pointwise_ && work.masses[p] < 1e-30) weigh_alone(query, range, cut[p], p, work);
      const auto sums = work.sums.row(static_cast<Index>(p));
      const double mass = work.masses[p];
      double square = 0;
      for (std::size_t c = 0; c < full.size(); ++c) {
        const double difference = (mass != 0 ? sums[c] / mass : 0.0) - full[c];
        square += difference * difference;
      }
      out[p] += share * std::sqrt(square) / length;
    }
  }

  // Computes the output over the first `count` keys of the order, as if there were no others.
  void weigh_alone(Index query, KeyRange range, Index count, std::size_t point,
                   BudgetWorkspace& work) const {
    const auto keys = std::span(work.order).first(static_cast<std::size_t>(count));
    work.some.clear();
    for (const std::uint32_t key : keys) {
      work.some.push_back(work.logits[key - static_cast<std::size_t>(range.begin)]);
    }
    work.own.resize(work.some.size());
    normalizer_.weigh(work.some, {count, query}, work.own);
    const auto sums = work.sums.row(static_cast<Index>(point));
    std::ranges::fill(sums, 0.0f);
    double mass = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto value = values_.row(keys[i]);
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += work.own[i] * value[c];
      mass += work.own[i];
    }
    work.masses[point] = pointwise_ ? mass : 1.0;
  }

  double constant(KeyRange range, std::span<const float> weights, double mass,
                  std::span<const double> full, double length) const {
    double sum = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double a = weights[j] / mass;
      if (a == 0) continue;
      const auto value = head_.values.row(range.begin + static_cast<Index>(j));
      double square = 0;
      for (std::size_t c = 0; c < full.size(); ++c) {
        square += (value[c] - full[c]) * (value[c] - full[c]);
      }
      sum += a * a * square;
    }
    return static_cast<double>(weights.size()) * sum / (length * length);
  }

  const HeadInput& head_;
  const Normalizer& normalizer_;
  bool pointwise_;
  Index length_;
  Index d_;
  Logits logits_;
  std::vector<Index> points_;
  std::vector<Index> queries_;
  Matrix<float> values_;
  std::vector<std::vector<std::uint32_t>> draws_;
  std::stop_token stop_;
};

}  // namespace

std::vector<Index> budget_points(Index length) {
  std::vector<Index> points;
  const auto fewest = static_cast<double>(std::min(kFewestKeys, length));
  for (const double exact : geometric(fewest, static_cast<double>(length), kPoints)) {
    const auto keys = static_cast<Index>(std::llround(exact));
    if (points.empty() || keys > points.back()) points.push_back(keys);
  }
  return points;
}

BudgetCurves budget_curves(const HeadInput& head, const Normalizer& normalizer, Index length,
                           const BudgetOptions& options, ThreadPool& pool) {
  const Budget budget(head, normalizer, length, options);
  BudgetCurves curves;
  curves.keys = budget.points();
  const auto points = curves.keys.size();
  const auto queries = static_cast<Index>(budget.queries().size());
  const auto cells = static_cast<Index>(std::size(kSamplers) * points + 1);
  Matrix<double> found(queries, cells);
  std::vector<BudgetWorkspace> work(static_cast<std::size_t>(pool.threads()));
  pool.for_each_slot((queries + kBudgetTile - 1) / kBudgetTile, [&](Index tile, int slot) {
    const Index first = tile * kBudgetTile;
    const Index count = std::min(kBudgetTile, queries - first);
    budget.observe(first, count, work[slot], found.view().block(first, count, 0, cells));
  });
  std::vector<double> means(static_cast<std::size_t>(cells), 0.0);
  double counted = 0;
  for (Index i = 0; i < queries; ++i) {
    if (std::isnan(found(i, 0))) continue;
    counted += 1;
    for (std::size_t c = 0; c < means.size(); ++c) means[c] += found(i, static_cast<Index>(c));
  }
  if (counted == 0) return curves;
  for (double& mean : means) mean /= counted;
  for (std::size_t s = 0; s < std::size(kSamplers); ++s) {
    const auto begin = means.begin() + static_cast<std::ptrdiff_t>(s * points);
    curves.error.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(points));
  }
  curves.error_constant = means.back();
  return curves;
}

std::size_t budget_bytes(Index length, int draws) {
  return static_cast<std::size_t>(draws) *
         (static_cast<std::size_t>(length) * sizeof(std::uint32_t) +
          sizeof(std::vector<std::uint32_t>));
}

double keys_for_error(std::span<const Index> keys, std::span<const double> error,
                      double tolerance) {
  std::size_t at = error.size();
  while (at > 0 && error[at - 1] <= tolerance) --at;
  if (at == error.size()) return kUndefined;
  if (at == 0) return static_cast<double>(keys[0]);
  const double above = std::log(static_cast<double>(keys[at - 1]));
  const double below = std::log(static_cast<double>(keys[at]));
  const double share = (error[at - 1] - tolerance) / (error[at - 1] - error[at]);
  const double exact = std::exp(above + share * (below - above));
  // Rounding must not add a key if the result is exactly a point.
  return std::min(std::ceil(exact - 1e-9), static_cast<double>(keys[at]));
}

}  // namespace headgauge
