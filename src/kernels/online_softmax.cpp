#include "kernels/online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headgauge {

void OnlineSoftmax::begin(MatrixView<float> out) {
  const auto rows = static_cast<std::size_t>(out.rows());
  largest_.assign(rows, -std::numeric_limits<float>::infinity());
  weight_.assign(rows, 0.0f);
  for (Index r = 0; r < out.rows(); ++r) std::ranges::fill(out.row(r), 0.0f);
}

void OnlineSoftmax::weigh(Index first, MatrixView<float> scores, MatrixView<const float> columns,
                          MatrixView<float> out) {
  const Index rows = scores.rows(), rest = columns.rows();
  if (sums_.rows() < rows) sums_ = Matrix<float>(rows, kMostStreamColumns + 1);
  const auto largest =
      std::span(largest_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
  before_.assign(largest.begin(), largest.end());
  stream_exp(scores, largest, columns, sums_);
  for (Index r = 0; r < rows; ++r) {
    const auto at = static_cast<std::size_t>(r);
    float& weight = weight_[static_cast<std::size_t>(first + r)];
    const std::span<float> row = out.row(r);
    if (largest[at] > before_[at]) {
      const float shrink = std::exp(before_[at] - largest[at]);
      for (float& value : row) value *= shrink;
      weight *= shrink;
    }
    weight += sums_(r, 0);
    for (Index k = 0; k < rest; ++k)
      row[row.size() - static_cast<std::size_t>(rest - k)] += sums_(r, k + 1);
  }
}

void OnlineSoftmax::finish(MatrixView<float> out) const {
  for (Index r = 0; r < out.rows(); ++r) {
    for (float& value : out.row(r)) value /= weight_[static_cast<std::size_t>(r)];
  }
}

}  // namespace headgauge
