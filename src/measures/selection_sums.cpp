#include "measures/selection_sums.hpp"

#include <algorithm>
#include <limits>

#include "measures/grow.hpp"

namespace headgauge {
namespace {

constexpr float kInfiniteSquare = std::numeric_limits<float>::infinity();

}  // namespace

void SelectionSums::sum(const SelectionBlock& block) {
  prefixes_.clear();
  gather(block, prefixes_);
  if (gram().has_products()) sum_top_prefixes(gram().products(), prefixes_);
  finish();
}

void SelectionSums::gather(const SelectionBlock& block, std::vector<PrefixSums>& prefixes) {
  block_ = &block;
  sizes_ = block.plan().count();
  reserve();
  const SelectionRequest& plan = block.plan();
  if (!gram().has_products()) {
    if (plan.distance) project(PrefixKind::scaled, 0, block.rows(), stored_.data());
    if (plan.separability) project_separations();
    return;
  }
  // If separability is measured on the unscaled vectors, one sum serves both.
  const bool one = !plan.distance || (plan.separability && !plan.unit_sphere);
  for (Index r = 0; r < block.rows(); ++r) {
    if (block.line(r).member.empty()) continue;
    PrefixSums prefix = prefix_of(r);
    prefix.first = sum_of(r, one ? PrefixKind::unit : PrefixKind::scaled);
    if (!one && plan.separability) prefix.second = sum_of(r, PrefixKind::unit);
    prefixes.push_back(prefix);
  }
}

void SelectionSums::finish() {
  if (gram().has_products() && block_->plan().critical > 0) square_critical();
}

void SelectionSums::reserve() {
  const SelectionRequest& plan = block_->plan();
  const Index rows = block_->rows(), depth = block_->depth();
  if (plan.separability) {
    grow(output_.lowest, rows * sizes_ * kPrefixLanes);
    grow(output_.inside, rows * sizes_ * depth);
    std::fill_n(output_.lowest.begin(), rows * sizes_ * kPrefixLanes, kInfiniteSquare);
  }
  if (plan.distance) grow(stored_, rows * sizes_ * block_->stride());
  if (plan.critical > 0) {
    grow(before_, rows * depth);
    grow(critical_square_, rows * depth);
  }
}

PrefixSums SelectionSums::prefix_of(Index row) const {
  PrefixSums prefix;
  prefix.row = block_->prefix_row(row);
  prefix.captures = block_->sizes_of(row);
  return prefix;
}

// Describes the sum of a kind and its outputs.
PrefixSum SelectionSums::sum_of(Index row, PrefixKind kind) {
  const SelectionRequest& plan = block_->plan();
  const Index depth = block_->depth(), stride = block_->stride();
  PrefixSum sum;
  sum.coefficient = block_->member_weights(row, kind).data();
  if (block_->resolve(kind) == PrefixKind::scaled && plan.distance) {
    sum.stored = stored_.data() + row * sizes_ * stride + block_->line(row).first_column();
    sum.stored_stride = stride;
    if (plan.critical > 0) sum.before = before_.data() + row * depth;
  }
  if (kind != PrefixKind::scaled && plan.separability) {
    sum.weight = block_->column_weights(row, kind);
    sum.lowest = output_.lowest.data() + row * sizes_ * kPrefixLanes;
    sum.inside = output_.inside.data() + row * sizes_ * depth;
    sum.inside_stride = depth;
  }
  return sum;
}

// Computes s_N itself, then its products with all unit vectors. Columns before a row's first panel
// and after its last are also computed but not read.
void SelectionSums::project(PrefixKind kind, Index first, Index count, float* to) {
  const Gram& vectors = gram();
  const Index dimension = vectors.dimension(), stride = block_->stride();
  set_vectors_.assign(count * sizes_ * dimension, 0.0f);
  for (Index r = 0; r < count; ++r) {
    const SelectionBlock::Line& line = block_->line(first + r);
    const std::span<const float> weights = block_->member_weights(first + r, kind);
    float* sum = set_vectors_.data() + r * sizes_ * dimension;
    int k = 0;
    for (const int size : block_->sizes_of(first + r)) {
      if (k > 0) std::copy_n(sum - dimension, dimension, sum);
      for (; k < size; ++k) {
        const float* unit = vectors.unit(line.member_row[k]).data();
        for (Index d = 0; d < dimension; ++d) sum[d] += weights[k] * unit[d];
      }
      sum += dimension;
    }
  }
  gemm({set_vectors_.data(), count * sizes_, dimension}, vectors.unit_columns(),
       {to, count * sizes_, stride, stride}, {.col_end = std::min(stride, vectors.columns())});
}

void SelectionSums::project_separations() {
  constexpr Index kRows = 8;  // rows projected together
  const Index stride = block_->stride();
  grow(again_, kRows * sizes_ * stride);
  for (Index first = 0; first < block_->rows(); first += kRows) {
    const Index count = std::min(kRows, block_->rows() - first);
    project(PrefixKind::unit, first, count, again_.data());
    prefixes_.clear();
    for (Index r = 0; r < count; ++r) {
      PrefixSums prefix = prefix_of(first + r);
      prefix.first = sum_of(first + r, PrefixKind::unit);
      prefix.first.stored =
          again_.data() + r * sizes_ * stride + block_->line(first + r).first_column();
      prefix.first.stored_stride = stride;
      prefixes_.push_back(prefix);
    }
    capture_prefixes(prefixes_);
  }
}

// |s_N|^2 = |s_{N-1}|^2 + w_N (w_N + 2 <s_{N-1}, u_N>), |u_N| = 1.
void SelectionSums::square_critical() {
  for (Index r = 0; r < block_->rows(); ++r) {
    const std::span<const float> weight = block_->member_weights(r, PrefixKind::scaled);
    const Index first = r * block_->depth();
    double square = 0;
    for (int k = 0; k < block_->line(r).critical; ++k) {
      const double w = weight[k];
      square += w * (w + 2.0 * before_[first + k]);
      critical_square_[first + k] = static_cast<float>(std::max(square, 0.0));
    }
  }
}

MatrixView<const float> SelectionSums::products(Index row) const {
  const SelectionBlock::Line& line = block_->line(row);
  const float* from = stored_.data() + row * sizes_ * block_->stride() + line.first_column();
  return {from, line.sizes, line.columns(), block_->stride()};
}

double SelectionSums::set_square(Index row, int size) const {
  const SelectionBlock::Line& line = block_->line(row);
  const float* products_of = products(row).row(size).data();
  const float* weight = block_->member_weights(row, PrefixKind::scaled).data();
  const auto first = static_cast<std::uint32_t>(line.first_column());
  const std::uint32_t* member = line.member.data();
  const int count = block_->sizes_of(row)[size];
  // Four sums, so that no addition waits for the one before.
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

std::span<const float> SelectionSums::critical_squares(Index row) const {
  return std::span(critical_square_).subspan(row * block_->depth(), block_->line(row).critical);
}

SelectionSums::Separations SelectionSums::separations(Index row) const {
  const Index depth = block_->depth();
  const int sizes = block_->line(row).sizes;
  return {{output_.lowest.data() + row * sizes_ * kPrefixLanes, sizes, kPrefixLanes},
          {output_.inside.data() + row * sizes_ * depth, sizes, depth}};
}

MatrixView<const float> SelectionSums::sums_again(Index row) {
  const SelectionBlock::Line& line = block_->line(row);
  const Index stride = block_->stride();
  grow(again_, sizes_ * stride);
  if (!gram().has_products()) {
    project(PrefixKind::unit, row, 1, again_.data());
    return {again_.data() + line.first_column(), line.sizes, line.columns(), stride};
  }
  PrefixSums prefix = prefix_of(row);
  prefix.first.coefficient = block_->member_weights(row, PrefixKind::unit).data();
  prefix.first.stored = again_.data();
  prefix.first.stored_stride = line.columns();
  sum_top_prefixes(gram().products(), {&prefix, 1});
  return {again_.data(), line.sizes, line.columns()};
}

}  // namespace headgauge
