// The engine on made heads (GPT-2 small: 144 of them, d = 64), against the roofline measured in the
// same run: 2 d flop a score at the FMA peak and one exp. Prints one JSON line a figure.
//
//   bench_engine [heads] [threads,...] [length,...]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "kernels/peak.hpp"
#include "kernels/simd.hpp"
#include "kernels/top.hpp"
#include "measures/selection_measure.hpp"
#include "scan/head_scanner.hpp"

namespace headgauge {
namespace {

constexpr Index kHeadDim = 64;
constexpr Index kWidth = 768;
constexpr Index kDistinct = 4;  // heads with data of their own; more would only cost memory

// mass, entropy, effective_tokens, participation_ratio, max_weight, jacobian_frobenius,
// logit_range: what follows from the sums of a row, without its weights. Then mass_90 or the top
// keys, if wanted.
class EntropySet final : public Measure {
 public:
  explicit EntropySet(int top, bool mass_90) : top_(top), mass_90_(mass_90) {}
  void declare(MetricRegistry& metrics) override {
    mass_ = metrics.add("mass");
    entropy_ = metrics.add("entropy_with_sinks");
    effective_tokens_ = metrics.add("effective_tokens_with_sinks");
    participation_ratio_ = metrics.add("participation_ratio_with_sinks");
    max_weight_ = metrics.add("max_weight_with_sinks");
    jacobian_frobenius_ = metrics.add("jacobian_frobenius");
    logit_range_ = metrics.add("logit_range");
    mass_90_metric_ = metrics.add("mass_90_with_sinks");
  }
  MeasureNeeds needs() const override { return {.weights = top_ > 0 || mass_90_, .top = top_}; }
  void observe(const RowBlock& block, int, RowSink& sink) override {
    for (Index r = 0; r < block.size(); ++r) {
      const WeightSums& sums = block.rows[r].sums;
      const double a = sums.max, q2 = sums.rest_square;
      sink.set(r, mass_, sums.mass);
      sink.set(r, entropy_, sums.entropy);
      sink.set(r, effective_tokens_, std::exp(sums.entropy));
      sink.set(r, participation_ratio_, 1 / sums.square);
      sink.set(r, max_weight_, a);
      sink.set(r, jacobian_frobenius_,
               std::sqrt(std::max(0.0, a * a * sums.rest_mass * sums.rest_mass +
                                           q2 * (1 + 2 * a * a + q2) - 2 * sums.rest_cube)));
      sink.set(r, logit_range_, sums.max_logit - sums.min_logit);
      if (!mass_90_) continue;
      const auto weights = block.rows[r].weights;
      sink.set(r, mass_90_metric_, static_cast<double>(mass_quantile(weights, 0.9, select_)));
    }
  }

 private:
  int top_;
  bool mass_90_;
  thread_local static inline TopWorkspace select_;
  MetricHandle mass_, entropy_, effective_tokens_, participation_ratio_, max_weight_,
      jacobian_frobenius_, logit_range_, mass_90_metric_;
};

struct Heads {
  Matrix<float> qkv;
  Matrix<float> x;
  std::vector<std::uint32_t> row_of;
  std::vector<HeadInput> heads;
};

// Random heads over a text whose tokens repeat as in prose (Zipf), embeddings of width 768.
Heads make_heads(Index length) {
  Heads made;
  std::srand(7);
  const auto uniform = [] {
    return static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX);
  };
  made.qkv = Matrix<float>(length, 2 * kHeadDim * kDistinct);
  for (Index i = 0; i < made.qkv.rows() * made.qkv.cols(); ++i) {
    made.qkv.data()[i] = 3.0f * (uniform() + uniform() - 1.0f);
  }
  std::vector<int> seen(50257, -1);
  Index distinct = 0;
  for (Index t = 0; t < length; ++t) {
    const auto token = static_cast<std::size_t>(std::exp(uniform() * std::log(50256.0f)));
    if (seen[token] < 0) seen[token] = static_cast<int>(distinct++);
    made.row_of.push_back(static_cast<std::uint32_t>(seen[token]));
  }
  made.x = Matrix<float>(distinct, kWidth);
  for (Index i = 0; i < distinct * kWidth; ++i) made.x.data()[i] = uniform() - 0.5f;
  const MatrixView<const float> qkv = std::as_const(made.qkv).view();
  for (int h = 0; h < kDistinct; ++h) {
    HeadInput head;
    head.head = head.kv_head = h;
    head.queries = qkv.block(0, length, 2 * h * kHeadDim, kHeadDim);
    head.keys = qkv.block(0, length, (2 * h + 1) * kHeadDim, kHeadDim);
    head.x = {made.x, made.row_of, 1};
    head.scale = 0.125f;
    made.heads.push_back(head);
  }
  return made;
}

double seconds_of(const Heads& made, Index count, int threads,
                  std::vector<std::unique_ptr<Measure>>& measures) {
  const Index length = made.heads.front().length();
  const int longest = static_cast<int>(length);
  const std::vector<int> lengths = {longest};
  const std::vector<Index> documents = {length};
  const MeasuredRows plan(lengths, documents, 0, 0);
  const CellLayout layout(measures);
  ThreadPool pool(threads);
  HeadScanner scanner(measures, layout, plan, pool);
  HeadSums sums(plan, layout);
  const auto start = std::chrono::steady_clock::now();
  for (Index i = 0; i < count; ++i) {
    const HeadInput& head = made.heads[static_cast<std::size_t>(i % kDistinct)];
    scanner.scan(head, head, sums);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<int> parse_list(const char* text) {
  std::vector<int> values;
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    values.push_back(static_cast<int>(std::strtol(at, &end, 10)));
    at = *end == ',' ? end + 1 : end;
  }
  return values;
}

void run(Index heads, int threads, Index length) {
  const Heads made = make_heads(length);
  SourceInfo source;
  source.layers = 1;
  source.heads = source.kv_heads = kDistinct;
  source.head_dim = kHeadDim;
  source.documents = {length};
  MeasureOptions options;
  options.lengths = {static_cast<int>(length)};
  const auto scores = static_cast<double>(heads) * 0.5 * static_cast<double>(length) *
                      static_cast<double>(length + 1);
  const double roof =
      scores * (2.0 * kHeadDim / fma_peak() + 1.0 / exp_rate()) / static_cast<double>(threads);
  struct Figure {
    const char* name;
    double best = 1e300;
  };
  Figure figures[] = {
      {"entropy set"}, {"with mass_90"}, {"with top 100"}, {"with distances at five N"}};
  for (int round = 0; round < 3; ++round) {  // in turns, so that drift hits all alike
    for (int f = 0; f < 4; ++f) {
      std::vector<std::unique_ptr<Measure>> measures;
      measures.push_back(std::make_unique<EntropySet>(f >= 2 ? 100 : 0, f == 1));
      if (f == 3) {
        options.critical_max = 0;
        measures.push_back(make_selection_measure(options, source, {true, true, false}, threads));
      }
      figures[f].best = std::min(figures[f].best, seconds_of(made, heads, threads, measures));
    }
  }
  for (const Figure& figure : figures) {
    fmt::print(
        "{{\"figure\": \"{}\", \"simd\": \"{}\", \"threads\": {}, \"length\": {}, \"seconds\": "
        "{:.4f}, \"ns_per_score\": {:.3f}, \"roof_s\": {:.4f}, \"of_roof\": {:.3f}, "
        "\"to_entropy_set\": {:.2f}}}\n",
        figure.name, simd_level(), threads, length, figure.best, figure.best / scores * 1e9, roof,
        roof / figure.best, figure.best / figures[0].best);
  }
}

}  // namespace
}  // namespace headgauge

int main(int argc, char** argv) {
  const int heads = argc > 1 ? std::atoi(argv[1]) : 144;
  const auto threads = headgauge::parse_list(argc > 2 ? argv[2] : "1,2");
  const auto lengths = headgauge::parse_list(argc > 3 ? argv[3] : "1024,4096");
  for (int length : lengths) {
    // A quarter of the heads is enough at lengths that cost sixteen times as much.
    const int some = length > 1024 ? std::max(1, heads / 4) : heads;
    for (int count : threads) headgauge::run(some, count, length);
  }
}
