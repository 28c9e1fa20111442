#include "model/next_token.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heads/scores.hpp"
#include "kernels/gemm.hpp"
#include "kernels/softmax.hpp"
#include "model/layers.hpp"

namespace headgauge {
namespace {

constexpr Index kChunk = 2016;  // tokens: 42 panels of 48
constexpr double kNothing = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return low == kNothing ? high : high + std::log1p(std::exp(low - high));
}

// Sums over the chunks of the vocabulary so far.
struct RowSums {
  double partition = kNothing;  // log sum exp of the model's own logits
  double target = 0;            // logit of the token that follows
  double difference = 0;        // mean over the reference's distribution of l_reference - l
};

// The logits of some rows against a chunk.
struct ChunkBuffers {
  Matrix<float> reference, probability, logits;
};

// difference += the chunk's share, `before` and `chunk` being log sum exp of the reference without
// the chunk and of the chunk alone.
void add_difference(std::span<const float> probability, std::span<const float> reference,
                    std::span<float> logits, double before, double chunk, RowSums& sums) {
  for (std::size_t j = 0; j < logits.size(); ++j) logits[j] = reference[j] - logits[j];
  const double mean = dot(probability, logits);
  const double all = log_add(before, chunk);
  sums.difference = sums.difference * std::exp(before - all) + mean * std::exp(chunk - all);
}

}  // namespace

std::vector<NextTokens> compare_next_tokens(MatrixView<const float> reference,
                                            std::span<const MatrixView<const float>> hidden,
                                            const TensorView& weight, std::span<const int> targets,
                                            float cap, ThreadPool& pool) {
  const Index vocabulary = weight.shape[0], width = weight.shape[1];
  const bool compares = !reference.empty();
  const auto with_target = std::ssize(targets);
  const Index rows = compares ? reference.rows() : with_target;
  std::vector<std::vector<RowSums>> sums(hidden.size(),
                                         std::vector<RowSums>(static_cast<std::size_t>(rows)));
  std::vector<double> partition(static_cast<std::size_t>(rows), kNothing);  // of the reference

  Matrix<float> chunk(std::min(kChunk, vocabulary), width);
  std::vector<ChunkBuffers> buffers(static_cast<std::size_t>(pool.threads()));
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
      ChunkBuffers& buffer = buffers[slot];
      if (buffer.logits.empty()) {
        buffer.logits = Matrix<float>(kForwardRows, chunk.rows());
        if (compares) buffer.reference = buffer.probability = buffer.logits;
      }
      const MatrixView<float> logits = buffer.logits.view().block(0, count, 0, size);
      const MatrixView<float> original = buffer.reference.view().block(0, count, 0, size);
      const MatrixView<float> probability = buffer.probability.view().block(0, count, 0, size);
      double share[kForwardRows];  // log sum exp of the reference over the chunk
      if (compares) {
        gemm(reference.block(row, count, 0, width), packed, original);
        for (Index r = 0; r < count; ++r) {
          soft_cap(original.row(r), cap);
          share[r] = softmax_row(original.row(r), probability.row(r)).log_sum_exp;
        }
      }
      for (std::size_t h = 0; h < hidden.size(); ++h) {
        gemm(hidden[h].block(row, count, 0, width), packed, logits);
        for (Index r = 0; r < count; ++r) {
          const auto at = static_cast<std::size_t>(row + r);
          soft_cap(logits.row(r), cap);
          RowSums& sum = sums[h][at];
          sum.partition = log_add(sum.partition, softmax_row(logits.row(r), {}).log_sum_exp);
          const Index local = row + r < with_target ? targets[at] - first : -1;
          if (local >= 0 && local < size) sum.target = logits(r, local);
          if (compares) {
            add_difference(probability.row(r), original.row(r), logits.row(r), partition[at],
                           share[r], sum);
          }
        }
      }
      for (Index r = 0; compares && r < count; ++r) {
        double& all = partition[row + r];
        all = log_add(all, share[r]);
      }
    });
  }

  std::vector<NextTokens> found(hidden.size());
  for (std::size_t h = 0; h < hidden.size(); ++h) {
    for (std::size_t r = 0; r < targets.size(); ++r) {
      found[h].losses.push_back(sums[h][r].partition - sums[h][r].target);
    }
    for (std::size_t r = 0; compares && r < partition.size(); ++r) {
      // E[l - l'] - Z + Z', which is never negative but for rounding.
      const double divergence = sums[h][r].difference - partition[r] + sums[h][r].partition;
      found[h].divergence.push_back(std::max(0.0, divergence));
    }
  }
  return found;
}

}  // namespace headgauge
