#include "convergence/subsample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "kernels/gemm.hpp"
#include "kernels/prefix_sums.hpp"

namespace headgauge {
namespace {

// Rounding error of outputs relative to their norm: sums of a few hundred products in float32.
constexpr double kRounding = 4e-6;

// Queries whose outputs are centred together.
constexpr Index kBlock = 16;

// The tokens that were drawn, and how often each.
class Draw {
 public:
  void draw(const RandomStream& random, Index count, Index size) {
    times_.assign(static_cast<std::size_t>(size), 0);
    std::array<std::uint32_t, 4> words{};
    for (Index i = 0; i < count; ++i) {
      if (i % 4 == 0) words = random.block(static_cast<std::uint32_t>(i / 4));
      const auto word = std::uint64_t{words[i % 4]};
      ++times_[(word * static_cast<std::uint64_t>(size)) >> 32];
    }
    drawn_.resize(times_.size());
    factors_.assign(times_.begin(), times_.end());
    drawn_count_ = 0;
    // Avoids a branch, which would be unpredictable.
    for (std::size_t i = 0; i < times_.size(); ++i) {
      drawn_[drawn_count_] = static_cast<std::uint32_t>(i);
      drawn_count_ += times_[i] > 0 ? 1 : 0;
    }
  }
  // Returns the drawn tokens without repetition, ascending.
  std::span<const std::uint32_t> drawn() const { return std::span(drawn_).first(drawn_count_); }
  // Returns times() of every token.
  std::span<const float> factors() const { return factors_; }
  Index size() const { return static_cast<Index>(drawn_count_); }
  std::uint32_t times(std::uint32_t token) const { return times_[token]; }

 private:
  std::vector<std::uint32_t> times_;
  std::vector<std::uint32_t> drawn_;
  std::vector<float> factors_;
  std::size_t drawn_count_ = 0;
};

struct SubsampleWorkspace {
  Draw keys, queries;
  std::vector<float> tile, values, output, masses, block, sums, centred, weighted, covariance;
  std::vector<float> logits, weights;
  std::vector<double> shift;
  PackedMatrix packed;
};

// Returns a matrix in memory that grows to the largest one it has held.
MatrixView<float> sized(std::vector<float>& memory, Index rows, Index cols) {
  const auto size = static_cast<std::size_t>(rows * cols);
  // gather() writes beyond the end of a row.
  if (memory.size() < size + kVectorColumns) memory.resize(size + kVectorColumns);
  return {memory.data(), rows, cols};
}

class Replicates {
 public:
  Replicates(const HeadInput& head, const Normalizer& normalizer, const FullAttention& full,
             const SubsampleOptions& options)
      : head_(head),
        normalizer_(normalizer),
        full_(full),
        options_(options),
        d_(head.values.cols()),
        centre_(full.mean.begin(), full.mean.end()) {}

  // Returns the absolute errors of the mean and of the covariance.
  std::array<double, 2> errors(std::size_t point, Index replicate, SubsampleWorkspace& work) const {
    draw(point, replicate, work);
    const Draw& queries = full_.population.alike ? work.keys : work.queries;
    const auto output = sized(work.output, queries.size(), d_);
    attend(queries, work, output);
    // Rounded up to whole blocks of columns; the columns after the last query are not read.
    const Index columns = (queries.size() + kBlock - 1) / kBlock * kBlock;
    const auto blocks = sized(work.centred, d_, columns);
    const auto centred = blocks.block(0, d_, 0, queries.size());
    centre(queries, output, work, blocks);
    const double n = options_.tokens[point];
    double mean_error = 0;
    for (std::size_t c = 0; c < work.shift.size(); ++c) {
      work.shift[c] /= n;
      // centre_ is the mean over all tokens in float32 precision.
      const double moved = work.shift[c] + (double{centre_[c]} - full_.mean[c]);
      mean_error += moved * moved;
    }
    return {std::sqrt(mean_error), covariance_error(centred, n, work)};
  }

 private:
  void draw(std::size_t point, Index replicate, SubsampleWorkspace& work) const {
    const Index count = options_.tokens[point];
    const auto stream = [&](std::uint32_t of_queries) {
      return RandomStream(options_.seed, RandomDomain::subsample,
                          static_cast<std::uint32_t>(2 * point + of_queries),
                          static_cast<std::uint32_t>(replicate + (Index{head_.document} << 20)));
    };
    work.keys.draw(stream(0), count, full_.population.keys.size());
    if (!full_.population.alike) {
      work.queries.draw(stream(1), count, full_.population.queries.size());
    }
  }

  // Computes for each drawn query the weighted sum of the drawn keys' values, and in work.masses
  // the divisor.
  void attend(const Draw& asking, SubsampleWorkspace& work, MatrixView<float> output) const {
    const auto keys = work.keys.drawn();
    const auto queries = asking.drawn();
    const auto tile = sized(work.tile, output.rows(), work.keys.size());
    const auto values = sized(work.values, work.keys.size(), d_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto from = full_.values.row(keys[i]).first(static_cast<std::size_t>(d_));
      // A key drawn c times has c times its weight. If the normalizer is not pointwise, the tile
      // already includes the factor.
      const float times = full_.traits.pointwise ? work.keys.factors()[keys[i]] : 1.0f;
      std::ranges::transform(from, values.row(static_cast<Index>(i)).begin(),
                             [times](float v) { return times * v; });
    }
    work.masses.assign(queries.size(), 1.0f);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto row = tile.row(static_cast<Index>(i));
      if (full_.traits.pointwise) {
        work.masses[i] = gather(full_.attention.row(queries[i]), keys, work.keys.factors(), row);
      } else {
        weigh(full_.attention.row(queries[i]), queries[i], work, row);
      }
    }
    work.packed.assign_rows(values);
    gemm(tile, work.packed, output);
    if (!full_.traits.pointwise) return;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      // The drawn keys have logits so far below the maximum over all keys that their weights
      // underflow: weigh them without the other keys.
      if (work.masses[i] < std::numeric_limits<float>::min() * 1e8f) {
        work.masses[i] = weigh_alone(queries[i], work, output.row(static_cast<Index>(i)));
      }
    }
  }

  // Subtracts the mean over all tokens from the outputs, to avoid cancellation in float32. Writes
  // the centred outputs to the columns of `centred`. Writes them, multiplied by the number of draws
  // of each, to work.weighted, and the sums of these to work.shift.
  void centre(const Draw& queries, MatrixView<const float> output, SubsampleWorkspace& work,
              MatrixView<float> centred) const {
    const auto d = static_cast<std::size_t>(d_);
    const auto weighted = sized(work.weighted, queries.size(), d_);
    const auto block = sized(work.block, kBlock, d_);
    work.shift.assign(d, 0.0);
    for (Index first = 0; first < queries.size(); first += kBlock) {
      const Index count = std::min(kBlock, queries.size() - first);
      work.sums.assign(d, 0.0f);
      float* const sums = work.sums.data();
      for (Index r = 0; r < count; ++r) {
        const auto query = static_cast<std::size_t>(first + r);
        // The normalizer may give every drawn key a weight of 0.
        const float mass = work.masses[query], times = queries.factors()[queries.drawn()[query]];
        const float share = mass != 0 ? 1 / mass : 0.0f;
        const float* const from = output.row(first + r).data();
        float* const y = block.row(r).data();
        float* const to = weighted.row(first + r).data();
        for (std::size_t c = 0; c < d; ++c) {
          y[c] = share * from[c] - centre_[c];
          to[c] = times * y[c];
          sums[c] += to[c];
        }
      }
      for (std::size_t c = 0; c < d; ++c) work.shift[c] += sums[c];
      for (Index c = 0; c < d_; ++c) {
        float* const to = centred.row(c).data() + first;
        for (Index r = 0; r < kBlock; ++r) to[r] = block(r, c);
      }
    }
    work.packed.assign_rows(weighted);
  }

  // Returns ||Chat - C||_F from the lower triangles of both.
  double covariance_error(MatrixView<const float> centred, double n,
                          SubsampleWorkspace& work) const {
    const auto products = sized(work.covariance, d_, d_);
    double sum = 0;
    for (Index first = 0; first < d_; first += kBlock) {
      const Index last = std::min(first + kBlock, d_);
      gemm(centred.block(first, last - first, 0, centred.cols()), work.packed,
           products.block(first, last - first, 0, d_), {.col_end = last});
      for (Index a = first; a < last; ++a) {
        const float* const found = products.row(a).data();
        const double* const whole = full_.covariance.row(a).data();
        const double shift = work.shift[a];
        double off = 0, difference = 0;
        for (Index b = 0; b <= a; ++b) {
          difference = found[b] / n - shift * work.shift[b] - whole[b];
          off += difference * difference;
        }
        sum += 2 * off - difference * difference;  // the last entry is on the diagonal
      }
    }
    return std::sqrt(sum);
  }

  // Computes the weights of the drawn keys under any normalizer, and adds up those of a key drawn
  // several times.
  void weigh(std::span<const float> logits, std::uint32_t query, SubsampleWorkspace& work,
             std::span<float> out) const {
    work.logits.clear();
    for (const std::uint32_t key : work.keys.drawn()) {
      work.logits.insert(work.logits.end(), work.keys.times(key), logits[key]);
    }
    work.weights.resize(work.logits.size());
    normalizer_.weigh(work.logits,
                      {std::ssize(work.logits), full_.population.queries.begin + query},
                      work.weights);
    std::size_t at = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = 0;
      const std::uint32_t times = work.keys.times(work.keys.drawn()[i]);
      for (std::uint32_t t = 0; t < times; ++t) out[i] += work.weights[at++];
    }
  }

  // Returns the sum of the weights.
  float weigh_alone(std::uint32_t query, SubsampleWorkspace& work, std::span<float> out) const {
    const Index row = full_.population.queries.begin + query;
    const KeyRange keys = full_.population.keys;
    Matrix<float> logits(1, keys.size());
    Logits(head_, normalizer_, keys).rows(row, 1, logits);
    std::vector<float> weights(static_cast<std::size_t>(work.keys.size()));
    weigh(logits.row(0), query, work, weights);
    std::ranges::fill(out, 0.0f);
    float mass = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto value = full_.values.row(work.keys.drawn()[i]);
      for (std::size_t c = 0; c < out.size(); ++c) out[c] += weights[i] * value[c];
      mass += weights[i];
    }
    return mass;
  }

  const HeadInput& head_;
  const Normalizer& normalizer_;
  const FullAttention& full_;
  const SubsampleOptions& options_;
  Index d_;
  std::vector<float> centre_;  // mean over all tokens
};

}  // namespace

SubsampleErrors subsample_errors(const HeadInput& head, const Normalizer& normalizer,
                                 const FullAttention& full, const SubsampleOptions& options,
                                 ThreadPool& pool) {
  const Replicates replicates(head, normalizer, full, options);
  std::vector<SubsampleWorkspace> work(static_cast<std::size_t>(pool.threads()));
  const Index count = options.replicates;
  const auto points = std::ssize(options.tokens);
  std::vector<double> mean(static_cast<std::size_t>(points * count)), covariance(mean.size());
  // Starts with the largest n, so that the last tasks to finish are small.
  pool.for_each_slot(points * count, [&](Index i, int slot) {
    if (options.stop.stop_requested()) return;
    const Index at = points * count - 1 - i;
    const auto errors =
        replicates.errors(static_cast<std::size_t>(at / count), at % count, work[slot]);
    mean[at] = errors[0];
    covariance[at] = errors[1];
  });
  SubsampleErrors out;
  out.mean_unit = std::sqrt(full.trace);
  out.covariance_unit = full.frobenius;
  out.mean_floor = kRounding * full.scale;
  out.covariance_floor = kRounding * full.scale * full.scale;
  for (Index p = 0; p < points; ++p) {
    const auto of = [&](const std::vector<double>& errors) {
      return spread_of(std::span(errors).subspan(static_cast<std::size_t>(p * count),
                                                 static_cast<std::size_t>(count)));
    };
    out.mean.push_back(of(mean));
    out.covariance.push_back(of(covariance));
  }
  return out;
}

std::size_t subsample_bytes(Index length, Index head_dim, int threads) {
  const Index attention = 2 * length * length;
  const Index scratch = length * length + 6 * length * (head_dim + PackedMatrix::kPanel);
  return sizeof(float) * static_cast<std::size_t>(attention + threads * scratch);
}

}  // namespace headgauge
