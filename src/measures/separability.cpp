#include "measures/separability.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headgauge {
namespace {

// Values of q closer than this are compared in float64. It is the possible error from float32
// weights, relative to q or, if q is a difference of larger numbers, to the products in it.
constexpr double kCloseToEachOther = 1e-5;
constexpr double kCloseToProducts = 2e-6;
// If r^2 is below these shares of |s|^2 and of the squared sum of the weights, q + |s|^2 or |s|^2
// itself has lost its precision.
constexpr double kSmallRadius = 1e-2;
constexpr double kSmallBesideMass = 3e-4;
// Float64 values of q closer than kEqual (relative) count as equal, and a smaller r than
// kZeroRadius as 0.
constexpr double kEqual = 1e-12;
constexpr double kZeroRadius = 1e-14;
constexpr Index kWordBits = 64;
constexpr double kInfiniteRadius = std::numeric_limits<double>::infinity();

}  // namespace

void Separator::begin(SelectionSums& sums, Index line, const Row& row, const Normalizer& normalizer,
                      std::span<const std::uint32_t> pairing) {
  sums_ = &sums;
  line_ = line;
  row_ = &row;
  normalizer_ = &normalizer;
  pairing_ = pairing;
  have_weights_ = false;
}

Separation Separator::separate(int size) {
  const Index count = members(size);
  const auto found = sums_->separations(line_);
  const float lowest = *std::ranges::min_element(found.lowest.row(size));
  const auto weights = block().member_weights(line_, PrefixKind::unit).first(count);
  const SelectionBlock::SetSums sums = block().set_sums(line_, PrefixKind::unit, size);
  bits_.resize((count + kWordBits - 1) / kWordBits);
  const MemberComparison compared =
      compare_members(found.inside.row(size).first(count), weights, lowest, kCloseToEachOther,
                      static_cast<float>(kCloseToProducts * sums.mass), bits_);
  // Computes |s|^2 from the sum of q over the members, which is sum w^2 - 2 |s|^2.
  const double square = std::max(0.5 * (sums.square - compared.sum), 0.0);
  const double radius2 = lowest + square;
  const bool small_radius =
      count > 1 &&
      radius2 < std::max(kSmallRadius * square, kSmallBesideMass * sums.mass * sums.mass);
  if (compared.close || small_radius) return separate_exactly(size);
  return {compared.below, std::sqrt(std::max(radius2, 0.0)), bits_, false};
}

Separator::Point Separator::point(Index column) const {
  const SelectionSpace& space = block().space();
  const double a = weights_[column];
  const std::uint32_t row = space.gram->row_of(line().first_column() + column);
  const double norm = space.gram->row_norms()[row];
  if (norm == 0.0) return {};
  const auto x = space.x.rows.row(space.gram->source_row(row));
  return block().plan().unit_sphere ? Point{a / norm, a, x} : Point{a, a * norm, x};
}

double Separator::exact_q(const Point& point) const {
  if (point.x.empty()) return 0.0;
  return point.weight * point.weight - 2.0 * point.factor * dot(point.x, total_);
}

Separation Separator::separate_exactly(int size) {
  weigh_exactly();
  add_up(members(size));
  const double lowest = *std::ranges::min_element(sums_->separations(line_).lowest.row(size));
  // The possible error of the outermost member's q.
  const double outermost =
      std::abs(block().member_weights(line_, PrefixKind::unit)[members(size) - 1]);
  const double slack =
      std::max(kCloseToEachOther * std::abs(lowest),
               kCloseToProducts * outermost * block().set_sums(line_, PrefixKind::unit, size).mass);
  const Nearest nearest = find_nearest(size, lowest, slack);
  Separation found;
  found.exact = true;
  found.radius = radius(point(nearest.column));
  found.distinguishable = count_below(size, found.radius, nearest.q, lowest, slack);
  found.members = bits_;
  return found;
}

void Separator::weigh_exactly() {
  if (have_weights_) return;
  logits_.assign(row_->logits.begin(), row_->logits.end());
  packed_.resize(logits_.size());
  normalizer_->weigh(logits_, RowContext{row_->n(), row_->query}, packed_);
  weights_.assign(line().columns(), 0.0);
  for (Index i = 0; i < line().n; ++i) {
    const Index key = pairing_.empty() ? i : pairing_[i];
    weights_[line().column(key)] = packed_[i];
  }
  have_weights_ = true;
}

void Separator::add_up(Index members) {
  total_.assign(block().space().gram->dimension(), 0.0);
  for (const std::uint32_t position : line().member.first(members)) {
    const Point p = point(position - line().first_column());
    if (!p.x.empty()) add_scaled(p.x, p.factor, total_);
  }
}

Separator::Nearest Separator::find_nearest(int size, double lowest, double slack) {
  const float* weight = block().column_weights(line_, PrefixKind::unit);
  const auto sum = sums_->sums_again(line_).row(size);
  Nearest nearest{-1, kInfiniteRadius};
  const std::span<const std::int32_t> rank = line().rank;
  const Index count = members(size);
  // Collects every key outside that may be the nearest; all of them if float32 cannot tell.
  for (double limit = lowest + 2.0 * slack; nearest.column < 0; limit = kInfiniteRadius) {
    for (Index j = 0; j < std::ssize(sum); ++j) {
      if (rank[j] < count) continue;
      if (weight[j] * (weight[j] - 2.0f * sum[j]) > limit) continue;
      const double exact = exact_q(point(j));
      if (exact < nearest.q) nearest = {j, exact};
    }
  }
  return nearest;
}

double Separator::radius(const Point& nearest) const {
  double length2 = 0, radius2 = 0;
  for (std::size_t d = 0; d < total_.size(); ++d) {
    const double gap = total_[d] - (nearest.x.empty() ? 0.0 : nearest.factor * nearest.x[d]);
    length2 += total_[d] * total_[d];
    radius2 += gap * gap;
  }
  const double radius = std::sqrt(radius2);
  return radius <= kZeroRadius * std::sqrt(length2) ? 0.0 : radius;
}

int Separator::count_below(int size, double radius, double nearest, double lowest, double slack) {
  std::ranges::fill(bits_, 0);
  const auto inside = sums_->separations(line_).inside.row(size);
  int below = 0;
  for (Index i = 0; i < members(size); ++i) {
    double q = inside[i];
    if (std::abs(q - lowest) <= 4.0 * std::max(slack, kCloseToEachOther * std::abs(q))) {
      q = exact_q(point(line().member[i] - line().first_column()));
    }
    const bool apart = members(size) == 1
                           ? radius > 0.0  // the member is the sum itself: X = 0
                           : nearest - q > kEqual * std::max(std::abs(q), std::abs(nearest));
    if (!apart) continue;
    bits_[i / kWordBits] |= std::uint64_t{1} << (i % kWordBits);
    ++below;
  }
  return below;
}

SeparationBounds Separator::bounds(int size, const Separation& found, double largest,
                                   double closest2) {
  const auto weights = block().member_weights(line_, PrefixKind::attention).first(members(size));
  const SelectionBlock::SetSums sums = block().set_sums(line_, PrefixKind::attention, size);
  BoundFacts facts;
  facts.mass = sums.mass;
  facts.squares = sums.square;
  facts.radius = found.radius;
  facts.largest2 = largest * largest;
  // The largest inner product of two keys.
  facts.nearest = facts.largest2 - 0.5 * closest2;
  facts.shrink2 = 1.0 / (1.0 + 2.0 / static_cast<double>(block().space().gram->dimension()));
  MemberBounds bounds = bound_members(weights, facts);
  if (bounds.close) {
    if (!found.exact) facts.radius = separate_exactly(size).radius;
    bounds = bound_exactly(size, facts);
  }
  const auto count = static_cast<double>(members(size));
  return {bounds.lower / count, bounds.model_lower / count, bounds.model_upper / count,
          facts.radius > 0.0 ? 1.0 - bounds.xi / (facts.radius * count) : kUndefined,
          bounds.upper_paper / count};
}

// Does the same as bound_members(), with float64 weights.
MemberBounds Separator::bound_exactly(int size, const BoundFacts& facts) const {
  std::vector<double> weights;
  double mass = 0, squares = 0;
  for (const std::uint32_t position : line().member.first(members(size))) {
    const double a = weights_[position - line().first_column()];
    weights.push_back(a);
    mass += std::abs(a);
    squares += a * a;
  }
  const double r = facts.radius;
  MemberBounds sums;
  for (const double a : weights) {
    const double total = weights.size() > 1 ? std::max(mass - std::abs(a), 0.0) : 0.0;
    const double square = weights.size() > 1 ? std::max(squares - a * a, 0.0) : 0.0;
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
