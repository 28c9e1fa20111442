// Weights and sums of one row under each normalizer, on one thread: eight rows of normal logits in
// turn, so that no branch learns a row by heart.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "headgauge/normalize.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kRows = 8;

void weigh(benchmark::State& state, const std::string& spec) {
  const auto normalizer = make_normalizer(spec);
  const auto n = static_cast<std::size_t>(state.range(0));
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0.0f, static_cast<float>(state.range(1)));
  std::vector<std::vector<float>> rows(kRows, std::vector<float>(n));
  for (auto& row : rows) {
    for (float& l : row) l = normal(generator);
  }
  std::vector<float> weights(n);
  const RowContext context = {state.range(0), state.range(0) - 1};
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        normalizer->weigh(std::span<const float>(rows[next]), context, weights));
    next = (next + 1) % kRows;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

const bool kRegistered = [] {
  for (const char* spec :
       {"softmax", "logn", "ssmax", "sigmoid", "softpick", "sparsemax", "entmax",
        "entmax:alpha=1.25", "entmax:alpha=1.7", "entmax:alpha=3", "asentmax", "sasoftmax",
        "softmax1", "topk", "topk:k=64", "softcap", "adaptive-temperature"}) {
    benchmark::RegisterBenchmark((std::string("normalizer/") + spec).c_str(),
                                 [spec](benchmark::State& state) { weigh(state, spec); })
        ->ArgNames({"length", "spread"})
        ->ArgsProduct({{1024, 4096, 16384}, {2, 8}});
  }
  return true;
}();

}  // namespace
}  // namespace headgauge
