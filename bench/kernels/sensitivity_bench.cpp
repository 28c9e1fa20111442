// The sensitivity group: gains at 31 temperatures and 3 step sizes, random directions, and the
// spectral norm of the Jacobian. s_gpt2_small is the time on one thread for what GPT-2 small needs
// at 1024 positions: 144 heads of 1024 causal rows.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/normalize.hpp"
#include "kernels/ridge.hpp"
#include "kernels/sensitivity.hpp"
#include "kernels/sensitivity_direction.hpp"
#include "kernels/softmax.hpp"

namespace headgauge {
namespace {

constexpr Index kLength = 1024;
constexpr double kHeads = 144;

// Row t of a causal head has t + 1 keys. `spread` is the standard deviation of the logits.
Matrix<float> causal_logits(double spread) {
  Matrix<float> logits(kLength, kLength);
  std::mt19937 generator(1);
  std::normal_distribution<double> normal(0.0, spread);
  for (Index i = 0; i < kLength; ++i) {
    for (float& l : logits.row(i)) l = static_cast<float>(normal(generator));
  }
  return logits;
}

std::span<const float> causal_row(const Matrix<float>& logits, Index i) {
  return logits.row(i).first(static_cast<std::size_t>(i + 1));
}

void report(benchmark::State& state, double units) {
  const double heads = static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<std::int64_t>(heads * units * kLength * (kLength + 1) / 2));
  state.counters["s_gpt2_small"] =
      benchmark::Counter(heads / kHeads, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// All gains of a head; items are scores times gains.
void sensitivity(benchmark::State& state) {
  const Matrix<float> logits = causal_logits(static_cast<double>(state.range(0)) * 0.1);
  std::vector<double> temperatures, epsilons = {1e-3, 0.1, 10.0};
  for (int i = 0; i < 31; ++i) temperatures.push_back(std::pow(10.0, -2 + 0.1 * i));
  std::vector<double> v(kLength), gains(temperatures.size() * epsilons.size());
  random_direction(0, 0, 0, v);
  const double norm = std::sqrt(static_cast<double>(kLength));
  SensitivityWorkspace work;
  for (auto _ : state) {
    for (Index i = 1; i < kLength; ++i) {
      const auto row = causal_row(logits, i);
      std::vector<double> direction(v.begin(), v.begin() + i + 1);
      for (double& x : direction) x *= norm / std::sqrt(static_cast<double>(i + 1));
      softmax_sensitivity(row, direction, temperatures, epsilons, work, gains);
      benchmark::DoNotOptimize(gains.data());
    }
  }
  report(state, static_cast<double>(gains.size()));
  state.counters["recomputed"] =
      static_cast<double>(work.recomputed) /
      (static_cast<double>(state.iterations() * kLength) * static_cast<double>(gains.size()));
}
BENCHMARK(sensitivity)
    ->ArgName("spread_tenths")
    ->Arg(1)
    ->Arg(10)
    ->Arg(40)
    ->Unit(benchmark::kMillisecond);

void directions(benchmark::State& state) {
  std::vector<double> v(kLength);
  for (auto _ : state) {
    for (Index i = 1; i < kLength; ++i) {
      random_direction(0, 1, static_cast<std::uint32_t>(i),
                       std::span(v).first(static_cast<std::size_t>(i + 1)));
      benchmark::DoNotOptimize(v.data());
    }
  }
  report(state, 1);
}
BENCHMARK(directions)->Unit(benchmark::kMillisecond);

void ridge_norm(benchmark::State& state) {
  Matrix<float> weights = causal_logits(static_cast<double>(state.range(0)) * 0.1);
  for (Index i = 0; i < kLength; ++i) {
    const auto row = weights.row(i).first(static_cast<std::size_t>(i + 1));
    softmax_row(row, row);
  }
  for (auto _ : state) {
    for (Index i = 0; i < kLength; ++i) {
      benchmark::DoNotOptimize(ridge_root(causal_row(weights, i)));
    }
  }
  report(state, 1);
}
BENCHMARK(ridge_norm)
    ->ArgName("spread_tenths")
    ->Arg(1)
    ->Arg(10)
    ->Arg(40)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headgauge
