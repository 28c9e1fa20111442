#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "headgauge/base.hpp"
#include "kernels/gemm.hpp"
#include "kernels/peak.hpp"

namespace headgauge {
namespace {

Matrix<float> random_matrix(Index rows, Index cols) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  Matrix<float> out(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) out(i, j) = uniform(generator);
  }
  return out;
}

double peak() {
  static const double value = fma_peak();
  return value;
}

// m x k times k x n; of_peak is the share of the FMA peak.
void product(benchmark::State& state) {
  const Index m = state.range(0), k = state.range(1), n = state.range(2);
  const Matrix<float> a = random_matrix(m, k);
  const PackedMatrix b = PackedMatrix::pack_rows(random_matrix(k, n));
  Matrix<float> c(m, n);
  for (auto _ : state) {
    gemm(a, b, c);
    benchmark::DoNotOptimize(c.data());
    benchmark::ClobberMemory();
  }
  const double flops = 2.0 * static_cast<double>(m * k * n);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["of_peak"] =
      benchmark::Counter(flops / peak(), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(product)
    ->ArgNames({"m", "k", "n"})
    ->Args({64, 64, 64})
    ->Args({64, 64, 1024})
    ->Args({64, 64, 4096})
    ->Args({64, 128, 1024})
    ->Args({64, 768, 768})
    ->Args({64, 768, 3072})
    ->Args({64, 3072, 768})
    ->Args({512, 768, 3072})
    ->Args({64, 1024, 1024})
    ->Args({64, 1024, 64})
    ->Args({64, 768, 50257})
    ->Args({1, 768, 3072});

// The score tiles of one causal head of 1024 positions, only the visible half computed.
void causal_scores(benchmark::State& state) {
  const Index length = 1024, d = state.range(0);
  const Matrix<float> queries = random_matrix(length, d), keys = random_matrix(length, d);
  PackedMatrix packed;
  Matrix<float> tile(64, length);
  for (auto _ : state) {
    packed.assign_transposed(keys);
    for (Index row = 0; row < length; row += 64) {
      gemm(queries.view().block(row, 64, 0, d), packed, tile, {.col_end = row + 64});
      benchmark::DoNotOptimize(tile.data());
      benchmark::ClobberMemory();
    }
  }
  const double flops = 2.0 * static_cast<double>(d * 64) * (64.0 + 1024.0) * 16.0 / 2.0;
  state.counters["of_peak"] =
      benchmark::Counter(flops / peak(), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(causal_scores)->ArgName("d")->Arg(64)->Arg(128);

// Elements a second.
void pack_rows(benchmark::State& state) {
  const Matrix<float> b = random_matrix(state.range(0), state.range(1));
  PackedMatrix packed;
  for (auto _ : state) {
    packed.assign_rows(b);
    benchmark::DoNotOptimize(packed.panel(0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}
BENCHMARK(pack_rows)->Args({1024, 64})->Args({768, 3072});

void pack_transposed(benchmark::State& state) {
  const Matrix<float> bt = random_matrix(state.range(0), state.range(1));
  PackedMatrix packed;
  for (auto _ : state) {
    packed.assign_transposed(bt);
    benchmark::DoNotOptimize(packed.panel(0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}
BENCHMARK(pack_transposed)->Args({1024, 64})->Args({50257, 768});

void pack_half(benchmark::State& state) {
  const Matrix<std::uint16_t> b(state.range(0), state.range(1));
  PackedMatrix packed;
  for (auto _ : state) {
    packed.assign_rows(b, HalfType::f16);
    benchmark::DoNotOptimize(packed.panel(0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}
BENCHMARK(pack_half)->Args({768, 3072});

}  // namespace
}  // namespace headgauge
