#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "headgauge/base.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/softmax.hpp"
#include "kernels/top.hpp"

namespace headgauge {
namespace {

// Rows of logits of a causal head: row t has t + 1 of them. `spread` is their standard deviation.
struct Rows {
  explicit Rows(Index length, double spread) : values(length, length) {
    std::mt19937 generator(1);
    std::normal_distribution<double> normal(0.0, spread);
    for (Index i = 0; i < length; ++i) {
      for (Index j = 0; j < length; ++j) values(i, j) = static_cast<float>(normal(generator));
    }
  }
  std::span<const float> row(Index i) const {
    return values.row(i).first(static_cast<std::size_t>(i + 1));
  }
  Index length() const { return values.rows(); }
  Index elements() const { return length() * (length() + 1) / 2; }
  // Logits to weights.
  void normalize() {
    for (Index i = 0; i < length(); ++i) {
      const auto weights = values.row(i).first(static_cast<std::size_t>(i + 1));
      softmax_row(weights, weights);
    }
  }
  Matrix<float> values;
};

// Seconds for as many rows as GPT-2 small has at 1024 positions, where an iteration does 1024.
benchmark::Counter per_model() {
  using benchmark::Counter;
  return Counter(1024.0 / 147456.0, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void softmax(benchmark::State& state) {
  const Rows rows(state.range(0), 2.0);
  const bool store = state.range(1) != 0;
  std::vector<float> weights(static_cast<std::size_t>(rows.length()));
  for (auto _ : state) {
    for (Index i = 0; i < rows.length(); ++i) {
      const auto row = rows.row(i);
      const auto out = store ? std::span(weights).first(row.size()) : std::span<float>();
      benchmark::DoNotOptimize(softmax_row(row, out));
    }
  }
  state.SetItemsProcessed(state.iterations() * rows.elements());
}
BENCHMARK(softmax)->ArgNames({"length", "store"})->Args({1024, 0})->Args({1024, 1})->Args({64, 1});

// One row of 1024 again and again: no effect of row length or memory.
void softmax_in_cache(benchmark::State& state) {
  const Rows rows(1024, static_cast<double>(state.range(1)));
  const auto row = rows.row(1023);
  const bool store = state.range(0) != 0;
  std::vector<float> weights(1024);
  for (auto _ : state) {
    benchmark::DoNotOptimize(softmax_row(row, store ? std::span(weights) : std::span<float>()));
  }
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(softmax_in_cache)
    ->ArgNames({"store", "spread"})
    ->Args({0, 2})
    ->Args({1, 2})
    ->Args({1, 20})
    ->Args({1, 60});

// c tanh(l / c) of a row of scores: cap_row() or, for the ratio, std::tanh on each.
void soft_cap(benchmark::State& state) {
  const bool kernel = state.range(0) != 0;
  const Rows rows(state.range(1), 20.0);
  const auto row = rows.row(rows.length() - 1);
  std::vector<float> out(row.size());
  for (auto _ : state) {
    if (kernel) {
      cap_row(row, 50.0f, out);
    } else {
      std::ranges::transform(row, out.begin(), [](float l) { return 50 * std::tanh(l / 50); });
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows.length());
}
BENCHMARK(soft_cap)->ArgNames({"kernel", "length"})->ArgsProduct({{0, 1}, {64, 1024, 2016}});

void top(benchmark::State& state) {
  Rows rows(1024, static_cast<double>(state.range(1)) * 0.1);
  rows.normalize();
  TopWorkspace workspace;
  std::vector<std::uint32_t> index(1024);
  for (auto _ : state) {
    for (Index i = 0; i < rows.length(); ++i) {
      benchmark::DoNotOptimize(select_top(rows.row(i), state.range(0), index, workspace));
    }
  }
  state.SetItemsProcessed(state.iterations() * rows.elements());
  state.counters["s_147456"] = per_model();
}
BENCHMARK(top)
    ->ArgNames({"count", "spread10"})
    ->Args({1, 20})
    ->Args({20, 20})
    ->Args({100, 1})
    ->Args({100, 10})
    ->Args({100, 20})
    ->Args({100, 50})
    ->Args({128, 20})
    ->Args({300, 20});

// The obvious way, for comparison.
void top_by_nth_element(benchmark::State& state) {
  Rows rows(1024, 2.0);
  rows.normalize();
  const Index count = state.range(0);
  std::vector<std::uint32_t> index(1024);
  for (auto _ : state) {
    for (Index i = 0; i < rows.length(); ++i) {
      const auto row = rows.row(i);
      const auto end = index.begin() + static_cast<std::ptrdiff_t>(row.size());
      const auto last = index.begin() + std::min<Index>(count, i + 1);
      std::iota(index.begin(), end, 0u);
      const auto above = [&](std::uint32_t p, std::uint32_t q) {
        return row[p] != row[q] ? row[p] > row[q] : p < q;
      };
      if (last != end) std::nth_element(index.begin(), last, end, above);
      std::sort(index.begin(), last, above);
      benchmark::DoNotOptimize(index.data());
    }
  }
  state.counters["s_147456"] = per_model();
}
BENCHMARK(top_by_nth_element)->ArgName("count")->Arg(100);

void mass_90(benchmark::State& state) {
  Rows rows(1024, static_cast<double>(state.range(0)) * 0.1);
  rows.normalize();
  TopWorkspace workspace;
  for (auto _ : state) {
    for (Index i = 0; i < rows.length(); ++i) {
      benchmark::DoNotOptimize(mass_quantile(rows.row(i), 0.9, workspace));
    }
  }
  state.SetItemsProcessed(state.iterations() * rows.elements());
  state.counters["s_147456"] = per_model();
}
BENCHMARK(mass_90)->ArgName("spread10")->Arg(1)->Arg(10)->Arg(20)->Arg(50);

}  // namespace
}  // namespace headgauge
