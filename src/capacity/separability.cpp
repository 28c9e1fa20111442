#include "capacity/separability.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headgauge {
namespace {

// Two values of q this close are compared in float64: what float32 weights can lose, relative to q
// and, where q itself is a difference of larger numbers, to the products it is made of.
constexpr double kCloseToEachOther = 1e-5;
constexpr double kCloseToProducts = 2e-6;
// r^2 below these shares of |s|^2 and of the squared sum of the weights has lost its digits in
// q + |s|^2, or in |s|^2 itself.
constexpr double kSmallRadius = 1e-2;
constexpr double kSmallBesideMass = 3e-4;
// In float64: values of q that are equal in exact arithmetic, and an r that is 0.
constexpr double kEqual = 1e-12;
constexpr double kZeroRadius = 1e-14;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

double product(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

void Separator::begin(SelectionBlock& block, Index line, const Row& row,
                      const Normalizer& normalizer, const SelectionSpace& space,
                      const SelectionPlan& plan) {
  block_ = &block;
  line_ = line;
  row_ = &row;
  normalizer_ = &normalizer;
  space_ = &space;
  plan_ = &plan;
  have_weights_ = false;
}

Separation Separator::separate(WalkKind kind, int size, std::span<std::uint8_t> flags) {
  const auto sums = block_->sums(line_, kind);
  const int members = plan_->sizes[at(size)];
  const auto lanes = sums.lowest.row(size);
  const double lowest = *std::ranges::min_element(lanes);
  const auto inside = sums.inside.row(size).first(at(members));
  const double square = sums.set_square[at(members - 1)];
  const auto from = kind == WalkKind::unit && !plan_->unit_sphere ? WalkKind::scaled : kind;
  const float* weight = block_->member_weight(line_, from);
  double mass = 0;
  for (int i = 0; i < members; ++i) mass += std::abs(static_cast<double>(weight[i]));

  Separation found;
  bool close = members > 1 &&
               lowest + square < std::max(kSmallRadius * square, kSmallBesideMass * mass * mass);
  for (int i = 0; i < members; ++i) {
    const double q = inside[at(i)];
    const double slack = std::max(kCloseToEachOther * std::max(std::abs(q), std::abs(lowest)),
                                  kCloseToProducts * std::abs(weight[i]) * mass);
    close = close || std::abs(q - lowest) <= slack;
    flags[at(i)] = q < lowest ? 1 : 0;
    found.distinguishable += flags[at(i)];
  }
  if (close) {
    const double slack = std::max(kCloseToEachOther * std::abs(lowest),
                                  kCloseToProducts * std::abs(weight[members - 1]) * mass);
    return separate_exactly(kind, size, lowest, slack, inside, flags);
  }
  found.radius = std::sqrt(std::max(lowest + square, 0.0));
  return found;
}

double Separator::weight(WalkKind kind, Index column) const {
  const Index lead = row_->keys.begin - block_->line(line_).first_panel * kWalkColumns;
  const double a = weights_[at(column - lead)];
  if (kind == WalkKind::null) return a;
  const Index position = block_->line(line_).first_panel * kWalkColumns + column;
  const double norm = space_->gram->row_norms()[space_->gram->row_of(position)];
  if (!plan_->unit_sphere) return a * norm;
  return norm > 0.0 ? a : 0.0;
}

bool Separator::unit(WalkKind kind, Index column, std::span<double> out) const {
  const Index position = block_->line(line_).first_panel * kWalkColumns + column;
  std::span<const float> x;
  double norm = 0;
  if (kind == WalkKind::null) {
    x = space_->null->unit(position);
    norm = space_->null->row_norms()[at(position)];
  } else {
    const std::uint32_t row = space_->gram->row_of(position);
    x = space_->x.rows.row(space_->gram->source_row(row));
    norm = space_->gram->row_norms()[row];
  }
  if (norm == 0.0) return false;
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] / norm;
  return true;
}

Separation Separator::separate_exactly(WalkKind kind, int size, double lowest, double slack,
                                       std::span<const float> inside,
                                       std::span<std::uint8_t> flags) {
  const SelectionBlock::Line& line = block_->line(line_);
  if (!have_weights_) {
    logits_.assign(row_->logits.begin(), row_->logits.end());
    weights_.resize(logits_.size());
    normalizer_->weigh(logits_, RowContext{row_->n(), row_->query}, weights_);
    have_weights_ = true;
  }
  const int members = plan_->sizes[at(size)];
  const auto dimension = at(space_->gram->dimension());
  vector_.resize(dimension);
  total_.assign(dimension, 0.0);
  const Index first = line.first_panel * kWalkColumns;
  for (int i = 0; i < members; ++i) {
    const Index column = line.member[at(i)] - first;
    if (!unit(kind, column, vector_)) continue;
    const double w = weight(kind, column);
    for (std::size_t d = 0; d < dimension; ++d) total_[d] += w * vector_[d];
  }
  const auto exact_q = [&](Index column) {
    const double w = weight(kind, column);
    return unit(kind, column, vector_) ? w * (w - 2.0 * product(vector_, total_)) : 0.0;
  };

  // Every key outside that may be the closest one.
  const auto from = kind == WalkKind::unit && !plan_->unit_sphere ? WalkKind::scaled : kind;
  const auto again = block_->sums_again(line_, from);
  const float* w = block_->column_weight(line_, from);
  const auto sum = again.row(size);
  Index nearest = -1;
  double exact_lowest = std::numeric_limits<double>::infinity();
  double limit = lowest + 2.0 * slack;
  while (nearest < 0) {
    for (Index j = 0; j < line.panels * kWalkColumns; ++j) {
      if (line.rank[at(j)] < members) continue;
      if (w[j] * (w[j] - 2.0f * sum[at(j)]) > limit) continue;
      const double exact = exact_q(j);
      if (exact < exact_lowest) {
        exact_lowest = exact;
        nearest = j;
      }
    }
    limit = std::numeric_limits<double>::infinity();
  }

  Separation found;
  const double length = std::sqrt(product(total_, total_));
  std::vector<double> gap(total_);
  if (unit(kind, nearest, vector_)) {
    const double own = weight(kind, nearest);
    for (std::size_t d = 0; d < dimension; ++d) gap[d] -= own * vector_[d];
  }
  found.radius = std::sqrt(product(gap, gap));
  if (found.radius <= kZeroRadius * length) found.radius = 0.0;
  const auto telling = [&](double a, double b) {
    return std::abs(a - b) > kEqual * std::max(std::abs(a), std::abs(b));
  };
  for (int i = 0; i < members; ++i) {
    double q = inside[at(i)];
    if (std::abs(q - lowest) <= 4.0 * std::max(slack, kCloseToEachOther * std::abs(q))) {
      q = exact_q(line.member[at(i)] - first);
    }
    // At N = 1 the member is the sum itself: X = 0.
    const bool apart =
        members == 1 ? found.radius > 0.0 : q < exact_lowest && telling(q, exact_lowest);
    flags[at(i)] = apart ? 1 : 0;
    found.distinguishable += flags[at(i)];
  }
  return found;
}

SeparationBounds separation_bounds(std::span<const float> weights, double radius, double largest,
                                   double closest2, Index dimension, bool is_signed) {
  // Differences of sums lose nothing that matters: both are float64, the weights float32.
  double mass = 0, squares = 0;
  for (const float a : weights) {
    mass += std::abs(static_cast<double>(a));
    squares += static_cast<double>(a) * a;
  }
  const double m2 = largest * largest;
  // The largest inner product of two keys.
  const double nearest = is_signed ? m2 : m2 - 0.5 * closest2;
  const double shrink = 1.0 / std::sqrt(1.0 + 2.0 / static_cast<double>(dimension));
  SeparationBounds sum;
  double xi_sum = 0;
  for (const float a : weights) {
    const double total = weights.size() > 1 ? std::max(mass - std::abs(a), 0.0) : 0.0;
    const double square =
        weights.size() > 1 ? std::max(squares - static_cast<double>(a) * a, 0.0) : 0.0;
    const double xi2 = m2 * square + nearest * std::max(total * total - square, 0.0);
    const double xi = std::sqrt(std::max(xi2, 0.0));
    const double v2 = m2 * square;
    const double v = std::sqrt(v2);
    xi_sum += xi;
    if (xi < radius) sum.lower += 1.0;
    if (v2 == 0.0) {
      sum.model_lower += 1.0;
      sum.model_upper += 1.0;
    } else {
      const double above = std::max(radius - v, 0.0);
      const double below = std::max(v * shrink - radius, 0.0);
      const double tail = 1.0 - std::exp(-above * above / (2.0 * v2));
      const double chebyshev = radius > 0.0 ? 1.0 - v2 / (radius * radius) : 0.0;
      sum.model_lower += std::max({0.0, tail, chebyshev});
      sum.model_upper += std::exp(-below * below / (2.0 * v2));
    }
    const double apart = radius - xi;
    sum.upper_paper += m2 > 0.0 ? std::exp(-apart * apart / (16.0 * m2)) : 1.0;
  }
  const auto count = static_cast<double>(weights.size());
  sum.lower /= count;
  sum.model_lower /= count;
  sum.model_upper /= count;
  sum.upper_paper /= count;
  sum.lower_paper = radius > 0.0 ? 1.0 - xi_sum / (radius * count) : kUndefined;
  return sum;
}

}  // namespace headgauge
