#include "measures/selection_block.hpp"

#include <cmath>
#include <limits>

#include "kernels/top_prefix_sums.hpp"

namespace headgauge {
namespace {

constexpr Index kPanel = kPrefixColumns;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

Index whole(Index count, Index unit) {
  return (count + unit - 1) / unit * unit;
}

template <class Vector>
void grow(Vector& vector, Index size) {
  if (vector.size() < at(size)) vector.resize(at(size));
}

}  // namespace

void SelectionBlock::begin(const RowBlock& block, const SelectionSpace& space,
                           const SelectionPlan& plan) {
  space_ = &space;
  plan_ = &plan;
  Index end = 0;
  for (const Row& row : block.rows) end = std::max(end, row.keys.end);
  stride_ = whole(end, kPanel);
  depth_ = whole(plan.depth(), kPrefixLanes);
  sizes_ = static_cast<Index>(plan.sizes.size());
  const auto rows = static_cast<Index>(block.rows.size());
  lines_.assign(block.rows.size(), Line{});
  grow(attention_, rows * stride_);
  grow(scaled_, rows * stride_);
  if (space.gram->has_zero()) grow(unit_weight_, rows * stride_);
  grow(rank_, rows * stride_);
  grow(member_, rows * depth_);
  grow(member_row_, rows * depth_);
  for (auto& weights : member_weight_) grow(weights, rows * depth_);
  for (auto& sums : set_sums_) grow(sums, rows * sizes_);
  grow(events_, rows * depth_);
  grow(first_event_, rows * (stride_ / kPanel + 1));
  if (plan.separability) {
    for (PrefixOutput& to : output_) {
      grow(to.lowest, rows * sizes_ * kPrefixLanes);
      grow(to.inside, rows * sizes_ * depth_);
      std::fill_n(to.lowest.begin(), rows * sizes_ * kPrefixLanes, kInfinite);
    }
  }
  if (plan.distance) grow(stored_, rows * sizes_ * stride_);
  if (plan.critical > 0) {
    grow(before_, rows * depth_);
    grow(critical_square_, rows * depth_);
  }
  for (Index r = 0; r < rows; ++r) lay_out(block.rows[at(r)], r);
}

void SelectionBlock::lay_out(const Row& row, Index r) {
  Line& line = lines_[at(r)];
  const Gram& gram = *space_->gram;
  line.n = row.n();
  line.first_panel = row.keys.begin / kPanel;
  line.panels = whole(row.keys.end, kPanel) / kPanel - line.first_panel;
  if (gram.has_products()) {
    line.critical = static_cast<int>(std::min<Index>(plan_->critical, line.n - 1));
  }
  line.sizes =
      static_cast<int>(std::ranges::lower_bound(plan_->sizes, line.n) - plan_->sizes.begin());
  int members = line.critical;
  if (line.sizes > 0) members = std::max(members, plan_->sizes[at(line.sizes - 1)]);

  const Index first = line.first_panel * kPanel;
  const Index columns = line.panels * kPanel;
  const Index from = r * stride_ + first;
  const std::span a(attention_.data() + from, at(columns));
  const std::span b(scaled_.data() + from, at(columns));
  const std::span rank(rank_.data() + from, at(columns));
  const std::span norm = gram.norms().subspan(at(first), at(columns));
  line.lead = row.keys.begin - first;
  line.span = row.keys.size();
  line.positions = row.positions;
  line.mass = row.sums.mass;
  if (!row.positions.empty()) {
    lay_out_gaps(row, line, a, b, rank);
  } else {
    const auto lead = at(line.lead), n = at(line.n);
    std::fill_n(a.begin(), lead, 0.0f);
    std::fill(a.begin() + line.lead + line.n, a.end(), 0.0f);
    std::fill_n(b.begin(), lead, 1.0f);
    std::fill(b.begin() + line.lead + line.n, b.end(), 1.0f);
    std::fill_n(rank.begin(), lead, kNoKey);
    std::fill_n(rank.begin() + line.lead, n, kUnranked);
    std::fill(rank.begin() + line.lead + line.n, rank.end(), kNoKey);
    std::ranges::copy(row.weights, a.begin() + line.lead);
    const ScaledSums sums = scale_weights(row.weights, norm.subspan(lead, n), b.subspan(lead, n));
    line.scaled_mass = sums.absolute;
    line.scaled_square = sums.square;
  }
  if (gram.has_zero()) {
    float* to = unit_weight_.data() + from;
    for (std::size_t j = 0; j < a.size(); ++j) {
      to[j] = norm[j] > 0.0f && rank[j] != kNoKey ? a[j] : 0.0f;
    }
  }

  const Index m = r * depth_;
  const std::uint32_t* row_of = gram.row_of().data() + first;
  std::uint32_t* member = member_.data() + m;
  std::uint32_t* member_row = member_row_.data() + m;
  float* scaled = member_weight_[0].data() + m;
  float* attention = member_weight_[2].data() + m;
  float* unit = member_weight_[1].data() + m;
  for (int k = 0; k < members; ++k) {
    const Index column = line.column(row.top[at(k)]);
    rank[at(column)] = k;
    member[k] = static_cast<std::uint32_t>(first + column);
    member_row[k] = row_of[column];
    scaled[k] = b[at(column)];
    attention[k] = a[at(column)];
    unit[k] = gram.has_zero() && norm[at(column)] == 0.0f ? 0.0f : attention[k];
  }
  line.attention = a;
  line.scaled = b;
  line.rank = rank;
  line.norm = norm;
  line.member = {member_.data() + m, at(members)};
  line.member_row = {member_row_.data() + m, at(members)};
  sort_events(r);
  add_up_members(r);
}

void SelectionBlock::lay_out_gaps(const Row& row, Line& line, std::span<float> attention,
                                  std::span<float> scaled, std::span<std::int32_t> rank) {
  std::ranges::fill(attention, 0.0f);
  std::ranges::fill(scaled, 1.0f);
  std::ranges::fill(rank, kNoKey);
  gathered_norm_.resize(at(line.n));
  gathered_scaled_.resize(at(line.n));
  for (Index i = 0; i < line.n; ++i) {
    gathered_norm_[at(i)] = space_->gram->norms()[at(row.key(i))];
  }
  const ScaledSums sums = scale_weights(row.weights, gathered_norm_, gathered_scaled_);
  line.scaled_mass = sums.absolute;
  line.scaled_square = sums.square;
  for (Index i = 0; i < line.n; ++i) {
    const auto column = at(line.column(i));
    attention[column] = row.weights[at(i)];
    scaled[column] = gathered_scaled_[at(i)];
    rank[column] = kUnranked;
  }
}

void SelectionBlock::sort_events(Index r) {
  const Line& line = lines_[at(r)];
  int* first = first_event_.data() + r * (stride_ / kPanel + 1);
  std::fill_n(first, line.panels + 1, 0);
  const auto first_panel = static_cast<std::uint32_t>(line.first_panel);
  constexpr auto kColumns = static_cast<std::uint32_t>(kPanel);
  for (const std::uint32_t position : line.member) ++first[position / kColumns - first_panel + 1];
  for (Index p = 0; p < line.panels; ++p) first[p + 1] += first[p];
  PrefixEvent* events = events_.data() + r * depth_;
  for (std::size_t k = 0; k < line.member.size(); ++k) {
    const std::uint32_t panel = line.member[k] / kColumns;
    events[first[panel - first_panel]++] = {
        static_cast<std::int32_t>(k), static_cast<std::int32_t>(line.member[k] - panel * kColumns)};
  }
  // Each entry has moved on to where the next panel's events begin.
  for (Index p = line.panels; p > 0; --p) first[p] = first[p - 1];
  first[0] = 0;
}

void SelectionBlock::add_up_members(Index r) {
  for (const PrefixKind kind : {PrefixKind::scaled, PrefixKind::unit, PrefixKind::null}) {
    const auto k = static_cast<std::size_t>(kind);
    if (kind == PrefixKind::null && !space_->gram->has_zero()) {
      std::copy_n(set_sums_[1].begin() + r * sizes_, sizes_, set_sums_[2].begin() + r * sizes_);
      continue;
    }
    const float* weight = member_weight_[k].data() + r * depth_;
    SetSums sums;
    int member = 0;
    for (int s = 0; s < lines_[at(r)].sizes; ++s) {
      for (; member < plan_->sizes[at(s)]; ++member) {
        const double w = weight[member];
        sums.mass += std::abs(w);
        sums.square += w * w;
      }
      set_sums_[k][at(r * sizes_ + s)] = sums;
    }
  }
}

PrefixKind SelectionBlock::resolve(PrefixKind kind) const {
  return kind == PrefixKind::unit && !plan_->unit_sphere ? PrefixKind::scaled : kind;
}

std::span<const float> SelectionBlock::member_weights(Index row, PrefixKind kind) const {
  const auto& weights = member_weight_[static_cast<std::size_t>(resolve(kind))];
  return {weights.data() + row * depth_, line(row).member.size()};
}

const float* SelectionBlock::column_weights(Index row, PrefixKind kind) const {
  const Line& l = line(row);
  kind = resolve(kind);
  if (kind == PrefixKind::scaled) return l.scaled.data();
  if (kind == PrefixKind::null || !space_->gram->has_zero()) return l.attention.data();
  return unit_weight_.data() + (l.attention.data() - attention_.data());
}

SelectionBlock::SetSums SelectionBlock::set_sums(Index row, PrefixKind kind, int size) const {
  return set_sums_[static_cast<std::size_t>(resolve(kind))][at(row * sizes_ + size)];
}

PrefixRow SelectionBlock::prefix_row(Index row) const {
  const Line& l = line(row);
  return {l.first_panel,
          l.panels,
          l.member_row.data(),
          events_.data() + row * depth_,
          first_event_.data() + row * (stride_ / kPanel + 1),
          l.rank.data()};
}

std::span<const int> SelectionBlock::captures(Index row) const {
  return std::span<const int>(plan_->sizes).first(at(line(row).sizes));
}

// The sum of a kind with what is wanted of it.
PrefixSum SelectionBlock::sum_of(Index row, PrefixKind kind) {
  PrefixSum sum;
  sum.coefficient = member_weights(row, kind).data();
  if (resolve(kind) == PrefixKind::scaled && plan_->distance) {
    sum.stored = stored_.data() + row * sizes_ * stride_ + line(row).first_panel * kPanel;
    sum.stored_stride = stride_;
    if (plan_->critical > 0) sum.before = before_.data() + row * depth_;
  }
  if (kind != PrefixKind::scaled && plan_->separability) {
    PrefixOutput& to = output_[kind == PrefixKind::null ? 1 : 0];
    sum.weight = column_weights(row, kind);
    sum.lowest = to.lowest.data() + row * sizes_ * kPrefixLanes;
    sum.inside = to.inside.data() + row * sizes_ * depth_;
    sum.inside_stride = depth_;
  }
  return sum;
}

void SelectionBlock::sum_prefixes() {
  // Where separability is measured on the vectors as they are, one sum serves both.
  const bool one = !plan_->distance || (plan_->separability && !plan_->unit_sphere);
  if (space_->gram->has_products()) {
    prefix_.clear();
    for (Index r = 0; r < rows(); ++r) {
      if (line(r).member.empty()) continue;
      PrefixSums prefix;
      prefix.row = prefix_row(r);
      prefix.captures = captures(r);
      prefix.first = sum_of(r, one ? PrefixKind::unit : PrefixKind::scaled);
      if (!one && plan_->separability) prefix.second = sum_of(r, PrefixKind::unit);
      prefix_.push_back(prefix);
    }
    sum_top_prefixes(space_->gram->products(), prefix_);
    if (plan_->critical > 0) square_critical();
  } else {
    if (plan_->distance) project_sums(PrefixKind::scaled, 0, rows(), stored_.data(), stride_);
    if (plan_->separability) project_separations(PrefixKind::unit);
  }
  if (!plan_->separability) return;
  if (!space_->null->has_products()) return project_separations(PrefixKind::null);
  prefix_.clear();
  for (Index r = 0; r < rows(); ++r) {
    const Line& l = line(r);
    if (l.sizes == 0) continue;
    PrefixSums prefix;
    prefix.row = prefix_row(r);
    prefix.row.member_rows = l.member.data();  // every position has a point of its own
    prefix.captures = captures(r);
    prefix.first = sum_of(r, PrefixKind::null);
    prefix_.push_back(prefix);
  }
  sum_top_prefixes(space_->null->products(), prefix_);
}

// s_N itself, then its products with all unit vectors. Columns before a row's first panel and
// beyond its last are worked out as well, and not read.
void SelectionBlock::project_sums(PrefixKind kind, Index first, Index count, float* to,
                                  Index to_stride) {
  const Gram& gram = kind == PrefixKind::null ? *space_->null : *space_->gram;
  const Index dimension = gram.dimension();
  set_vectors_.assign(at(count * sizes_ * dimension), 0.0f);
  for (Index r = 0; r < count; ++r) {
    const Line& l = line(first + r);
    const std::span<const float> weights = member_weights(first + r, kind);
    const auto& member = kind == PrefixKind::null ? l.member : l.member_row;
    int k = 0;
    for (int s = 0; s < l.sizes; ++s) {
      float* sum = set_vectors_.data() + (r * sizes_ + s) * dimension;
      if (s > 0) std::copy_n(sum - dimension, dimension, sum);
      for (; k < plan_->sizes[at(s)]; ++k) {
        const float* unit = gram.unit(member[at(k)]).data();
        for (Index d = 0; d < dimension; ++d) sum[d] += weights[at(k)] * unit[d];
      }
    }
  }
  GemmOptions options;
  options.col_end = std::min(stride_, gram.columns());
  gemm({set_vectors_.data(), count * sizes_, dimension}, gram.unit_columns(),
       {to, count * sizes_, stride_, to_stride}, options);
}

void SelectionBlock::project_separations(PrefixKind kind) {
  constexpr Index kRows = 8;  // that are projected together
  grow(again_, kRows * sizes_ * stride_);
  for (Index first = 0; first < rows(); first += kRows) {
    const Index count = std::min(kRows, rows() - first);
    project_sums(kind, first, count, again_.data(), stride_);
    prefix_.clear();
    for (Index r = 0; r < count; ++r) {
      PrefixSums prefix;
      prefix.row = prefix_row(first + r);
      prefix.captures = captures(first + r);
      prefix.first = sum_of(first + r, kind);
      prefix.first.stored =
          again_.data() + r * sizes_ * stride_ + line(first + r).first_panel * kPanel;
      prefix.first.stored_stride = stride_;
      prefix_.push_back(prefix);
    }
    capture_prefixes(prefix_);
  }
}

// |s_N|^2 = |s_{N-1}|^2 + w_N (w_N + 2 <s_{N-1}, u_N>), |u_N| = 1.
void SelectionBlock::square_critical() {
  for (Index r = 0; r < rows(); ++r) {
    const float* weight = member_weight_[0].data() + r * depth_;
    double square = 0;
    for (int k = 0; k < line(r).critical; ++k) {
      const double w = weight[k];
      square += w * (w + 2.0 * before_[at(r * depth_ + k)]);
      critical_square_[at(r * depth_ + k)] = static_cast<float>(std::max(square, 0.0));
    }
  }
}

MatrixView<const float> SelectionBlock::products(Index row) const {
  const Line& l = line(row);
  const float* from = stored_.data() + row * sizes_ * stride_ + l.first_panel * kPanel;
  return {from, l.sizes, l.panels * kPanel, stride_};
}

double SelectionBlock::set_square(Index row, int size) const {
  const Line& l = line(row);
  const float* products_of = products(row).row(size).data();
  const float* weight = member_weight_[0].data() + row * depth_;
  const auto first = static_cast<std::uint32_t>(l.first_panel * kPanel);
  const std::uint32_t* member = l.member.data();
  const int count = plan_->sizes[at(size)];
  // Four sums, so that additions do not wait for the one before.
  double sum[4] = {};
  int k = 0;
  for (; k + 4 <= count; k += 4) {
    for (int i = 0; i < 4; ++i) {
      sum[i] += static_cast<double>(weight[k + i] * products_of[member[k + i] - first]);
    }
  }
  for (; k < count; ++k) sum[0] += static_cast<double>(weight[k] * products_of[member[k] - first]);
  return std::max((sum[0] + sum[1]) + (sum[2] + sum[3]), 0.0);
}

std::span<const float> SelectionBlock::critical_squares(Index row) const {
  return {critical_square_.data() + row * depth_, at(line(row).critical)};
}

SelectionBlock::Separations SelectionBlock::separations(Index row, PrefixKind kind) const {
  const PrefixOutput& from = output(kind);
  const int sizes = line(row).sizes;
  return {{from.lowest.data() + row * sizes_ * kPrefixLanes, sizes, kPrefixLanes},
          {from.inside.data() + row * sizes_ * depth_, sizes, depth_}};
}

MatrixView<const float> SelectionBlock::sums_again(Index row, PrefixKind kind) {
  const Line& l = line(row);
  const Index columns = l.panels * kPanel;
  const Gram& gram = kind == PrefixKind::null ? *space_->null : *space_->gram;
  grow(again_, sizes_ * stride_);
  if (!gram.has_products()) {
    project_sums(kind, row, 1, again_.data(), stride_);
    return {again_.data() + l.first_panel * kPanel, l.sizes, columns, stride_};
  }
  PrefixSums prefix;
  prefix.row = prefix_row(row);
  prefix.captures = captures(row);
  if (kind == PrefixKind::null) prefix.row.member_rows = l.member.data();
  prefix.first.coefficient = member_weights(row, kind).data();
  prefix.first.stored = again_.data();
  prefix.first.stored_stride = columns;
  sum_top_prefixes(gram.products(), {&prefix, 1});
  return {again_.data(), l.sizes, columns};
}

}  // namespace headgauge
