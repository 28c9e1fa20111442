#include "measures/separability.hpp"

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
constexpr std::size_t kBits = 64;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
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

Separation Separator::separate(PrefixKind kind, int size) {
  const auto members = at(plan_->sizes[at(size)]);
  const auto found = block_->separations(line_, kind);
  const auto lanes = found.lowest.row(size);
  const float lowest = *std::ranges::min_element(lanes);
  const auto weights = block_->member_weights(line_, kind).first(members);
  const SelectionBlock::SetSums sums = block_->set_sums(line_, kind, size);
  bits_.resize((members + kBits - 1) / kBits);
  const MemberComparison compared =
      compare_members(found.inside.row(size).first(members), weights, lowest, kCloseToEachOther,
                      static_cast<float>(kCloseToProducts * sums.mass), bits_);
  // |s|^2, since the sum of q over the members is the sum of w^2 less 2 |s|^2.
  const double square = std::max(0.5 * (sums.square - compared.sum), 0.0);
  const double radius2 = lowest + square;
  const bool small_radius =
      members > 1 &&
      radius2 < std::max(kSmallRadius * square, kSmallBesideMass * sums.mass * sums.mass);
  if (compared.close || small_radius) return separate_exactly(kind, size);
  return {compared.below, std::sqrt(std::max(radius2, 0.0)), bits_, false};
}

Separator::Point Separator::point(PrefixKind kind, Index column) const {
  const SelectionBlock::Line& line = block_->line(line_);
  const double a = weights_[at(column)];
  const Index position = line.first_panel * kPrefixColumns + column;
  if (kind == PrefixKind::null) {
    const double norm = space_->null->row_norms()[at(position)];
    return {a / norm, a, space_->null->unit(position)};
  }
  const std::uint32_t row = space_->gram->row_of(position);
  const double norm = space_->gram->row_norms()[row];
  if (norm == 0.0) return {};
  const auto x = space_->x.rows.row(space_->gram->source_row(row));
  return plan_->unit_sphere ? Point{a / norm, a, x} : Point{a, a * norm, x};
}

double Separator::exact_q(const Point& point) const {
  if (point.x.empty()) return 0.0;
  return point.weight * point.weight - 2.0 * point.factor * dot(point.x, total_);
}

Separation Separator::separate_exactly(PrefixKind kind, int size) {
  const SelectionBlock::Line& line = block_->line(line_);
  if (!have_weights_) {
    logits_.assign(row_->logits.begin(), row_->logits.end());
    packed_.resize(logits_.size());
    normalizer_->weigh(logits_, RowContext{row_->n(), row_->query}, packed_);
    weights_.assign(line.rank.size(), 0.0);
    for (Index i = 0; i < line.n; ++i) weights_[at(line.column(i))] = packed_[at(i)];
    have_weights_ = true;
  }
  const auto members = at(plan_->sizes[at(size)]);
  const auto weights = block_->member_weights(line_, kind).first(members);
  const auto found_fast = block_->separations(line_, kind);
  const double lowest = *std::ranges::min_element(found_fast.lowest.row(size));
  // What q of the outermost member may be off by.
  const double slack =
      std::max(kCloseToEachOther * std::abs(lowest), kCloseToProducts * std::abs(weights.back()) *
                                                         block_->set_sums(line_, kind, size).mass);
  const auto first = static_cast<std::uint32_t>(line.first_panel * kPrefixColumns);
  total_.assign(at(space_->gram->dimension()), 0.0);
  for (std::size_t i = 0; i < members; ++i) {
    const Point p = point(kind, line.member[i] - first);
    if (!p.x.empty()) add_scaled(p.x, p.factor, total_);
  }

  // Every key outside that may be the closest one.
  const float* weight = block_->column_weights(line_, kind);
  const auto sum = block_->sums_again(line_, kind).row(size);
  Index nearest = -1;
  double exact_lowest = std::numeric_limits<double>::infinity();
  double limit = lowest + 2.0 * slack;
  while (nearest < 0) {
    for (std::size_t j = 0; j < sum.size(); ++j) {
      if (line.rank[j] < static_cast<std::int32_t>(members)) continue;
      if (weight[j] * (weight[j] - 2.0f * sum[j]) > limit) continue;
      const double exact = exact_q(point(kind, static_cast<Index>(j)));
      if (exact < exact_lowest) {
        exact_lowest = exact;
        nearest = static_cast<Index>(j);
      }
    }
    limit = std::numeric_limits<double>::infinity();
  }

  Separation found;
  found.exact = true;
  const Point closest = point(kind, nearest);
  double length2 = 0, radius2 = 0;
  for (std::size_t d = 0; d < total_.size(); ++d) {
    const double gap = total_[d] - (closest.x.empty() ? 0.0 : closest.factor * closest.x[d]);
    length2 += total_[d] * total_[d];
    radius2 += gap * gap;
  }
  found.radius = std::sqrt(radius2);
  if (found.radius <= kZeroRadius * std::sqrt(length2)) found.radius = 0.0;
  std::ranges::fill(bits_, 0);
  const auto inside = found_fast.inside.row(size);
  for (std::size_t i = 0; i < members; ++i) {
    double q = inside[i];
    if (std::abs(q - lowest) <= 4.0 * std::max(slack, kCloseToEachOther * std::abs(q))) {
      q = exact_q(point(kind, line.member[i] - first));
    }
    const bool apart =
        members == 1 ? found.radius > 0.0  // the member is the sum itself: X = 0
                     : exact_lowest - q > kEqual * std::max(std::abs(q), std::abs(exact_lowest));
    if (!apart) continue;
    bits_[i / kBits] |= std::uint64_t{1} << (i % kBits);
    ++found.distinguishable;
  }
  found.members = bits_;
  return found;
}

SeparationBounds Separator::bounds(int size, const Separation& found, double largest,
                                   double closest2, bool is_signed) {
  const auto members = at(plan_->sizes[at(size)]);
  const SelectionBlock::SetSums sums = block_->set_sums(line_, PrefixKind::null, size);
  BoundFacts facts;
  facts.mass = sums.mass;
  facts.squares = sums.square;
  facts.radius = found.radius;
  facts.largest2 = largest * largest;
  // The largest inner product of two keys.
  facts.nearest = is_signed ? facts.largest2 : facts.largest2 - 0.5 * closest2;
  facts.shrink2 = 1.0 / (1.0 + 2.0 / static_cast<double>(space_->gram->dimension()));
  MemberBounds bounds =
      bound_members(block_->member_weights(line_, PrefixKind::null).first(members), facts);
  if (bounds.close) {
    if (!found.exact) facts.radius = separate_exactly(PrefixKind::unit, size).radius;
    bounds = bound_exactly(size, facts);
  }
  const auto count = static_cast<double>(members);
  return {bounds.lower / count, bounds.model_lower / count, bounds.model_upper / count,
          facts.radius > 0.0 ? 1.0 - bounds.xi / (facts.radius * count) : kUndefined,
          bounds.upper_paper / count};
}

// As bound_members(), with the weights in float64 too.
MemberBounds Separator::bound_exactly(int size, const BoundFacts& facts) const {
  const SelectionBlock::Line& line = block_->line(line_);
  const Index first = line.first_panel * kPrefixColumns;
  const auto members = at(plan_->sizes[at(size)]);
  const auto weight_of = [&](std::size_t i) {
    return weights_[at(static_cast<Index>(line.member[i]) - first)];
  };
  double mass = 0, squares = 0;
  for (std::size_t i = 0; i < members; ++i) {
    mass += std::abs(weight_of(i));
    squares += weight_of(i) * weight_of(i);
  }
  const double r = facts.radius;
  MemberBounds sums;
  for (std::size_t i = 0; i < members; ++i) {
    const double a = weight_of(i);
    const double total = members > 1 ? std::max(mass - std::abs(a), 0.0) : 0.0;
    const double square = members > 1 ? std::max(squares - a * a, 0.0) : 0.0;
    const double v2 = facts.largest2 * square;
    const double xi =
        std::sqrt(std::max(v2 + facts.nearest * std::max(total * total - square, 0.0), 0.0));
    sums.xi += xi;
    if (r - xi > kEqual * r) sums.lower += 1.0;
    const double above = std::max(r - std::sqrt(v2), 0.0);
    const double below = std::max(std::sqrt(v2 * facts.shrink2) - r, 0.0);
    const double chebyshev = 1.0 - v2 / (r * r);
    const double tail = 1.0 - std::exp(-0.5 * above * above / v2);
    sums.model_lower += v2 > 0.0 ? std::max({0.0, chebyshev, tail}) : 1.0;
    sums.model_upper += v2 > 0.0 ? std::exp(-0.5 * below * below / v2) : 1.0;
    sums.upper_paper += std::exp(-(r - xi) * (r - xi) / (16.0 * facts.largest2));
  }
  return sums;
}

}  // namespace headgauge
