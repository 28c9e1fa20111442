#include "convergence/experiment.hpp"

#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <optional>

namespace headgauge {
namespace {

constexpr Index kChunk = 960;  // queries of a shared draw that a thread processes at a time

// Packs A^T, so that the product with rows x gives rows A x.
PackedMatrix packed_map(const Eigen::MatrixXd& map, double factor) {
  const Index d = map.rows();
  Matrix<float> rows(d, d);
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < d; ++j) rows(i, j) = static_cast<float>(factor * map(i, j));
  }
  return PackedMatrix::pack_transposed(rows);
}

// Memory that a thread reuses for each replicate.
struct ExperimentWorkspace {
  TokenAttention attention;
  TokenAttention::Scratch scratch;
  Matrix<float> tokens, queries, outputs;
};

Moments shared_moments(const Simulated& experiment, const PackedMatrix& map,
                       MatrixView<const float> tokens, ThreadPool& pool,
                       const std::stop_token& stop) {
  const Index d = tokens.cols(), chunks = (tokens.rows() + kChunk - 1) / kChunk;
  TokenAttention attention(experiment.normalizer);
  attention.set_tokens(tokens);
  std::vector<TokenAttention::Scratch> scratch(static_cast<std::size_t>(pool.threads()));
  std::vector<MomentSums> sums(static_cast<std::size_t>(chunks), MomentSums(d));
  pool.for_each_slot(chunks, [&](Index chunk, int slot) {
    const Index first = chunk * kChunk, count = std::min(kChunk, tokens.rows() - first);
    Matrix<float> queries(count, d), outputs(count, d);
    gemm(tokens.block(first, count, 0, d), map, queries);
    if (!attention.attend(queries, outputs, scratch[slot], stop)) return;
    sums[chunk].add(outputs);
  });
  for (std::size_t chunk = 1; chunk < sums.size(); ++chunk) sums[0].merge(sums[chunk]);
  return sums[0].moments().through(experiment.values);
}

}  // namespace

bool run_cell(const Simulated& experiment, double factor, const Reference& reference, Index tokens,
              std::uint32_t key, int replicates, ThreadPool& pool, const std::stop_token& stop,
              const std::function<void()>& done, CellErrors& errors) {
  const Index d = experiment.law.dimension;
  const PackedMatrix map = packed_map(experiment.map, factor);
  std::vector<std::optional<ExperimentWorkspace>> workspaces(
      static_cast<std::size_t>(pool.threads()));
  errors.mean.assign(static_cast<std::size_t>(replicates), kUndefined);
  errors.covariance = errors.mean;
  std::mutex reporting;
  pool.for_each_slot(replicates, [&](Index replicate, int slot) {
    if (stop.stop_requested()) return;
    std::optional<ExperimentWorkspace>& kept = workspaces[slot];
    if (!kept) {
      kept.emplace(ExperimentWorkspace{TokenAttention(experiment.normalizer),
                                       {},
                                       Matrix<float>(tokens, d),
                                       Matrix<float>(tokens, d),
                                       Matrix<float>(tokens, d)});
    }
    draw_tokens(experiment.law,
                {experiment.seed, RandomDomain::synthetic_tokens, key,
                 static_cast<std::uint32_t>(replicate)},
                0, kept->tokens);
    gemm(kept->tokens, map, kept->queries);
    kept->attention.set_tokens(kept->tokens);
    if (!kept->attention.attend(kept->queries, kept->outputs, kept->scratch, stop)) return;
    MomentSums sums(d);
    sums.add(kept->outputs);
    const Moments found = sums.moments().through(experiment.values);
    const auto at = static_cast<std::size_t>(replicate);
    errors.mean[at] = (found.mean - reference.moments.mean).norm();
    errors.covariance[at] =
        covariance_norm(found.covariance - reference.moments.covariance, experiment.norm);
    const std::lock_guard lock(reporting);
    done();
  });
  return !stop.stop_requested();
}

Reference sampled_reference(const Simulated& experiment, double factor, Index tokens,
                            std::uint32_t key, ThreadPool& pool, const std::stop_token& stop) {
  const Index d = experiment.law.dimension, half = tokens / 2;
  const PackedMatrix map = packed_map(experiment.map, factor);
  Matrix<float> drawn(tokens, d);
  const RandomStream stream(experiment.seed, RandomDomain::synthetic_reference, 1 + key, 0);
  pool.for_each((tokens + kChunk - 1) / kChunk, [&](Index chunk) {
    const Index first = chunk * kChunk, count = std::min(kChunk, tokens - first);
    draw_tokens(experiment.law, stream, first, drawn.view().block(first, count, 0, d));
  });
  Reference reference;
  reference.moments = shared_moments(experiment, map, drawn, pool, stop);
  const Moments one =
      shared_moments(experiment, map, drawn.view().block(0, half, 0, d), pool, stop);
  const Moments other =
      shared_moments(experiment, map, drawn.view().block(half, half, 0, d), pool, stop);
  // The difference of two independent halves is sqrt 2 times the error of one half.
  reference.mean_error = (one.mean - other.mean).norm() / std::sqrt(2.0);
  reference.covariance_error =
      covariance_norm(one.covariance - other.covariance, experiment.norm) / std::sqrt(2.0);
  reference.method = fmt::format("a sample of {} tokens", tokens);
  return reference;
}

std::size_t cell_bytes(Index dimension, const Normalizer* normalizer, Index tokens) {
  const std::size_t attention = normalizer != nullptr ? RowwiseAttention::bytes(tokens, dimension)
                                                      : StreamedAttention::bytes(tokens, dimension);
  return attention + 3 * sizeof(float) * static_cast<std::size_t>(tokens * dimension);
}

}  // namespace headgauge
