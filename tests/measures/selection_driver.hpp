// Runs the selection measure on heads made up by a test, row block by row block, and keeps the
// values of every row: a small stand-in for the scan.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/parallel.hpp"
#include "heads/masked_row.hpp"
#include "kernels/top.hpp"
#include "measures/pass_part.hpp"
#include "measures/row_values.hpp"
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

// Under a normalizer that keeps the order of the logits.
class SelectionDriver {
 public:
  SelectionDriver(const MeasureOptions& options, SelectionGroups groups, int threads = 1,
                  std::size_t gram_limit = kGramLimit, std::string_view normalizer = "softmax")
      : lengths_(options.lengths),
        pool_(threads),
        normalizer_(make_normalizer(normalizer)),
        measures_(
            list_of(make_selection_measure(options, SourceInfo{}, groups, threads, gram_limit))),
        layout_(measures_) {}

  RowValues run(const MadeHead& made, Index block_rows = 64) {
    const HeadInput head = made.input();
    measure().begin_head(head, pool_);
    const Index length = made.length();
    Matrix<double> all = undefined_cells(length, layout_);
    const Index blocks = (length + block_rows - 1) / block_rows;
    pool_.for_each_slot(blocks, [&](Index b, int slot) {
      observe(head, b * block_rows, std::min(length, (b + 1) * block_rows), slot, all);
    });
    measure().end_head(head, Means(lengths_, all));
    return by_metric(all, layout_);
  }

  // The heads of a document were run.
  void end_document(int document) { pass_part(measure(), document, pool_); }

  Measure& measure() { return *measures_.front(); }
  // The metric that a handle of the measure is of.
  const std::string& name_of(MetricHandle metric) const {
    return layout_.ranges()[layout_.range_of(metric)].metric.name;
  }
  ThreadPool& pool() { return pool_; }

 private:
  class Means final : public HeadMeans {
   public:
    Means(const std::vector<int>& lengths, const Matrix<double>& rows)
        : lengths_(lengths), rows_(rows) {}
    double at(MetricHandle metric, Index length, Index inner) const override {
      const Index end = lengths_[length];
      if (!metric || rows_.rows() < end) return kUndefined;
      double sum = 0, count = 0;
      for (Index r = 0; r < end; ++r) {
        const double value = rows_(r, metric.first + inner);
        if (std::isnan(value)) continue;
        sum += value;
        ++count;
      }
      return count > 0 ? sum / count : kUndefined;
    }

   private:
    const std::vector<int>& lengths_;
    const Matrix<double>& rows_;
  };

  void observe(const HeadInput& head, Index begin, Index end, int slot, Matrix<double>& all) {
    const Index length = head.length();
    const Index rows = end - begin;
    const int wanted = measure().needs().top;
    Matrix<float> logits(rows, length), weights(rows, length);
    std::vector<std::vector<std::uint32_t>> tops(rows), positions(rows);
    std::vector<Row> block_rows(rows);
    TopWorkspace select;
    for (Index r = 0; r < rows; ++r) {
      Row& row = block_rows[r];
      row.query = begin + r;
      const KeyRange range = head.visibility.range(row.query, length);
      const auto seen = head.scores.row(row.query).subspan(range.begin, range.size());
      const KeptKeys kept = select_keys(head, row.query, range, seen, positions[r]);
      row.keys = kept.keys;
      row.positions = kept.positions;
      for (Index i = 0; i < row.n(); ++i) {
        logits(r, row.keys.begin + i) = head.scores(row.query, row.key(i));
      }
      row.logits = logits.row(r).subspan(row.keys.begin, row.n());
      const auto out = weights.row(r).subspan(row.keys.begin, row.n());
      row.sums = normalizer_->weigh(row.logits, RowContext{row.n(), row.query}, out);
      row.weights = out;
      auto& top = tops[r];
      top.resize(std::min<Index>(row.n(), wanted));
      select_top(row.logits, wanted, top, select);
      row.top = top;
    }
    const RowBlock block{&head, normalizer_.get(), block_rows};
    Matrix<double> stand_for(rows, all.cols());
    RowSink sink(all.view().block(begin, rows, 0, all.cols()), stand_for);
    measure().observe(block, slot, sink);
  }

  std::vector<int> lengths_;
  ThreadPool pool_;
  std::unique_ptr<Normalizer> normalizer_;
  std::vector<std::unique_ptr<Measure>> measures_;
  CellLayout layout_;
};

}  // namespace headgauge
