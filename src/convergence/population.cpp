#include "convergence/population.hpp"

#include <algorithm>
#include <cmath>

#include "heads/masked_row.hpp"
#include "heads/scores.hpp"

namespace headgauge {
namespace {

constexpr Index kPopulationTile = 32;

// Computes mean and covariance of the rows in float64.
void add_moments(FullAttention& full) {
  const Matrix<double>& output = full.output;
  const auto n = static_cast<double>(output.rows());
  const Index d = output.cols();
  full.mean.assign(static_cast<std::size_t>(d), 0.0);
  double squares = 0;
  for (Index r = 0; r < output.rows(); ++r) {
    for (Index c = 0; c < d; ++c) {
      full.mean[c] += output(r, c) / n;
      squares += output(r, c) * output(r, c) / n;
    }
  }
  full.scale = std::sqrt(squares);
  full.covariance = Matrix<double>(d, d);
  std::vector<double> centred(static_cast<std::size_t>(d));
  for (Index r = 0; r < output.rows(); ++r) {
    for (Index c = 0; c < d; ++c) {
      centred[c] = output(r, c) - full.mean[c];
    }
    for (Index a = 0; a < d; ++a) {
      const double factor = centred[a] / n;
      const auto row = full.covariance.row(a);
      for (std::size_t b = 0; b < row.size(); ++b) row[b] += factor * centred[b];
    }
  }
  double norm = 0;
  for (Index a = 0; a < d; ++a) {
    full.trace += full.covariance(a, a);
    for (const double x : full.covariance.row(a)) norm += x * x;
  }
  full.frobenius = std::sqrt(norm);
}

}  // namespace

Population population_of(const HeadInput& head, Index length) {
  if (!head.visibility.is_causal()) return {{0, length}, {0, length}, true};
  Index begin = 0;
  if (head.visibility.kind() == Visibility::Kind::sliding_window) {
    begin = std::max<Index>(0, length - head.visibility.window());
  }
  const Index keys = begin + (length - begin) * 3 / 4;
  return {{keys, length}, {begin, keys}, false};
}

Logits::Logits(const HeadInput& head, const Normalizer& normalizer, KeyRange keys)
    : head_(head), keys_(keys), unit_(normalizer.traits().unit_norms) {
  if (!head.scores.empty()) return;
  const auto block = head.keys.block(keys.begin, keys.size(), 0, head.keys.cols());
  pack_keys(block, head.scale, unit_, packed_);
}

void Logits::rows(Index first, Index count, MatrixView<float> out) const {
  if (head_.scores.empty()) {
    const auto queries = head_.queries.block(first, count, 0, head_.queries.cols());
    gemm(queries, packed_, out);
    for (Index r = 0; unit_ && r < count; ++r) divide_by_length(queries.row(r), out.row(r));
  } else {
    const auto scores = head_.scores.block(first, count, keys_.begin, keys_.size());
    for (Index r = 0; r < count; ++r) std::ranges::copy(scores.row(r), out.row(r).begin());
  }
  for (Index r = 0; r < count; ++r) finish_logits(head_, first + r, keys_.begin, out.row(r));
}

FullAttention full_attention(const HeadInput& head, const Normalizer& normalizer, Index length,
                             ThreadPool& pool) {
  FullAttention full;
  full.population = population_of(head, length);
  full.traits = normalizer.traits();
  const KeyRange queries = full.population.queries, keys = full.population.keys;
  const Index d = head.values.cols();
  full.attention = Matrix<float>(queries.size(), keys.size());
  full.values = Matrix<float>(keys.size(), d + 1);
  for (Index j = 0; j < keys.size(); ++j) {
    std::ranges::copy(head.values.row(keys.begin + j), full.values.row(j).begin());
    full.values(j, d) = 1.0f;
  }
  const Logits logits(head, normalizer, keys);
  Matrix<float> weights;  // used if `attention` holds the logits
  if (!full.traits.pointwise) weights = Matrix<float>(queries.size(), keys.size());
  Matrix<float> output(queries.size(), d + 1);
  const PackedMatrix values = PackedMatrix::pack_rows(full.values);
  const Index tiles = (queries.size() + kPopulationTile - 1) / kPopulationTile;
  pool.for_each(tiles, [&](Index tile) {
    const Index first = tile * kPopulationTile;
    const Index count = std::min(kPopulationTile, queries.size() - first);
    const auto rows = full.attention.view().block(first, count, 0, keys.size());
    logits.rows(queries.begin + first, count, rows);
    const auto weighed =
        weights.empty() ? rows : weights.view().block(first, count, 0, keys.size());
    std::vector<WeighedRow> each;
    for (Index r = 0; r < count; ++r) {
      const Index query = queries.begin + first + r;
      require_finite(head, query, keys, rows.row(r));
      each.push_back({rows.row(r), {keys.size(), query}, weighed.row(r)});
    }
    normalizer.weigh_rows(each);
    gemm(weighed, values, output.view().block(first, count, 0, d + 1));
  });
  full.output = Matrix<double>(queries.size(), d);
  for (Index r = 0; r < queries.size(); ++r) {
    // float32 weights sum to 1 only within about 1e-7. Dividing by their sum matches what a
    // subsample does.
    const double mass = full.traits.pointwise ? output(r, d) : 1.0;
    for (Index c = 0; c < d; ++c) full.output(r, c) = mass != 0 ? output(r, c) / mass : 0.0;
  }
  add_moments(full);
  return full;
}

}  // namespace headgauge
