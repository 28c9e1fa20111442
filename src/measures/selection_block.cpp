#include "measures/selection_block.hpp"

#include "kernels/top_prefix_sums.hpp"
#include "measures/grow.hpp"

namespace headgauge {
namespace {

constexpr Index kPanel = kPrefixColumns;

Index whole(Index count, Index unit) {
  return (count + unit - 1) / unit * unit;
}

Index number(PrefixKind kind) {
  return static_cast<Index>(kind);
}

// Fills the columns before a row's first key and after its last.
template <class T>
void fill_outside(std::span<T> columns, const SelectionBlock::Line& line, T value) {
  std::ranges::fill(columns.first(line.lead), value);
  std::ranges::fill(columns.subspan(line.lead + line.span), value);
}

}  // namespace

void SelectionBlock::begin(const RowBlock& block, const SelectionSpace& space,
                           const SelectionRequest& plan) {
  space_ = &space;
  plan_ = &plan;
  Index end = 0;
  for (const Row& row : block.rows) end = std::max(end, row.keys.end);
  stride_ = whole(end, kPanel);
  depth_ = whole(plan.depth(), kPrefixLanes);
  sizes_ = plan.count();
  lines_.assign(block.rows.size(), Line{});
  reserve(block.size());
  for (Index r = 0; r < block.size(); ++r) lay_out(block.rows[r], r);
}

void SelectionBlock::reserve(Index rows) {
  grow(columns_.attention, rows * stride_);
  grow(columns_.scaled, rows * stride_);
  if (space_->gram->has_zero()) grow(columns_.unit, rows * stride_);
  grow(columns_.rank, rows * stride_);
  grow(members_.position, rows * depth_);
  grow(members_.row, rows * depth_);
  for (auto& weights : members_.weight) grow(weights, rows * depth_);
  grow(members_.events, rows * depth_);
  for (auto& sums : set_sums_) grow(sums, rows * sizes_);
  grow(first_event_, rows * (stride_ / kPanel + 1));
  if (!plan_->shares.empty()) grow(row_sizes_, rows * sizes_);
}

void SelectionBlock::lay_out(const Row& row, Index r) {
  Line& line = lines_[r];
  const Gram& gram = *space_->gram;
  line.n = row.n();
  line.first_panel = row.keys.begin / kPanel;
  line.panels = whole(row.keys.end, kPanel) / kPanel - line.first_panel;
  line.lead = row.keys.begin - line.first_column();
  line.span = row.keys.size();
  line.positions = row.positions;
  line.mass = row.sums.mass;
  line.sizes = count_sizes(r, line.n);
  if (gram.has_products()) {
    line.critical = static_cast<int>(std::min<Index>(plan_->critical, line.n - 1));
  }
  const Index from = r * stride_ + line.first_column();
  line.attention = std::span(columns_.attention).subspan(from, line.columns());
  line.scaled = std::span(columns_.scaled).subspan(from, line.columns());
  line.rank = std::span(columns_.rank).subspan(from, line.columns());
  line.norm = gram.norms().subspan(line.first_column(), line.columns());
  row.positions.empty() ? lay_out_keys(row, line) : lay_out_gaps(row, line);
  if (gram.has_zero()) {
    const std::span<float> unit = of(line, columns_.unit);
    for (std::size_t j = 0; j < unit.size(); ++j) {
      unit[j] = line.norm[j] > 0.0f && line.rank[j] != kNoKey ? line.attention[j] : 0.0f;
    }
  }
  int members = line.critical;
  if (line.sizes > 0) members = std::max(members, sizes_of(r).back());
  lay_out_members(row, r, members);
  sort_events(r);
  add_up_members(r);
}

// Returns the number of sets that a row of n keys has; sets their sizes if the plan has shares.
int SelectionBlock::count_sizes(Index r, Index n) {
  if (plan_->shares.empty()) {
    return static_cast<int>(std::ranges::lower_bound(plan_->sizes, n) - plan_->sizes.begin());
  }
  if (n < 2) return 0;
  for (Index s = 0; s < sizes_; ++s) {
    row_sizes_[r * sizes_ + s] = SelectionRequest::size_of_share(plan_->shares[s], n);
  }
  return static_cast<int>(sizes_);
}

// Lays out the columns of a row whose keys are contiguous.
void SelectionBlock::lay_out_keys(const Row& row, Line& line) {
  const std::span<float> attention = of(line, columns_.attention);
  const std::span<float> scaled = of(line, columns_.scaled);
  const std::span<std::int32_t> rank = of(line, columns_.rank);
  fill_outside(attention, line, 0.0f);
  fill_outside(rank, line, kNoKey);
  std::ranges::copy(row.weights, attention.begin() + line.lead);
  std::ranges::fill(rank.subspan(line.lead, line.n), kUnranked);
  if (!plan_->scaled()) return;
  fill_outside(scaled, line, 1.0f);
  const ScaledSums sums = scale_weights(row.weights, line.norm.subspan(line.lead, line.n),
                                        scaled.subspan(line.lead, line.n));
  line.scaled_mass = sums.absolute;
  line.scaled_square = sums.square;
}

// Lays out the columns of a row with gaps between its keys.
void SelectionBlock::lay_out_gaps(const Row& row, Line& line) {
  const std::span<float> attention = of(line, columns_.attention);
  const std::span<float> scaled = of(line, columns_.scaled);
  const std::span<std::int32_t> rank = of(line, columns_.rank);
  std::ranges::fill(attention, 0.0f);
  std::ranges::fill(scaled, 1.0f);
  std::ranges::fill(rank, kNoKey);
  gathered_.norm.resize(line.n);
  gathered_.scaled.resize(line.n);
  for (Index i = 0; i < line.n; ++i) gathered_.norm[i] = space_->gram->norms()[row.key(i)];
  const ScaledSums sums = scale_weights(row.weights, gathered_.norm, gathered_.scaled);
  line.scaled_mass = sums.absolute;
  line.scaled_square = sums.square;
  for (Index i = 0; i < line.n; ++i) {
    const Index column = line.column(i);
    attention[column] = row.weights[i];
    scaled[column] = gathered_.scaled[i];
    rank[column] = kUnranked;
  }
}

// Ranks the first `count` keys: sets their columns' ranks and the members' data.
void SelectionBlock::lay_out_members(const Row& row, Index r, int count) {
  Line& line = lines_[r];
  const bool has_zero = space_->gram->has_zero();
  const std::span<std::int32_t> rank = of(line, columns_.rank);
  const std::uint32_t* row_of = space_->gram->row_of().data() + line.first_column();
  const Index m = r * depth_;
  std::uint32_t* position = members_.position.data() + m;
  std::uint32_t* gram_row = members_.row.data() + m;
  float* scaled = members_.weight[number(PrefixKind::scaled)].data() + m;
  float* unit = members_.weight[number(PrefixKind::unit)].data() + m;
  float* attention = members_.weight[number(PrefixKind::attention)].data() + m;
  for (int k = 0; k < count; ++k) {
    const Index column = line.column(row.top[k]);
    rank[column] = k;
    position[k] = static_cast<std::uint32_t>(line.first_column() + column);
    gram_row[k] = row_of[column];
    if (plan_->scaled()) scaled[k] = line.scaled[column];
    attention[k] = line.attention[column];
    unit[k] = has_zero && line.norm[column] == 0.0f ? 0.0f : attention[k];
  }
  line.member = std::span(members_.position).subspan(m, count);
  line.member_row = std::span(members_.row).subspan(m, count);
}

void SelectionBlock::sort_events(Index r) {
  const Line& line = lines_[r];
  int* first = first_event_.data() + r * (stride_ / kPanel + 1);
  std::fill_n(first, line.panels + 1, 0);
  const auto first_panel = static_cast<std::uint32_t>(line.first_panel);
  constexpr auto kColumns = static_cast<std::uint32_t>(kPanel);
  for (const std::uint32_t position : line.member) ++first[position / kColumns - first_panel + 1];
  for (Index p = 0; p < line.panels; ++p) first[p + 1] += first[p];
  PrefixEvent* events = members_.events.data() + r * depth_;
  for (std::size_t k = 0; k < line.member.size(); ++k) {
    const std::uint32_t panel = line.member[k] / kColumns;
    events[first[panel - first_panel]++] = {
        static_cast<std::int32_t>(k), static_cast<std::int32_t>(line.member[k] - panel * kColumns)};
  }
  // Each entry now points to where the next panel's events begin.
  for (Index p = line.panels; p > 0; --p) first[p] = first[p - 1];
  first[0] = 0;
}

void SelectionBlock::add_up_members(Index r) {
  for (const PrefixKind kind : {PrefixKind::scaled, PrefixKind::unit, PrefixKind::attention}) {
    if (kind == PrefixKind::scaled && !plan_->scaled()) continue;
    SetSums* to = set_sums_[number(kind)].data() + r * sizes_;
    if (kind == PrefixKind::attention && !space_->gram->has_zero()) {
      std::copy_n(set_sums_[number(PrefixKind::unit)].begin() + r * sizes_, sizes_, to);
      continue;
    }
    const float* weight = members_.weight[number(kind)].data() + r * depth_;
    SetSums sums;
    int member = 0;
    for (const int size : sizes_of(r)) {
      for (; member < size; ++member) {
        const double w = weight[member];
        sums.mass += std::abs(w);
        sums.square += w * w;
      }
      *to++ = sums;
    }
  }
}

std::span<const float> SelectionBlock::member_weights(Index row, PrefixKind kind) const {
  return std::span(members_.weight[number(resolve(kind))])
      .subspan(row * depth_, line(row).member.size());
}

const float* SelectionBlock::column_weights(Index row, PrefixKind kind) const {
  const Line& l = line(row);
  kind = resolve(kind);
  if (kind == PrefixKind::scaled) return l.scaled.data();
  if (kind == PrefixKind::attention || !space_->gram->has_zero()) return l.attention.data();
  return columns_.unit.data() + (l.attention.data() - columns_.attention.data());
}

SelectionBlock::SetSums SelectionBlock::set_sums(Index row, PrefixKind kind, int size) const {
  return set_sums_[number(resolve(kind))][row * sizes_ + size];
}

PrefixRow SelectionBlock::prefix_row(Index row) const {
  const Line& l = line(row);
  return {l.first_panel,
          l.panels,
          l.member_row.data(),
          members_.events.data() + row * depth_,
          first_event_.data() + row * (stride_ / kPanel + 1),
          l.rank.data()};
}

}  // namespace headgauge
