// Runs the selection measure on heads made up by a test, row block by row block, and keeps the
// values of every row: a small stand-in for the engine.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.hpp"
#include "headgauge/measure.hpp"
#include "heads/masked_row.hpp"
#include "kernels/top.hpp"
#include "measures/selection_measure.hpp"

namespace headgauge {

// One head of a text: its logits and the vectors x, which it owns.
struct MadeHead {
  Matrix<float> logits;               // L x L; only the visible part is looked at
  Matrix<float> rows;                 // distinct vectors
  std::vector<std::uint32_t> row_of;  // empty: every position has its own
  Visibility visibility = Visibility::causal();
  int layer = 0, head = 0, document = 0;
  std::uint64_t key = 0;

  Index length() const { return logits.rows(); }
  Vectors x() const {
    Vectors vectors;
    vectors.rows = rows;
    vectors.row_of = row_of;
    vectors.key = key;
    return vectors;
  }
  HeadInput input() const {
    HeadInput head_input;
    head_input.layer = layer;
    head_input.head = head;
    head_input.document = document;
    head_input.scores = logits;
    head_input.x = x();
    head_input.visibility = visibility;
    return head_input;
  }
};

// Values of every row of a head, by metric: rows x the metric's own dimension, NaN if not set.
using RowValues = std::map<std::string, Matrix<double>, std::less<>>;

// Under a rule that keeps the order of the logits.
class SelectionDriver {
 public:
  SelectionDriver(const MeasureOptions& options, SelectionGroups groups, int threads = 1,
                  std::size_t gram_limit = kGramLimit, std::string_view rule = "softmax")
      : pool_(threads), normalizer_(make_normalizer(rule)) {
    measure_ = make_selection_measure(options, SourceInfo{}, groups, threads, gram_limit);
  }

  RowValues run(const MadeHead& made, Index block_rows = 64) {
    const HeadInput head = made.input();
    measure_->begin_head(head, pool_);
    Index cells = 0;
    for (const MetricInfo& metric : measure_->metrics()) {
      if (metric.kind != MetricKind::derived) cells += measure_->dim_size(metric.dims.front());
    }
    const Index length = made.length();
    Matrix<double> all(length, cells);
    for (Index r = 0; r < length; ++r) std::ranges::fill(all.row(r), kUndefined);
    const Index blocks = (length + block_rows - 1) / block_rows;
    pool_.for_each_slot(blocks, [&](Index b, int slot) {
      observe(head, b * block_rows, std::min(length, (b + 1) * block_rows), slot, all);
    });
    RowValues values;
    Index first = 0;
    for (const MetricInfo& metric : measure_->metrics()) {
      if (metric.kind == MetricKind::derived) continue;
      const Index count = measure_->dim_size(metric.dims.front());
      Matrix<double> part(length, count);
      for (Index r = 0; r < length; ++r) {
        for (Index c = 0; c < count; ++c) part(r, c) = all(r, first + c);
      }
      values[metric.name] = std::move(part);
      first += count;
    }
    return values;
  }

  Measure& measure() { return *measure_; }
  ThreadPool& pool() { return pool_; }

 private:
  void observe(const HeadInput& head, Index begin, Index end, int slot, Matrix<double>& all) {
    const Index length = head.length();
    const Index rows = end - begin;
    Matrix<float> logits(rows, length), weights(rows, length);
    std::vector<std::vector<std::uint32_t>> tops(static_cast<std::size_t>(rows));
    std::vector<std::vector<std::uint32_t>> positions(static_cast<std::size_t>(rows));
    std::vector<Row> block_rows(static_cast<std::size_t>(rows));
    TopWorkspace select;
    for (Index r = 0; r < rows; ++r) {
      Row& row = block_rows[static_cast<std::size_t>(r)];
      row.query = begin + r;
      const KeyRange range = head.visibility.range(row.query, length);
      const auto seen = head.scores.row(row.query).subspan(static_cast<std::size_t>(range.begin),
                                                           static_cast<std::size_t>(range.size()));
      const KeptKeys kept =
          select_keys(head, row.query, range, seen, positions[static_cast<std::size_t>(r)]);
      row.keys = kept.keys;
      row.positions = kept.positions;
      const auto n = static_cast<std::size_t>(row.n());
      const auto first = static_cast<std::size_t>(row.keys.begin);
      for (Index i = 0; i < row.n(); ++i) {
        logits.row(r)[first + static_cast<std::size_t>(i)] = head.scores(row.query, row.key(i));
      }
      row.logits = logits.row(r).subspan(first, n);
      const auto out = weights.row(r).subspan(first, n);
      row.sums = normalizer_->weigh(row.logits, RowContext{row.n(), row.query}, out);
      row.weights = out;
      auto& top = tops[static_cast<std::size_t>(r)];
      top.resize(static_cast<std::size_t>(std::min<Index>(row.n(), measure_->needs().top)));
      select_top(row.logits, measure_->needs().top, top, select);
      row.top = top;
    }
    RowBlock block{&head, normalizer_.get(), block_rows, {}};
    RowSink sink(all.view().block(begin, rows, 0, all.cols()), 0);
    measure_->observe(block, slot, sink);
  }

  ThreadPool pool_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<Measure> measure_;
};

}  // namespace headgauge
