#include "convergence/attention.hpp"

#include <algorithm>

#include "convergence/decompositions.hpp"

namespace headgauge {
namespace {

constexpr Index kTransposed = PackedMatrix::kPanel;  // rows transposed at a time
constexpr Index kSummedInSingle = 4 * kTransposed;

constexpr Index kQueryTile = 96;  // queries per tile
// Keys per block. A block, packed twice, and a tile of scores take half of a 1 MiB L2 cache at d =
// 50, and a row's maximum rarely grows from block to block.
constexpr Index kKeyBlock = 10 * PackedMatrix::kPanel;
constexpr Index kLanes = 16;     // floats in the widest vector
constexpr Index kTileRows = 16;  // queries per tile when rows are held whole

// Returns the columns computed by the matrix product; the others are at most kMostStreamColumns.
Index product_columns(Index d) {
  return d % kLanes <= kMostStreamColumns ? d / kLanes * kLanes : d;
}

Index padded(Index columns) {
  return (columns + PackedMatrix::kPanel - 1) / PackedMatrix::kPanel * PackedMatrix::kPanel;
}

}  // namespace

Moments Moments::through(const Eigen::MatrixXd& values) const {
  if (values.size() == 0) return *this;
  return {values * mean, values * covariance * values.transpose()};
}

MomentSums::MomentSums(Index d)
    : sum_(Eigen::VectorXd::Zero(d)), square_(Eigen::MatrixXd::Zero(d, d)), product_(d, d) {}

void MomentSums::add(MatrixView<const float> rows) {
  const Index d = rows.cols();
  for (Index first = 0; first < rows.rows(); first += kSummedInSingle) {
    const Index some = std::min(kSummedInSingle, rows.rows() - first);
    for (Index begin = first; begin < first + some; begin += kTransposed) {
      const Index count = std::min(kTransposed, first + some - begin);
      const auto part = rows.block(begin, count, 0, d);
      // A panel (d x 48, row-major) is the transpose in the layout that the product needs.
      transposed_.resize(d, kTransposed);
      transposed_.put_panel(part, 0);
      packed_.assign_rows(part);
      gemm({transposed_.panel(0), d, count, kTransposed}, packed_, product_,
           {.accumulate = begin > first});
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < d; ++j) sum_(j) += part(i, j);
      }
    }
    for (Index i = 0; i < d; ++i) {
      for (Index j = 0; j < d; ++j) square_(j, i) += product_(i, j);
    }
  }
  count_ += static_cast<double>(rows.rows());
}

void MomentSums::merge(const MomentSums& other) {
  count_ += other.count_;
  sum_ += other.sum_;
  square_ += other.square_;
}

Moments MomentSums::moments() const {
  const Eigen::VectorXd mean = sum_ / count_;
  const Eigen::MatrixXd covariance = square_ / count_ - mean * mean.transpose();
  return {mean, (covariance + covariance.transpose()) / 2};
}

double covariance_norm(const Eigen::MatrixXd& symmetric, CovarianceNorm norm) {
  if (norm == CovarianceNorm::frobenius) return symmetric.norm();
  if (!symmetric.allFinite()) return kUndefined;
  return eigenvalues(symmetric, Eigen::EigenvaluesOnly).eigenvalues().cwiseAbs().maxCoeff();
}

void StreamedAttention::set_tokens(MatrixView<const float> tokens) {
  const Index n = tokens.rows(), d = tokens.cols();
  product_columns_ = product_columns(d);
  const Index rest = d - product_columns_;
  blocks_.resize(static_cast<std::size_t>((n + kKeyBlock - 1) / kKeyBlock));
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    const Index first = static_cast<Index>(b) * kKeyBlock, count = std::min(kKeyBlock, n - first);
    block.keys.assign_transposed(tokens.block(first, count, 0, d));
    block.values.assign_rows(tokens.block(first, count, 0, product_columns_));
    if (block.rest.rows() != rest) block.rest = Matrix<float>(rest, kKeyBlock);
    for (Index j = 0; j < count; ++j) {
      for (Index k = 0; k < rest; ++k) block.rest(k, j) = tokens(first + j, product_columns_ + k);
    }
  }
}

bool StreamedAttention::attend(MatrixView<const float> queries, MatrixView<float> out,
                               Scratch& scratch, const std::stop_token& stop) const {
  const Index rows = queries.rows(), d = queries.cols();
  if (scratch.scores.empty()) scratch.scores = Matrix<float>(kQueryTile, kKeyBlock);
  scratch.softmax.begin(out);
  for (const Block& block : blocks_) {
    if (stop.stop_requested()) return false;
    for (Index first = 0; first < rows; first += kQueryTile) {
      const Index count = std::min(kQueryTile, rows - first);
      const auto scores = scratch.scores.view().block(0, count, 0, block.keys.cols());
      const auto sums = out.block(first, count, 0, d);
      gemm(queries.block(first, count, 0, d), block.keys, scores);
      scratch.softmax.weigh(first, scores, block.rest, sums);
      if (product_columns_ > 0) gemm(scores, block.values, sums, {.accumulate = true});
    }
  }
  scratch.softmax.finish(out);
  return true;
}

std::size_t StreamedAttention::bytes(Index n, Index d) {
  const Index product = product_columns(d);
  return sizeof(float) * static_cast<std::size_t>(padded(n) * d + n * padded(product) +
                                                  n * (d - product) + kQueryTile * kKeyBlock);
}

void RowwiseAttention::set_tokens(MatrixView<const float> tokens) {
  keys_.assign_transposed(tokens);
  values_.assign_rows(tokens);
}

bool RowwiseAttention::attend(MatrixView<const float> queries, MatrixView<float> out,
                              Matrix<float>& scores, const std::stop_token& stop) const {
  const Index n = keys_.cols();
  if (scores.rows() < kTileRows || scores.cols() != n) scores = Matrix<float>(kTileRows, n);
  const RowContext context{n, n - 1};
  for (Index first = 0; first < queries.rows(); first += kTileRows) {
    if (stop.stop_requested()) return false;
    const Index count = std::min(kTileRows, queries.rows() - first);
    const auto tile = scores.view().block(0, count, 0, n);
    gemm(queries.block(first, count, 0, queries.cols()), keys_, tile);
    std::vector<WeighedRow> rows;
    for (Index i = 0; i < count; ++i) rows.push_back({tile.row(i), context, tile.row(i)});
    normalizer_.weigh_rows(rows);
    gemm(tile, values_, out.block(first, count, 0, out.cols()));
  }
  return true;
}

std::size_t RowwiseAttention::bytes(Index n, Index d) {
  return sizeof(float) * static_cast<std::size_t>(padded(n) * d + n * padded(d) + kTileRows * n);
}

}  // namespace headgauge
