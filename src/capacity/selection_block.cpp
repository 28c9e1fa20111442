#include "capacity/selection_block.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headgauge {
namespace {

constexpr Index kPanel = PackedMatrix::kPanel;
constexpr float kInfinite = std::numeric_limits<float>::infinity();
static_assert(kPanel == kWalkColumns);

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

bool SelectionBlock::walks(WalkKind kind) const {
  switch (kind) {
    case WalkKind::scaled:
      return plan_->distance || one_walk();
    case WalkKind::unit:
      return plan_->separability && plan_->unit_sphere;
    default:
      return plan_->separability;
  }
}

void SelectionBlock::begin(const RowBlock& block, const SelectionSpace& space,
                           const SelectionPlan& plan) {
  space_ = &space;
  plan_ = &plan;
  Index end = 0;
  for (const Row& row : block.rows) end = std::max(end, row.keys.end);
  stride_ = (end + kPanel - 1) / kPanel * kPanel;
  depth_ = plan.depth();
  const auto rows = static_cast<Index>(block.rows.size());
  const auto sizes = static_cast<Index>(plan.sizes.size());
  const auto grow = [](auto& vector, Index size) {
    if (vector.size() < at(size)) vector.resize(at(size));
  };
  lines_.assign(block.rows.size(), Line{});
  grow(attention_, rows * stride_);
  grow(scaled_, rows * stride_);
  if (space.gram->has_zero()) grow(unit_weight_, rows * stride_);
  grow(rank_, rows * stride_);
  grow(member_, rows * depth_);
  grow(member_row_, rows * depth_);
  grow(member_attention_, rows * depth_);
  grow(member_scaled_, rows * depth_);
  grow(member_unit_, rows * depth_);
  grow(events_, rows * depth_);
  grow(first_event_, rows * (stride_ / kPanel + 1));
  for (const WalkKind kind : {WalkKind::scaled, WalkKind::unit, WalkKind::null}) {
    if (!walks(kind)) continue;
    Walked& to = walked(kind);
    grow(to.before, rows * depth_);
    grow(to.set_square, rows * depth_);
    if (kind == WalkKind::scaled && !one_walk()) continue;
    grow(to.lowest, rows * sizes * kWalkLanes);
    grow(to.inside, rows * sizes * depth_);
    std::fill_n(to.lowest.begin(), rows * sizes * kWalkLanes, kInfinite);
  }
  if (plan.distance) grow(stored_, rows * sizes * stride_);
  for (Index r = 0; r < rows; ++r) lay_out(block.rows[at(r)], r);
}

void SelectionBlock::lay_out(const Row& row, Index r) {
  Line& line = lines_[at(r)];
  const Gram& gram = *space_->gram;
  line.n = row.n();
  line.first_panel = row.keys.begin / kPanel;
  line.panels = (row.keys.end + kPanel - 1) / kPanel - line.first_panel;
  line.critical = static_cast<int>(std::min<Index>(plan_->critical, line.n - 1));
  line.sizes = static_cast<int>(std::ranges::lower_bound(plan_->sizes, static_cast<int>(line.n)) -
                                plan_->sizes.begin());
  int members = line.critical;
  if (line.sizes > 0) members = std::max(members, plan_->sizes[at(line.sizes - 1)]);

  const Index first = line.first_panel * kPanel;
  const Index columns = line.panels * kPanel;
  const Index from = r * stride_ + first;
  const std::span a(attention_.data() + from, at(columns));
  const std::span b(scaled_.data() + from, at(columns));
  const std::span rank(rank_.data() + from, at(columns));
  const std::span norm = gram.norms().subspan(at(first), at(columns));
  const Index lead = row.keys.begin - first;
  std::ranges::fill(a, 0.0f);
  std::ranges::fill(b, 1.0f);
  std::ranges::fill(rank, kNoKey);
  double largest = 0;
  for (Index j = 0; j < line.n; ++j) {
    const auto to = at(lead + j);
    a[to] = row.weights[at(j)];
    b[to] = a[to] * norm[to];
    rank[to] = kUnranked;
    line.scaled_mass += std::abs(static_cast<double>(b[to]));
    line.scaled_square += static_cast<double>(b[to]) * b[to];
    largest = std::max<double>(largest, norm[to]);
  }
  line.largest_norm = largest;
  line.mass = row.sums.mass;
  if (gram.has_zero()) {
    for (Index j = 0; j < columns; ++j) {
      unit_weight_[at(from + j)] = norm[at(j)] > 0.0f ? a[at(j)] : 0.0f;
    }
  }

  const Index m = r * depth_;
  for (int k = 0; k < members; ++k) {
    const Index column = lead + row.top[at(k)];
    const Index position = first + column;
    rank[at(column)] = k;
    member_[at(m + k)] = static_cast<std::uint32_t>(position);
    member_row_[at(m + k)] = gram.row_of(position);
    member_attention_[at(m + k)] = a[at(column)];
    member_scaled_[at(m + k)] = b[at(column)];
    member_unit_[at(m + k)] = norm[at(column)] > 0.0f ? a[at(column)] : 0.0f;
  }
  line.attention = a;
  line.scaled = b;
  line.rank = rank;
  line.norm = norm;
  line.member = {member_.data() + m, at(members)};
  line.member_row = {member_row_.data() + m, at(members)};
  line.member_attention = {member_attention_.data() + m, at(members)};
  line.member_scaled = {member_scaled_.data() + m, at(members)};
  sort_events(r);
}

void SelectionBlock::sort_events(Index r) {
  const Line& line = lines_[at(r)];
  int* first = first_event_.data() + r * (stride_ / kPanel + 1);
  std::fill_n(first, line.panels + 1, 0);
  const auto panel_of = [&](std::uint32_t position) {
    return position / kPanel - line.first_panel;
  };
  for (const std::uint32_t position : line.member) ++first[panel_of(position) + 1];
  for (Index p = 0; p < line.panels; ++p) first[p + 1] += first[p];
  WalkEvent* events = events_.data() + r * depth_;
  for (std::size_t k = 0; k < line.member.size(); ++k) {
    const std::uint32_t position = line.member[k];
    events[first[panel_of(position)]++] = {static_cast<std::int32_t>(k),
                                           static_cast<std::int32_t>(position % kPanel)};
  }
  // Each entry has moved on to where the next panel's events begin.
  for (Index p = line.panels; p > 0; --p) first[p] = first[p - 1];
  first[0] = 0;
}

WalkRow SelectionBlock::walk_row(Index row, Index panel, int depth) const {
  const Line& l = line(row);
  const Index p = panel - l.first_panel;
  const int* first = first_event_.data() + row * (stride_ / kPanel + 1);
  const std::span all(events_.data() + row * depth_ + first[p],
                      static_cast<std::size_t>(first[p + 1] - first[p]));
  const auto last = std::ranges::lower_bound(all, depth, {}, &WalkEvent::rank);
  return {l.member_row.data(), all.first(at(last - all.begin())), l.rank.data() + p * kPanel};
}

const float* SelectionBlock::member_weight(Index row, WalkKind kind) const {
  if (kind == WalkKind::scaled) return member_scaled_.data() + row * depth_;
  if (kind == WalkKind::unit) return member_unit_.data() + row * depth_;
  return member_attention_.data() + row * depth_;
}

const float* SelectionBlock::column_weight(Index row, WalkKind kind) const {
  const Line& l = line(row);
  if (kind == WalkKind::scaled) return l.scaled.data();
  if (kind == WalkKind::null || !space_->gram->has_zero()) return l.attention.data();
  return unit_weight_.data() + (l.attention.data() - attention_.data());
}

WalkSum SelectionBlock::sum_of(Index row, WalkKind kind, Index panel) {
  const Index column = (panel - line(row).first_panel) * kPanel;
  const auto sizes = static_cast<Index>(plan_->sizes.size());
  Walked& to = walked(kind);
  WalkSum sum;
  sum.coefficient = member_weight(row, kind);
  sum.before = to.before.data() + row * depth_;
  if (kind == WalkKind::scaled && plan_->distance) {
    sum.stored = stored_.data() + row * sizes * stride_ + column;
    sum.stored_stride = stride_;
  }
  if (kind != WalkKind::scaled || one_walk()) {
    sum.weight = column_weight(row, kind) + column;
    sum.lowest = to.lowest.data() + row * sizes * kWalkLanes;
    sum.inside = to.inside.data() + row * sizes * depth_;
    sum.inside_stride = depth_;
  }
  return sum;
}

void SelectionBlock::walk() {
  Index last = 0;
  for (const Line& l : lines_) last = std::max(last, l.first_panel + l.panels);
  const auto captures_of = [&](Index r) {
    return std::span<const int>(plan_->sizes).first(at(line(r).sizes));
  };
  for (Index p = 0; p < last; ++p) {
    prefix_.clear();
    for (Index r = 0; r < rows(); ++r) {
      const Line& l = line(r);
      if (p < l.first_panel || p >= l.first_panel + l.panels || l.member.empty()) continue;
      PrefixWalk walk;
      walk.row = walk_row(r, p, static_cast<int>(l.member.size()));
      walk.captures = captures_of(r);
      if (walks(WalkKind::scaled)) walk.first = sum_of(r, WalkKind::scaled, p);
      if (walks(WalkKind::unit)) {
        (walks(WalkKind::scaled) ? walk.second : walk.first) = sum_of(r, WalkKind::unit, p);
      }
      prefix_.push_back(walk);
    }
    walk_prefixes(space_->gram->products().panel(p), prefix_);
  }
  if (walks(WalkKind::null)) {
    for (Index p = 0; p < last; ++p) {
      prefix_.clear();
      for (Index r = 0; r < rows(); ++r) {
        const Line& l = line(r);
        if (p < l.first_panel || p >= l.first_panel + l.panels || l.sizes == 0) continue;
        PrefixWalk walk;
        walk.row = walk_row(r, p, plan_->sizes[at(l.sizes - 1)]);
        walk.row.member_rows = l.member.data();  // every position has a point of its own
        walk.captures = captures_of(r);
        walk.first = sum_of(r, WalkKind::null, p);
        prefix_.push_back(walk);
      }
      walk_prefixes(space_->null->products().panel(p), prefix_);
    }
  }
  for (const WalkKind kind : {WalkKind::scaled, WalkKind::unit, WalkKind::null}) {
    if (walks(kind)) square_sets(kind);
  }
}

// |s_N|^2 = |s_{N-1}|^2 + w_N (w_N + 2 <s_{N-1}, u_N>), |u_N| = 1.
void SelectionBlock::square_sets(WalkKind kind) {
  Walked& to = walked(kind);
  for (Index r = 0; r < rows(); ++r) {
    const auto members = static_cast<Index>(line(r).member.size());
    const float* weight = member_weight(r, kind);
    double square = 0;
    for (Index k = 0; k < members; ++k) {
      const double w = weight[k];
      square += w * (w + 2.0 * to.before[at(r * depth_ + k)]);
      to.set_square[at(r * depth_ + k)] = std::max(square, 0.0);
    }
  }
}

SelectionBlock::Sums SelectionBlock::sums(Index row, WalkKind kind) const {
  const Line& l = line(row);
  const auto sizes = static_cast<Index>(plan_->sizes.size());
  if (kind == WalkKind::unit && one_walk()) kind = WalkKind::scaled;
  const Walked& from = walked(kind);
  Sums out;
  out.set_square = {from.set_square.data() + row * depth_, l.member.size()};
  if (kind == WalkKind::scaled && plan_->distance) {
    out.stored = {stored_.data() + row * sizes * stride_, l.sizes, l.panels * kPanel, stride_};
  }
  if (kind != WalkKind::scaled || one_walk()) {
    out.lowest = {from.lowest.data() + row * sizes * kWalkLanes, l.sizes, kWalkLanes};
    out.inside = {from.inside.data() + row * sizes * depth_, l.sizes, depth_};
  }
  return out;
}

MatrixView<const float> SelectionBlock::sums_again(Index row, WalkKind kind) {
  const Line& l = line(row);
  const Index columns = l.panels * kPanel;
  if (again_.size() < at(l.sizes * columns)) again_.resize(at(l.sizes * columns));
  for (Index p = l.first_panel; p < l.first_panel + l.panels; ++p) {
    PrefixWalk walk;
    walk.row = walk_row(row, p, 0);
    walk.captures = std::span<const int>(plan_->sizes).first(at(l.sizes));
    const Gram& gram = kind == WalkKind::null ? *space_->null : *space_->gram;
    if (kind == WalkKind::null) walk.row.member_rows = l.member.data();
    walk.first.coefficient = member_weight(row, kind);
    walk.first.stored = again_.data() + (p - l.first_panel) * kPanel;
    walk.first.stored_stride = columns;
    walk_prefixes(gram.products().panel(p), {&walk, 1});
  }
  return {again_.data(), l.sizes, columns};
}

}  // namespace headgauge
