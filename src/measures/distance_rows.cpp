#include "measures/distance_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headgauge/base.hpp"
#include "headgauge/metric_names.hpp"
#include "kernels/top_prefix_sums.hpp"
#include "kernels/top_prefixes.hpp"
#include "measures/grow.hpp"

namespace headgauge {
namespace {

// A panel whose bound exceeds the best value by no more than this is not searched: bound and value
// may be the same number, rounded differently.
constexpr float kNoMore = 1.0f + 1e-6f;

// The sums over a row that T1.2 (docs/mathematics.md 2) needs: |Y|^2 and the sum of |y_i|^2.
struct ContextFacts {
  Index n = 0;
  double total_square = 0;
  double scaled_square = 0;
};

// Computes E_main ("uniform"), its upper bound and E_ctx ("context") for sets of `size`, as sums
// over the columns that sum_expected() takes.
ExpectedSums expected_distances(std::span<const float> scaled, std::span<const float> projection,
                                std::span<const float> norm, const ContextFacts& facts,
                                Index size) {
  const auto n = static_cast<double>(facts.n);
  const auto chosen = static_cast<double>(size);
  const double k = chosen / (n - 1.0);
  // v_i = f (sum |y_j|^2 - |y_i|^2 - (|Y|^2 - 2 <y_i, Y> + |y_i|^2) / (n - 1)), docs/mathematics.md
  // 7a.
  const double f = n > 2.0 ? chosen * (n - 1.0 - chosen) / ((n - 1.0) * (n - 2.0)) : 0.0;
  ExpectedCoefficients c;
  c.main_scale = static_cast<float>(1.0 + k);
  c.main_linear = static_cast<float>(2.0 * k);
  c.main_constant = static_cast<float>(k * k * facts.total_square);
  // |m_i|^2 + v_i, with terms collected.
  c.upper_square = static_cast<float>((1.0 + k) * (1.0 + k) - f - f / (n - 1.0));
  c.upper_linear = static_cast<float>(-2.0 * k * (1.0 + k) + 2.0 * f / (n - 1.0));
  c.upper_constant = static_cast<float>(k * k * facts.total_square +
                                        f * (facts.scaled_square - facts.total_square / (n - 1.0)));
  c.spread = static_cast<float>(k);
  c.total_square = static_cast<float>(facts.total_square);
  const double p = (n - chosen) / n;
  const ExpectedSums sums = sum_expected(scaled, projection, norm, c);
  return {p * sums.main, p * sums.upper, p * sums.context};
}

constexpr float kInfiniteDistance = std::numeric_limits<float>::infinity();

}  // namespace

double distance_bound(const DistanceFacts& facts) {
  const auto outside = static_cast<double>(facts.n - facts.size);
  const double simple = facts.scaled_rest + outside * facts.set_norm;  // A4
  if (facts.selected == 0.0 || std::isnan(facts.cross)) return simple;
  // A3; abar - a_i >= 0 for every i outside a top-N set.
  const double spread = outside * facts.selected - facts.rest;
  return std::min(simple, facts.rest * facts.cross + facts.largest_norm * spread);
}

double distance_bound_paper(const DistanceFacts& facts) {
  const auto outside = static_cast<double>(facts.n - facts.size);
  const double rest = 1.0 - facts.selected;
  return rest * facts.cross + facts.largest_norm * (facts.selected * outside - rest);
}

CrossDistance::CrossDistance(const Gram& gram, ThreadPool& pool)
    : gram_(&gram), farthest_(gram.rows(), gram.panels()), prefix_(gram.rows(), gram.panels()) {
  // Columns beyond the last position are not keys.
  std::vector<std::int32_t> rank(gram.norms().size(), kNoKey);
  std::fill_n(rank.begin(), gram.columns(), kUnranked);
  for (const double norm : gram.row_norms()) {
    // Rounded as in the kernel, so that equal vectors have distance 0.
    square_.push_back(static_cast<float>(norm) * static_cast<float>(norm));
  }
  pool.for_each(gram.rows(), [&](Index i) {
    const auto norm = static_cast<float>(gram.row_norms()[i]);
    float most = -std::numeric_limits<float>::infinity();
    for (Index p = 0; p < gram.panels(); ++p) {
      const Index column = p * kPrefixColumns;
      const float* products = gram.products().panel(p) + i * kPrefixColumns;
      const float far =
          farthest_outside(products, gram.norms().data() + column, rank.data() + column, 0, norm);
      most = std::max(most, far);
      farthest_(i, p) = far;
      prefix_(i, p) = most;
    }
  });
}

void CrossDistance::begin_row(std::span<const std::uint32_t> members, Index first_panel,
                              Index panels, Scratch& scratch) const {
  scratch.first_panel = first_panel;
  scratch.member.assign(members.begin(), members.end());
  scratch.promise.resize(members.size());
  if (std::ssize(scratch.seen) < gram_->rows()) scratch.seen.assign(gram_->rows(), 0);
  const float* promised = prefix_.data() + first_panel + panels - 1;
  for (std::size_t k = 0; k < members.size(); ++k) {
    scratch.promise[k] = square_[members[k]] + promised[members[k] * prefix_.cols()];
  }
}

double CrossDistance::largest(int size, std::span<const std::int32_t> rank,
                              Scratch& scratch) const {
  const Index panels = std::ssize(rank) / kPrefixColumns;
  const PackedMatrix& products = gram_->products();
  const std::uint32_t mark = ++scratch.search;
  float best = 0.0f;
  const auto search = [&](std::uint32_t row) {
    if (scratch.seen[row] == mark) return;
    scratch.seen[row] = mark;
    const auto promise = farthest_.row(row).subspan(scratch.first_panel, panels);
    const float found = search_farthest(
        products.panel(scratch.first_panel) + row * kPrefixColumns,
        products.rows() * kPrefixColumns,
        gram_->norms().data() + scratch.first_panel * kPrefixColumns, rank.data(), promise, size,
        static_cast<float>(gram_->row_norms()[row]), best - square_[row]);
    best = std::max(best, square_[row] + found);
  };
  // Searches the member with the largest bound first, so that most others need no search.
  const std::span promise(scratch.promise.data(), size);
  search(scratch.member[std::ranges::max_element(promise) - promise.begin()]);
  for (std::size_t k = 0; k < promise.size(); ++k) {
    if (promise[k] > best * kNoMore) search(scratch.member[k]);
  }
  return std::sqrt(std::max(best, 0.0f));
}

std::size_t CrossDistance::bytes(Index rows, Index columns) {
  const Index panels = (columns + kPrefixColumns - 1) / kPrefixColumns;
  return 2 * rows * panels * sizeof(float);
}

void DistanceMetrics::declare(MetricRegistry& metrics) {
  selected_mass = metrics.add(metric::selected_mass);
  distance = metrics.add(metric::distance);
  bound = metrics.add(metric::distance_bound);
  bound_paper = metrics.add(metric::distance_bound_paper);
  expected = metrics.add(metric::expected_distance);
  expected_upper = metrics.add(metric::expected_distance_upper);
  expected_context = metrics.add(metric::expected_distance_context);
  margin = metrics.add(metric::margin);
  critical.distance = metrics.add(metric::distance_at_n);
  critical.context = metrics.add(metric::expected_distance_context_at_n);
  critical.excess = metrics.add(metric::context_excess_at_n);
  for (const char* derived :
       {metric::critical_n, metric::critical_fraction, metric::closest_n, metric::closest_ratio,
        metric::closest_n_exponent, metric::critical_n_paper, metric::critical_ks_d,
        metric::critical_n_head, metric::critical_fraction_head, metric::closest_n_head,
        metric::closest_ratio_head}) {
    metrics.add(derived);
  }
}

void DistanceRows::measure(const RowBlock& rows, const SelectionSums& sums,
                           const CrossDistance& cross, const DistanceMetrics& metrics,
                           RowSink& sink) {
  const SelectionBlock& block = sums.block();
  project(rows, block, *block.space().gram);
  for (Index r = 0; r < block.rows(); ++r) measure_sizes(r, sums, cross, metrics, sink);
  if (!block.space().gram->has_products()) return;
  if (block.plan().critical > 0) measure_critical(sums, metrics.critical, sink);
}

std::span<float> DistanceRows::projection(const SelectionBlock::Line& line, Index row) {
  return {projection_.data() + row * stride_ + line.first_column(), line.scaled.size()};
}

// Computes <x_j, Y> / |x_j| = sum over i of a_i |x_i| c_ij for all columns, and |Y|^2.
void DistanceRows::project(const RowBlock& rows, const SelectionBlock& block, const Gram& gram) {
  const auto count = block.rows();
  Index end = 0;
  for (const Row& row : rows.rows) end = std::max(end, row.keys.end);
  stride_ = (end + kPrefixColumns - 1) / kPrefixColumns * kPrefixColumns;
  const Index inner = gram.rows_before(end);
  gathered_.assign(count * inner, 0.0f);
  grow(projection_, count * stride_);
  for (Index r = 0; r < count; ++r) {
    const auto& line = block.line(r);
    const Index first = line.first_column();
    float* to = gathered_.data() + r * inner;
    const std::uint32_t* row_of = gram.row_of().data() + first;
    if (gram.all_distinct() && line.positions.empty()) {
      std::copy_n(line.scaled.data() + line.lead, line.n, to + first + line.lead);
      continue;
    }
    for (Index i = 0; i < line.n; ++i) {
      const Index column = line.column(i);
      to[row_of[column]] += line.scaled[column];
    }
  }
  GemmOptions options;
  options.col_end = end;
  const MatrixView<const float> weights(gathered_.data(), count, inner);
  const MatrixView<float> projected(projection_.data(), count, stride_);
  if (gram.projects()) {
    grow(context_vectors_, count * gram.dimension());
    const MatrixView<float> context(context_vectors_.data(), count, gram.dimension());
    gemm(weights, gram.unit_rows(), context);
    gemm(context, gram.unit_columns(), projected, options);
  } else {
    gemm(weights, gram.products(), projected, options);
  }
  total_square_.assign(count, 0.0);
  for (Index r = 0; r < count; ++r) {
    const auto& line = block.line(r);
    const std::span<float> to = projection(line, r);
    const auto keys = to.subspan(line.lead, line.span);
    const auto scaled = line.scaled.subspan(line.lead, line.span);
    if (!line.positions.empty()) {
      // Columns between the keys add nothing to the product and do not count as keys afterwards.
      for (Index j = 0; j < line.span; ++j) {
        if (line.rank[line.lead + j] == kNoKey) keys[j] = 0.0f;
      }
    }
    total_square_[r] = std::max(dot(scaled, keys), 0.0f);
    std::fill(to.begin(), to.begin() + line.lead, kInfiniteDistance);
    std::fill(to.begin() + line.lead + line.span, to.end(), kInfiniteDistance);
    if (line.positions.empty()) continue;
    for (Index j = 0; j < line.span; ++j) {
      if (line.rank[line.lead + j] == kNoKey) keys[j] = kInfiniteDistance;
    }
  }
}

void DistanceRows::measure_sizes(Index row, const SelectionSums& sums, const CrossDistance& cross,
                                 const DistanceMetrics& metrics, RowSink& sink) {
  const SelectionBlock& block = sums.block();
  const Gram& gram = *block.space().gram;
  const auto& line = block.line(row);
  if (line.sizes == 0) return;
  const auto products = sums.products(row);
  const ContextFacts context{line.n, total_square_[row], line.scaled_square};
  const std::span<const float> projected = projection(line, row);
  DistanceFacts facts;
  facts.n = line.n;
  const bool has_cross = gram.has_products() && block.plan().bounds;
  if (has_cross) cross.begin_row(line.member_row, line.first_panel, line.panels, scratch_);
  int member = 0;
  const auto attention = block.member_weights(row, PrefixKind::attention);
  for (int s = 0; s < line.sizes; ++s) {
    const int size = block.sizes_of(row)[s];
    if (!block.plan().stands_for(s, line.n)) continue;
    for (; member < size; ++member) {
      facts.selected += attention[member];
      facts.largest_norm = std::max(facts.largest_norm, gram.row_norms()[line.member_row[member]]);
    }
    const double set_square = sums.set_square(row, s);
    facts.size = size;
    facts.rest = line.mass - facts.selected;
    facts.scaled_rest =
        std::max(line.scaled_mass - block.set_sums(row, PrefixKind::scaled, s).mass, 0.0);
    facts.set_norm = std::sqrt(set_square);
    facts.cross = has_cross ? cross.largest(size, line.rank, scratch_) : kUndefined;
    const double distance = sum_distances(line.scaled, line.rank, products.row(s), size,
                                          static_cast<float>(set_square));
    const ExpectedSums expected =
        expected_distances(line.scaled, projected, line.norm, context, size);
    sink.set(row, metrics.selected_mass, s, facts.selected);
    sink.set(row, metrics.distance, s, distance);
    sink.set(row, metrics.bound, s, distance_bound(facts));
    sink.set(row, metrics.bound_paper, s, distance_bound_paper(facts));
    sink.set(row, metrics.expected, s, expected.main);
    sink.set(row, metrics.expected_upper, s, expected.upper);
    sink.set(row, metrics.expected_context, s, expected.context);
    sink.set(row, metrics.margin, s, distance / static_cast<double>(line.n - size));
  }
}

void DistanceRows::measure_critical(const SelectionSums& sums, const CriticalMetrics& metrics,
                                    RowSink& sink) {
  const SelectionBlock& block = sums.block();
  const Index lanes = block.plan().critical * kPrefixLanes;
  distance_.assign(block.rows() * lanes, 0.0f);
  context_.assign(block.rows() * lanes, 0.0f);
  prefixes_.clear();
  for (Index r = 0; r < block.rows(); ++r) {
    const auto& line = block.line(r);
    if (line.critical == 0) continue;
    PrefixDistances prefix;
    prefix.row = block.prefix_row(r);
    prefix.steps = line.critical;
    prefix.coefficient = block.member_weights(r, PrefixKind::scaled).data();
    prefix.weight = line.scaled.data();
    prefix.projection = projection(line, r).data();
    prefix.norm = line.norm.data();
    prefix.set_square = sums.critical_squares(r).data();
    prefix.total_square = static_cast<float>(total_square_[r]);
    prefix.spread = static_cast<float>(1.0 / static_cast<double>(line.n - 1));
    prefix.distance = distance_.data() + r * lanes;
    prefix.context = context_.data() + r * lanes;
    prefixes_.push_back(prefix);
  }
  sum_prefix_distances(block.space().gram->products(), prefixes_);
  for (Index r = 0; r < block.rows(); ++r) {
    const auto& line = block.line(r);
    const auto n = static_cast<double>(line.n);
    for (int k = 0; k < line.critical; ++k) {
      const auto first = distance_.begin() + r * lanes + k * kPrefixLanes;
      const auto second = context_.begin() + r * lanes + k * kPrefixLanes;
      double distance = 0, context = 0;
      for (Index lane = 0; lane < kPrefixLanes; ++lane) {
        distance += first[lane];
        context += second[lane];
      }
      context *= (n - (k + 1)) / n;
      sink.set(r, metrics.distance, k, distance);
      sink.set(r, metrics.context, k, context);
      sink.set(r, metrics.excess, k, distance - context);
    }
  }
}

}  // namespace headgauge
