// Cost of the distance, separability and coverage groups on the heads of a GPT-2-small-shaped
// layer: time for each score, on 1 thread, with and without critical N. Scoring, softmax and top-N
// selection are not counted.
//
// Arguments: length, distinct vectors (0: all different), dimension.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/top.hpp"
#include "measures/selection_measure.hpp"
#include "scan/statistics.hpp"

namespace headgauge {
namespace {

// One head with everything that a measure is given, made once.
class PreparedHead {
 public:
  PreparedHead(Index length, Index distinct, Index dimension, int top) : length_(length) {
    const Index rows = distinct > 0 ? distinct : length;
    x_ = Matrix<float>(rows, dimension);
    fill(x_, 1, 1.0);
    for (Index j = 0; j < length; ++j) {
      // Frequent tokens come up more often, as in a text.
      const double u =
          RandomStream(7, RandomDomain::phantom, 0, static_cast<std::uint32_t>(j)).uniforms(0)[0];
      row_of_.push_back(static_cast<std::uint32_t>(
          distinct > 0 ? std::min<Index>(rows - 1, static_cast<Index>(rows * u * u * u)) : j));
    }
    // Logits as a head makes them: rows look at much the same keys.
    Matrix<float> queries(length, 16), keys(length, 16);
    fill(queries, 2, 0.6);
    fill(keys, 3, 0.6);
    logits_ = Matrix<float>(length, length);
    weights_ = Matrix<float>(length, length);
    const auto softmax = make_normalizer("softmax");
    TopWorkspace select;
    for (Index q = 0; q < length; ++q) {
      for (Index j = 0; j <= q; ++j) {
        float sum = 0;
        for (Index d = 0; d < 16; ++d) sum += queries(q, d) * keys(j, d);
        logits_(q, j) = sum;
      }
      Row row;
      row.query = q;
      row.keys = {0, q + 1};
      const auto n = static_cast<std::size_t>(q + 1);
      row.logits = std::as_const(logits_).row(q).first(n);
      row.sums = softmax->weigh(row.logits, RowContext{q + 1, q}, weights_.row(q).first(n));
      row.weights = std::as_const(weights_).row(q).first(n);
      auto& ranks = tops_.emplace_back(std::min<std::size_t>(n, static_cast<std::size_t>(top)));
      select_top(row.logits, top, ranks, select);
      row.top = ranks;
      rows_.push_back(row);
    }
    for (std::size_t q = 0; q < rows_.size(); ++q) rows_[q].top = tops_[q];
  }

  HeadInput input() const {
    HeadInput head;
    head.scores = logits_;
    head.x.rows = x_;
    head.x.row_of = row_of_;
    head.x.key = 1;
    return head;
  }
  std::span<const Row> rows() const { return rows_; }
  double scores() const { return 0.5 * static_cast<double>(length_) * (length_ + 1.0); }

 private:
  static void fill(Matrix<float>& m, std::uint32_t stream, double scale) {
    std::vector<double> z(static_cast<std::size_t>(m.cols()));
    for (Index r = 0; r < m.rows(); ++r) {
      RandomStream(3, RandomDomain::phantom, stream, static_cast<std::uint32_t>(r)).normals(z);
      for (Index c = 0; c < m.cols(); ++c) {
        m(r, c) = static_cast<float>(scale * z[static_cast<std::size_t>(c)]);
      }
    }
  }

  Index length_;
  Matrix<float> x_, logits_, weights_;
  std::vector<std::uint32_t> row_of_;
  std::vector<std::vector<std::uint32_t>> tops_;
  std::vector<Row> rows_;
};

void run(benchmark::State& state, SelectionGroups groups, int critical_max) {
  const Index length = state.range(0);
  MeasureOptions options;
  options.critical_max = critical_max;
  options.lengths = {static_cast<int>(length)};
  ThreadPool pool(1);
  std::vector<std::unique_ptr<Measure>> measures;
  measures.push_back(make_selection_measure(options, SourceInfo{}, groups, 1));
  const CellLayout layout(measures);
  Measure& measure = *measures.front();
  const PreparedHead prepared(length, state.range(1), state.range(2), measure.needs().top);
  const HeadInput head = prepared.input();
  const auto softmax = make_normalizer("softmax");
  Matrix<double> values(kBlockRows, layout.cells()), stand_for(kBlockRows, layout.cells());
  measure.begin_head(head, pool);
  for (auto _ : state) {
    for (Index first = 0; first < length; first += kBlockRows) {
      const Index count = std::min(kBlockRows, length - first);
      const RowBlock block{&head, softmax.get(), prepared.rows().subspan(first, count)};
      RowSink sink(values, stand_for);
      measure.observe(block, 0, sink);
    }
  }
  state.counters["ns_per_score"] =
      benchmark::Counter(prepared.scores() * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                                                       benchmark::Counter::kInvert);
}

void distance_and_separability(benchmark::State& state) {
  run(state, {true, true, false}, 0);
}
void distance_alone(benchmark::State& state) {
  run(state, {true, false, false}, 0);
}
void separability_alone(benchmark::State& state) {
  run(state, {false, true, false}, 0);
}
void with_critical(benchmark::State& state) {
  run(state, {true, true, false}, 128);
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({1024, 450, 768})->Args({1024, 0, 768})->Unit(benchmark::kMillisecond);
}
BENCHMARK(distance_and_separability)->Apply(shapes)->Args({4096, 1500, 768})->Args({4096, 0, 768});
BENCHMARK(distance_alone)->Apply(shapes);
BENCHMARK(separability_alone)->Apply(shapes);
BENCHMARK(with_critical)->Apply(shapes);

}  // namespace
}  // namespace headgauge

BENCHMARK_MAIN();
