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
  double target = 0;            // logit of the next token
  double largest = kNothing;    // logit of the most likely token
  int likeliest = 0;            // that token
  double difference = 0;        // mean over the reference's distribution of l_reference - l
};

// Logits of some rows for a chunk.
struct ChunkBuffers {
  Matrix<float> reference, probability, logits;
};

// Adds a chunk's share to the difference. `before` and `chunk` are the log sum exp of the reference
// without the chunk and of the chunk alone.
void add_difference(std::span<const float> probability, std::span<const float> reference,
                    std::span<float> logits, double before, double chunk, RowSums& sums) {
  for (std::size_t j = 0; j < logits.size(); ++j) logits[j] = reference[j] - logits[j];
  const double mean = dot(probability, logits);
  const double all = log_add(before, chunk);
  sums.difference = sums.difference * std::exp(before - all) + mean * std::exp(chunk - all);
}

// Computes the next-token sums of several variants and the reference, one chunk of the vocabulary
// at a time.
class NextTokenSums {
 public:
  NextTokenSums(MatrixView<const float> reference, std::span<const MatrixView<const float>> hidden,
                std::span<const int> targets, float cap, Index longest_chunk, int slots)
      : reference_(reference),
        hidden_(hidden),
        targets_(targets),
        cap_(cap),
        rows_(compares() ? reference.rows() : std::ssize(targets)),
        sums_(hidden.size(), std::vector<RowSums>(rows_)),
        partition_(rows_, kNothing),
        longest_chunk_(longest_chunk),
        buffers_(slots) {}

  Index rows() const { return rows_; }

  // Returns the log sum exp of a row's logits.
  double partition(Index row) const { return sums_.front()[row].partition; }

  // Adds packed vectors of the tokens from `first` on to rows [row, row + count).
  void add(const PackedMatrix& packed, Index first, Index row, Index count, int slot) {
    ChunkBuffers& buffer = buffers_[slot];
    if (buffer.logits.empty()) {
      buffer.logits = Matrix<float>(kForwardRows, longest_chunk_);
      if (compares()) buffer.reference = buffer.probability = buffer.logits;
    }
    const Index size = packed.cols();
    const auto part = [&](Matrix<float>& all) { return all.view().block(0, count, 0, size); };
    const MatrixView<float> logits = part(buffer.logits), original = part(buffer.reference);
    const MatrixView<float> probability = part(buffer.probability);
    double share[kForwardRows];  // log sum exp of the reference over the chunk
    if (compares()) {
      multiply(reference_, packed, row, original);
      for (Index r = 0; r < count; ++r) {
        share[r] = softmax_row(original.row(r), probability.row(r)).log_sum_exp;
      }
    }
    for (std::size_t h = 0; h < hidden_.size(); ++h) {
      multiply(hidden_[h], packed, row, logits);
      for (Index r = 0; r < count; ++r) {
        const Index at = row + r;
        RowSums& sum = sums_[h][at];
        const WeightSums chunk = softmax_row(logits.row(r), {});
        sum.partition = log_add(sum.partition, chunk.log_sum_exp);
        if (chunk.max_logit > sum.largest) {
          sum.largest = chunk.max_logit;
          const auto row_of = logits.row(r);
          const auto at_most = std::ranges::max_element(row_of) - row_of.begin();
          sum.likeliest = static_cast<int>(first + at_most);
        }
        const Index local = at < std::ssize(targets_) ? targets_[at] - first : -1;
        if (local >= 0 && local < size) sum.target = logits(r, local);
        if (!compares()) continue;
        add_difference(probability.row(r), original.row(r), logits.row(r), partition_[at], share[r],
                       sum);
      }
    }
    for (Index r = 0; compares() && r < count; ++r) {
      partition_[row + r] = log_add(partition_[row + r], share[r]);
    }
  }

  std::vector<NextTokens> found() const {
    std::vector<NextTokens> found(hidden_.size());
    for (std::size_t h = 0; h < hidden_.size(); ++h) {
      for (std::size_t r = 0; r < targets_.size(); ++r) {
        const RowSums& sum = sums_[h][r];
        found[h].losses.push_back(sum.partition - sum.target);
        found[h].right.push_back(sum.target >= sum.largest ? 1 : 0);
        found[h].likeliest.push_back(sum.likeliest);
      }
      for (std::size_t r = 0; compares() && r < partition_.size(); ++r) {
        // E[l - l'] - Z + Z', which is only negative by rounding.
        const double divergence = sums_[h][r].difference - partition_[r] + sums_[h][r].partition;
        found[h].divergence.push_back(std::max(divergence, 0.0));  // NaN stays
      }
    }
    return found;
  }

 private:
  bool compares() const { return !reference_.empty(); }
  // Computes the logits of some rows of a stream.
  void multiply(MatrixView<const float> stream, const PackedMatrix& packed, Index row,
                MatrixView<float> logits) const {
    gemm(stream.block(row, logits.rows(), 0, stream.cols()), packed, logits);
    for (Index r = 0; r < logits.rows(); ++r) soft_cap(logits.row(r), cap_);
  }

  MatrixView<const float> reference_;
  std::span<const MatrixView<const float>> hidden_;
  std::span<const int> targets_;
  float cap_;
  Index rows_;
  std::vector<std::vector<RowSums>> sums_;  // by variant and row
  std::vector<double> partition_;           // log sum exp of the reference, by row
  Index longest_chunk_;
  std::vector<ChunkBuffers> buffers_;  // by slot
};

}  // namespace

NextTokens changed_output(MatrixView<const float> reference, MatrixView<const float> hidden) {
  NextTokens next;
  for (Index t = 0; t < reference.rows(); ++t) {
    double distance = 0, length = 0;
    for (Index i = 0; i < reference.cols(); ++i) {
      const double from = reference(t, i), to = hidden(t, i);
      distance += (to - from) * (to - from);
      length += from * from;
    }
    next.output_change.push_back(length > 0 ? std::sqrt(distance / length) : 0);
  }
  return next;
}

namespace {

// Calls body(first, packed, vectors) for chunks of the vocabulary: the output vectors of the tokens
// from `first` on, packed and as they are.
template <class Body>
void for_chunks(const TensorView& weight, ThreadPool& pool, const Body& body) {
  const Index vocabulary = weight.shape[0], width = weight.shape[1];
  Matrix<float> chunk(std::min(kChunk, vocabulary), width);
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
    body(first, packed, std::as_const(chunk).view().block(0, size, 0, width));
    weight.release();
  }
}

NextTokenSums sums_of(MatrixView<const float> reference,
                      std::span<const MatrixView<const float>> hidden, const TensorView& weight,
                      std::span<const int> targets, float cap, ThreadPool& pool) {
  NextTokenSums sums(reference, hidden, targets, cap, std::min(kChunk, weight.shape[0]),
                     pool.threads());
  for_chunks(weight, pool, [&](Index first, const PackedMatrix& packed, MatrixView<const float>) {
    for_row_blocks(pool, sums.rows(), [&](Index row, Index count, int slot) {
      sums.add(packed, first, row, count, slot);
    });
  });
  return sums;
}

}  // namespace

std::vector<NextTokens> compare_next_tokens(MatrixView<const float> reference,
                                            std::span<const MatrixView<const float>> hidden,
                                            const TensorView& weight, std::span<const int> targets,
                                            float cap, ThreadPool& pool) {
  return sums_of(reference, hidden, weight, targets, cap, pool).found();
}

NextTokens reverse_next_tokens(MatrixView<const float> hidden, const TensorView& weight,
                               std::span<const int> targets, float cap, const LossWeights& weigh,
                               MatrixView<float> by_hidden, ThreadPool& pool) {
  const NextTokenSums sums = sums_of({}, {&hidden, 1}, weight, targets, cap, pool);
  NextTokens next = std::move(sums.found().front());
  const std::vector<double> weights = weigh(next);
  const Index width = hidden.cols();
  for (Index r = 0; r < by_hidden.rows(); ++r) std::ranges::fill(by_hidden.row(r), 0.0f);
  if (!std::ranges::any_of(weights, std::identity())) return next;
  BlockScratch scratch;
  PackedMatrix rows_of_chunk;
  const auto reverse_chunk = [&](Index first, const PackedMatrix& packed,
                                 MatrixView<const float> chunk) {
    const Index size = chunk.rows();
    rows_of_chunk.resize(size, width);
    for_row_blocks(pool, size, [&](Index row, Index count, int) {
      rows_of_chunk.put_rows(chunk.block(row, count, 0, width), row);
    });
    const auto reverse_block = [&](Index row, Index rows, MatrixView<float> block) {
      const auto logits = block.block(0, rows, 0, size);
      gemm(hidden.block(row, rows, 0, width), packed, logits);
      for (Index r = 0; r < rows; ++r) {
        const auto place = static_cast<std::size_t>(row + r);
        const auto factor = static_cast<float>(weights[place]);
        const auto by_logits = logits.row(r),
                   slopes = block.row(r).last(static_cast<std::size_t>(size));
        soft_cap(by_logits, cap);
        for (std::size_t j = 0; cap > 0 && j < slopes.size(); ++j) {
          slopes[j] = 1.0f - (by_logits[j] / cap) * (by_logits[j] / cap);
        }
        exp_shifted(by_logits, static_cast<float>(sums.partition(row + r)), by_logits);
        const Index local = targets[place] - first;
        if (local >= 0 && local < size) by_logits[static_cast<std::size_t>(local)] -= 1;
        for (std::size_t j = 0; j < by_logits.size(); ++j) {
          by_logits[j] *= cap > 0 ? factor * slopes[j] : factor;
        }
      }
      gemm(logits, rows_of_chunk, by_hidden.block(row, rows, 0, width), {.accumulate = true});
    };
    scratch.for_blocks(pool, sums.rows(), 2 * size, reverse_block);
  };
  for_chunks(weight, pool, reverse_chunk);
  return next;
}

}  // namespace headgauge
