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

// Rounding of outputs, relative to their length: sums of a few hundred products of float32.
constexpr double kRounding = 4e-6;

// How often each of `size` tokens is drawn, and which are.
class Draw {
 public:
  void draw(const RandomStream& random, Index count, Index size) {
    times_.assign(static_cast<std::size_t>(size), 0);
    std::array<std::uint32_t, 4> words{};
    for (Index i = 0; i < count; ++i) {
      if (i % 4 == 0) words = random.block(static_cast<std::uint32_t>(i / 4));
      const auto word = std::uint64_t{words[static_cast<std::size_t>(i % 4)]};
      ++times_[static_cast<std::size_t>((word * static_cast<std::uint64_t>(size)) >> 32)];
    }
    drawn_.clear();
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (times_[i] > 0) drawn_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  // Ascending, each once.
  std::span<const std::uint32_t> drawn() const { return drawn_; }
  Index size() const { return static_cast<Index>(drawn_.size()); }
  std::uint32_t times(std::uint32_t token) const { return times_[token]; }

 private:
  std::vector<std::uint32_t> times_;
  std::vector<std::uint32_t> drawn_;
};

struct Workspace {
  Draw keys, queries;
  std::vector<float> tile, values, output, centred, weighted, covariance;
  std::vector<float> logits, weights;
  PackedMatrix packed;
};

// Memory that grows to the largest matrix it has held.
MatrixView<float> sized(std::vector<float>& memory, Index rows, Index cols) {
  const auto size = static_cast<std::size_t>(rows * cols);
  if (memory.size() < size) memory.resize(size);
  return {memory.data(), rows, cols};
}

class Replicates {
 public:
  Replicates(const HeadInput& head, const Normalizer& rule, const FullAttention& full,
             const SubsampleOptions& options)
      : head_(head), rule_(rule), full_(full), options_(options), d_(head.values.cols()) {}

  // The absolute errors of the mean and of the covariance.
  std::array<double, 2> errors(std::size_t point, Index replicate, Workspace& work) const {
    draw(point, replicate, work);
    const Index queries = work.queries.size();
    const auto output = sized(work.output, queries, d_ + 1);
    attend(work, output);
    const auto n = static_cast<double>(options_.tokens[point]);
    // Outputs less the mean over all tokens, so that float32 does not cancel; transposed, they are
    // the left side of the covariance.
    const auto centred = sized(work.centred, d_, queries);
    const auto weighted = sized(work.weighted, queries, d_);
    std::vector<double> shift(static_cast<std::size_t>(d_), 0.0);
    for (Index r = 0; r < queries; ++r) {
      const std::uint32_t query = work.queries.drawn()[static_cast<std::size_t>(r)];
      const double times = work.queries.times(query);
      const double mass = full_.traits.pointwise ? output(r, d_) : 1.0;
      for (Index c = 0; c < d_; ++c) {
        // A rule may leave none of the keys drawn any weight.
        const double of = mass != 0 ? output(r, c) / mass : 0.0;
        const double y = of - full_.mean[static_cast<std::size_t>(c)];
        centred(c, r) = static_cast<float>(y);
        weighted(r, c) = static_cast<float>(times * y);
        shift[static_cast<std::size_t>(c)] += times * y / n;
      }
    }
    double mean_error = 0;
    for (const double s : shift) mean_error += s * s;
    const auto products = sized(work.covariance, d_, d_);
    work.packed.assign_rows(weighted);
    gemm(centred, work.packed, products);
    double covariance_error = 0;
    for (Index a = 0; a < d_; ++a) {
      for (Index b = 0; b < d_; ++b) {
        const double own = products(a, b) / n -
                           shift[static_cast<std::size_t>(a)] * shift[static_cast<std::size_t>(b)];
        const double difference = own - full_.covariance(a, b);
        covariance_error += difference * difference;
      }
    }
    return {std::sqrt(mean_error), std::sqrt(covariance_error)};
  }

 private:
  void draw(std::size_t point, Index replicate, Workspace& work) const {
    const Index count = options_.tokens[point];
    const auto stream = [&](std::uint32_t of_queries) {
      return RandomStream(options_.seed, RandomDomain::subsample,
                          static_cast<std::uint32_t>(2 * point + of_queries),
                          static_cast<std::uint32_t>(replicate + (Index{head_.document} << 20)));
    };
    work.keys.draw(stream(0), count, full_.population.keys.size());
    if (full_.population.alike) {
      work.queries = work.keys;
    } else {
      work.queries.draw(stream(1), count, full_.population.queries.size());
    }
  }

  // Of each query drawn, the sum of its weights times the values of the keys drawn, and the sum of
  // its weights in the last column.
  void attend(Workspace& work, MatrixView<float> output) const {
    const auto keys = work.keys.drawn();
    const auto queries = work.queries.drawn();
    const auto tile = sized(work.tile, output.rows(), work.keys.size());
    const auto values = sized(work.values, work.keys.size(), d_ + 1);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto from = full_.values.row(keys[i]);
      // A key drawn c times has c times its weight; under a rule that is not pointwise that is in
      // the tile already.
      const float times =
          full_.traits.pointwise ? static_cast<float>(work.keys.times(keys[i])) : 1.0f;
      std::ranges::transform(from, values.row(static_cast<Index>(i)).begin(),
                             [times](float v) { return times * v; });
    }
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto row = tile.row(static_cast<Index>(i));
      if (full_.traits.pointwise) {
        gather(full_.attention.row(queries[i]), keys, row);
      } else {
        weigh(full_.attention.row(queries[i]), queries[i], work, row);
      }
    }
    work.packed.assign_rows(values);
    gemm(tile, work.packed, output);
    if (!full_.traits.pointwise) return;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto row = output.row(static_cast<Index>(i));
      // The keys drawn are so far below the largest of all that nothing, or not enough, is left of
      // their weights: they are weighed by themselves.
      if (row[static_cast<std::size_t>(d_)] < std::numeric_limits<float>::min() * 1e8f) {
        weigh_alone(queries[i], work, row);
      }
    }
  }

  // Weights of the keys drawn, those drawn several times added up, under any rule.
  void weigh(std::span<const float> logits, std::uint32_t query, Workspace& work,
             std::span<float> out) const {
    work.logits.clear();
    for (const std::uint32_t key : work.keys.drawn()) {
      work.logits.insert(work.logits.end(), work.keys.times(key), logits[key]);
    }
    work.weights.resize(work.logits.size());
    rule_.weigh(work.logits,
                {static_cast<Index>(work.logits.size()), full_.population.queries.begin + query},
                work.weights);
    std::size_t at = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = 0;
      const std::uint32_t times = work.keys.times(work.keys.drawn()[i]);
      for (std::uint32_t t = 0; t < times; ++t) out[i] += work.weights[at++];
    }
  }

  void weigh_alone(std::uint32_t query, Workspace& work, std::span<float> out) const {
    const Index row = full_.population.queries.begin + query;
    const KeyRange keys = full_.population.keys;
    Matrix<float> logits(1, keys.size());
    Logits(head_, rule_, keys).rows(row, 1, logits);
    std::vector<float> weights(static_cast<std::size_t>(work.keys.size()));
    weigh(logits.row(0), query, work, weights);
    std::ranges::fill(out, 0.0f);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto value = full_.values.row(work.keys.drawn()[i]);
      for (std::size_t c = 0; c < out.size(); ++c) out[c] += weights[i] * value[c];
    }
  }

  const HeadInput& head_;
  const Normalizer& rule_;
  const FullAttention& full_;
  const SubsampleOptions& options_;
  Index d_;
};

SubsampleError summary(std::span<const double> errors) {
  SubsampleError out;
  const auto n = static_cast<double>(errors.size());
  double sum = 0, squares = 0;
  for (const double e : errors) sum += e;
  out.mean = sum / n;
  for (const double e : errors) squares += (e - out.mean) * (e - out.mean);
  // As numpy's std, which the public code of the paper takes.
  out.deviation = std::sqrt(squares / n);
  return out;
}

}  // namespace

SubsampleErrors subsample_errors(const HeadInput& head, const Normalizer& rule,
                                 const FullAttention& full, const SubsampleOptions& options,
                                 ThreadPool& pool) {
  const Replicates replicates(head, rule, full, options);
  std::vector<Workspace> work(static_cast<std::size_t>(pool.threads()));
  const Index count = options.replicates;
  const auto points = static_cast<Index>(options.tokens.size());
  std::vector<double> mean(static_cast<std::size_t>(points * count)), covariance(mean.size());
  // The largest n first: the last to finish are small.
  pool.for_each_slot(points * count, [&](Index i, int slot) {
    const Index at = points * count - 1 - i;
    const auto errors = replicates.errors(static_cast<std::size_t>(at / count), at % count,
                                          work[static_cast<std::size_t>(slot)]);
    mean[static_cast<std::size_t>(at)] = errors[0];
    covariance[static_cast<std::size_t>(at)] = errors[1];
  });
  SubsampleErrors out;
  out.mean_unit = std::sqrt(full.trace);
  out.covariance_unit = full.frobenius;
  out.mean_floor = kRounding * full.scale;
  out.covariance_floor = kRounding * full.scale * full.scale;
  for (Index p = 0; p < points; ++p) {
    const auto of = [&](const std::vector<double>& errors) {
      return summary(std::span(errors).subspan(static_cast<std::size_t>(p * count),
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
