#include "model/next_token.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/gemm.hpp"
#include "kernels/softmax.hpp"
#include "model/layers.hpp"

namespace headgauge {
namespace {

constexpr Index kChunk = 2016;  // tokens: 42 panels of 48

double log_add(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return low == -std::numeric_limits<double>::infinity() ? high
                                                         : high + std::log1p(std::exp(low - high));
}

}  // namespace

std::vector<double> next_token_losses(MatrixView<const float> hidden, const TensorView& weight,
                                      std::span<const int> targets, ThreadPool& pool) {
  const auto rows = static_cast<Index>(targets.size());
  const Index vocabulary = weight.shape[0], width = weight.shape[1];
  std::vector<double> partition(targets.size(), -std::numeric_limits<double>::infinity());
  std::vector<double> target(targets.size());
  Matrix<float> chunk(std::min(kChunk, vocabulary), width);
  std::vector<Matrix<float>> logits(static_cast<std::size_t>(pool.threads()));
  PackedMatrix packed;
  for (Index first = 0; first < vocabulary; first += kChunk) {
    const Index size = std::min(kChunk, vocabulary - first);
    packed.resize(width, size);
    pool.for_each(packed.panels(), [&](Index panel) {
      const Index token = panel * PackedMatrix::kPanel;
      const Index count = std::min(PackedMatrix::kPanel, size - token);
      const MatrixView<float> wide = chunk.view().block(token, count, 0, width);
      weight.widen({wide.data(), static_cast<std::size_t>(count * width)}, (first + token) * width);
      packed.put_panel(wide, panel);
    });
    for_row_blocks(pool, rows, [&](Index row, Index count, int slot) {
      Matrix<float>& buffer = logits[static_cast<std::size_t>(slot)];
      if (buffer.empty()) buffer = Matrix<float>(kForwardRows, chunk.rows());
      const MatrixView<float> block = buffer.view().block(0, count, 0, size);
      gemm(hidden.block(row, count, 0, width), packed, block);
      for (Index r = 0; r < count; ++r) {
        const auto at = static_cast<std::size_t>(row + r);
        partition[at] = log_add(partition[at], softmax_row(block.row(r), {}).log_sum_exp);
        const Index local = targets[at] - first;
        if (local >= 0 && local < size) target[at] = block(r, local);
      }
    });
  }
  for (std::size_t r = 0; r < target.size(); ++r) partition[r] -= target[r];
  return partition;
}

}  // namespace headgauge
