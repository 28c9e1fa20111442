#include "measures/distance_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/top_prefix_sums.hpp"
#include "measures/expected.hpp"

namespace headgauge {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

template <class Vector>
void grow(Vector& vector, Index size) {
  if (vector.size() < at(size)) vector.resize(at(size));
}

}  // namespace

void DistanceRows::measure(const RowBlock& rows, const SelectionBlock& block,
                           const SelectionSpace& space, const SelectionPlan& plan,
                           const CrossDistance& cross, const DistanceCells& cells,
                           SizedSink& sink) {
  project(rows, block, *space.gram);
  const bool is_signed = rows.normalizer->traits().is_signed;
  for (Index r = 0; r < block.rows(); ++r) {
    measure_sizes(r, is_signed, block, *space.gram, plan, cross, cells, sink);
  }
  if (!space.gram->has_products()) return;
  if (plan.critical > 0) measure_critical(block, *space.gram, plan.critical, cells, sink);
  if (plan.draws > 0) measure_sampled(rows, block, *space.gram, plan, cells, sink);
}

std::span<float> DistanceRows::projection(const SelectionBlock::Line& line, Index row) {
  return {projection_.data() + row * stride_ + line.first_panel * kPrefixColumns,
          line.scaled.size()};
}

// <x_j, Y> / |x_j| = sum over i of a_i |x_i| c_ij for all columns, and |Y|^2.
void DistanceRows::project(const RowBlock& rows, const SelectionBlock& block, const Gram& gram) {
  const auto count = block.rows();
  Index end = 0;
  for (const Row& row : rows.rows) end = std::max(end, row.keys.end);
  stride_ = (end + kPrefixColumns - 1) / kPrefixColumns * kPrefixColumns;
  const Index inner = gram.rows_before(end);
  gathered_.assign(at(count * inner), 0.0f);
  grow(projection_, count * stride_);
  for (Index r = 0; r < count; ++r) {
    const auto& line = block.line(r);
    const Index first = line.first_panel * kPrefixColumns;
    float* to = gathered_.data() + r * inner;
    const std::uint32_t* row_of = gram.row_of().data() + first;
    if (gram.all_distinct() && line.positions.empty()) {
      std::copy_n(line.scaled.data() + line.lead, line.n, to + first + line.lead);
      continue;
    }
    for (Index i = 0; i < line.n; ++i) {
      const Index column = line.column(i);
      to[row_of[column]] += line.scaled[at(column)];
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
  total_square_.assign(at(count), 0.0);
  for (Index r = 0; r < count; ++r) {
    const auto& line = block.line(r);
    const std::span<float> to = projection(line, r);
    const auto keys = to.subspan(at(line.lead), at(line.span));
    const auto scaled = line.scaled.subspan(at(line.lead), at(line.span));
    if (!line.positions.empty()) {
      // What is between the keys adds nothing to the product and is no key from then on.
      for (Index j = 0; j < line.span; ++j) {
        if (line.rank[at(line.lead + j)] == kNoKey) keys[at(j)] = 0.0f;
      }
    }
    total_square_[at(r)] = std::max(dot(scaled, keys), 0.0f);
    std::fill(to.begin(), to.begin() + line.lead, kInfinite);
    std::fill(to.begin() + line.lead + line.span, to.end(), kInfinite);
    if (line.positions.empty()) continue;
    for (Index j = 0; j < line.span; ++j) {
      if (line.rank[at(line.lead + j)] == kNoKey) keys[at(j)] = kInfinite;
    }
  }
}

void DistanceRows::measure_sizes(Index row, bool is_signed, const SelectionBlock& block,
                                 const Gram& gram, const SelectionPlan& plan,
                                 const CrossDistance& cross, const DistanceCells& cells,
                                 SizedSink& sink) {
  const auto& line = block.line(row);
  if (line.sizes == 0) return;
  const auto products = block.products(row);
  const ContextFacts context{line.n, total_square_[at(row)], line.scaled_square};
  const std::span<const float> projected = projection(line, row);
  DistanceFacts facts;
  facts.n = line.n;
  facts.is_signed = is_signed;
  const bool has_cross = gram.has_products();
  if (has_cross) cross.begin_row(line.member_row, line.first_panel, line.panels, scratch_);
  int member = 0;
  const auto attention = block.member_weights(row, PrefixKind::null);
  for (int s = 0; s < line.sizes; ++s) {
    const int size = plan.sizes[at(s)];
    for (; member < size; ++member) {
      facts.selected += attention[at(member)];
      facts.largest_norm =
          std::max(facts.largest_norm, gram.row_norms()[line.member_row[at(member)]]);
    }
    const double set_square = block.set_square(row, s);
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
    sink.set(row, cells.selected_mass, s, facts.selected);
    sink.set(row, cells.distance, s, distance);
    sink.set(row, cells.bound, s, distance_bound(facts));
    sink.set(row, cells.bound_paper, s, distance_bound_paper(facts));
    sink.set(row, cells.expected, s, expected.main);
    sink.set(row, cells.expected_upper, s, expected.upper);
    sink.set(row, cells.expected_context, s, expected.context);
    sink.set(row, cells.margin, s, distance / static_cast<double>(line.n - size));
  }
}

void DistanceRows::measure_sampled(const RowBlock& rows, const SelectionBlock& block,
                                   const Gram& gram, const SelectionPlan& plan,
                                   const DistanceCells& cells, SizedSink& sink) {
  const HeadInput& head = *rows.head;
  for (Index r = 0; r < block.rows(); ++r) {
    const auto& line = block.line(r);
    if (line.sizes == 0) continue;
    const RandomStream random(
        plan.seed, RandomDomain::monte_carlo_subset,
        static_cast<std::uint32_t>(head.layer * 65536 + head.head),
        static_cast<std::uint32_t>(rows.rows[at(r)].query + (Index{head.document} << 20)));
    const auto sizes = std::span(plan.sizes).first(at(line.sizes));
    const auto estimates = sampled_.draw(line, gram, sizes, plan.draws, random);
    for (int s = 0; s < line.sizes; ++s) {
      sink.set(r, cells.sampled, s, estimates[at(s)].mean);
      sink.set(r, cells.sampled_variance, s, estimates[at(s)].variance);
    }
  }
}

void DistanceRows::measure_critical(const SelectionBlock& block, const Gram& gram, int depth,
                                    const DistanceCells& cells, SizedSink& sink) {
  const Index lanes = depth * kPrefixLanes;
  distance_.assign(at(block.rows() * lanes), 0.0f);
  context_.assign(at(block.rows() * lanes), 0.0f);
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
    prefix.set_square = block.critical_squares(r).data();
    prefix.total_square = static_cast<float>(total_square_[at(r)]);
    prefix.spread = static_cast<float>(1.0 / static_cast<double>(line.n - 1));
    prefix.distance = distance_.data() + r * lanes;
    prefix.context = context_.data() + r * lanes;
    prefixes_.push_back(prefix);
  }
  sum_prefix_distances(gram.products(), prefixes_);
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
      sink.set_cell(r, cells.distance_at_n + k, distance);
      sink.set_cell(r, cells.context_excess_at_n + k, distance - (n - (k + 1)) / n * context);
    }
  }
}

}  // namespace headgauge
