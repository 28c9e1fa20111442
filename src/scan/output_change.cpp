#include "scan/output_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/parallel.hpp"
#include "heads/scores.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {
namespace {

class OutputChange final : public Measure {
 public:
  OutputChange(std::vector<const Exchanges*> exchanges, const std::string& dimension,
               const SourceInfo& source, int slots)
      : exchanges_(std::move(exchanges)),
        heads_(source.heads),
        work_(static_cast<std::size_t>(slots)) {
    MetricInfo info;
    info.name = "output_change";
    info.group = "counterfactual";
    info.dims = {dimension};
    info.unit = "1";
    info.formula = "||o' - o|| / ||o||, o' from the same q, k, v under the other rule";
    info.source = "docs/mathematics.md 7a";
    info.meaning = "how much the head's output would change";
    metrics_.push_back(std::move(info));
  }

  const std::vector<MetricInfo>& metrics() const override { return metrics_; }
  MeasureNeeds needs() const override { return {.weights = true}; }
  Index dim_size(std::string_view) const override {
    return static_cast<Index>(exchanges_.size()) + 1;
  }
  std::size_t bytes(const SourceInfo& source, Index longest) const override {
    const auto tile = static_cast<std::size_t>(kRows * longest);
    const auto packed = static_cast<std::size_t>(3 * longest * source.head_dim);
    return sizeof(float) * (packed + work_.size() * tile);
  }

  void begin_head(const HeadInput& head, ThreadPool&) override {
    rivals_.clear();
    const auto at = static_cast<std::size_t>(head.layer * heads_ + head.head);
    bool unit = false;
    for (const Exchanges* exchanges : exchanges_) {
      HeadInput rival = head;
      const Exchange& exchange = (*exchanges)[at];
      if (exchange.changes()) exchange.apply(rival);
      unit = unit || takes_unit_norms(rival);
      rivals_.push_back(std::move(rival));
    }
    const std::array<int, 4> of{head.layer, head.document, head.kv_head, unit ? 1 : 0};
    if (of == packed_of_) return;
    packed_of_ = of;
    values_.assign_rows(head.values);
    if (unit) {
      const auto cosine = std::ranges::find_if(
          rivals_, [](const HeadInput& rival) { return takes_unit_norms(rival); });
      pack_keys(*cosine, cosine->keys, unit_keys_);
    }
  }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    Work& work = work_[static_cast<std::size_t>(slot)];
    const auto rows = static_cast<Index>(block.rows.size());
    Index keys = 0;
    for (const Row& row : block.rows) keys = std::max(keys, row.keys.end);
    const auto size = static_cast<std::size_t>(rows * keys);
    if (work.weights.size() < size) work.weights.resize(size);
    const MatrixView<float> weights(work.weights.data(), rows, keys);
    const Index d = block.head->values.cols();
    if (work.output.rows() < rows || work.output.cols() != d) {
      work.output = work.rival_output = Matrix<float>(std::max(rows, kRows), d);
    }
    for (Index r = 0; r < rows; ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      std::ranges::copy(row.weights, visible(weights, row, r).begin());
    }
    gemm(weights, values_, work.output.view().block(0, rows, 0, d));
    for (Index r = 0; r < rows; ++r) {
      if (length_of(work.output.row(r)) > 0) sink.set(r, 0, 0.0);
    }
    for (std::size_t k = 0; k < rivals_.size(); ++k) {
      const HeadInput& rival = rivals_[k];
      if (rival.rule == block.head->rule) continue;
      if (takes_unit_norms(rival)) {
        for (Index r = 0; r < rows; ++r)
          score(rival, block.rows[static_cast<std::size_t>(r)], weights, r);
      }
      for (Index r = 0; r < rows; ++r) {
        const Row& row = block.rows[static_cast<std::size_t>(r)];
        const auto out = visible(weights, row, r);
        if (takes_unit_norms(rival)) {
          rival.rule->weigh(out, {row.n(), row.query}, out);
        } else {
          rival.rule->weigh(row.logits, {row.n(), row.query}, out);
        }
      }
      const MatrixView<float> output = work.rival_output.view().block(0, rows, 0, d);
      gemm(weights, values_, output);
      for (Index r = 0; r < rows; ++r) {
        const double length = length_of(work.output.row(r));
        if (length == 0) continue;
        double square = 0;
        for (Index i = 0; i < d; ++i) {
          const double difference = static_cast<double>(output(r, i)) - work.output(r, i);
          square += difference * difference;
        }
        sink.set(r, static_cast<Index>(k) + 1, std::sqrt(square) / length);
      }
    }
  }

 private:
  static constexpr Index kRows = 64;
  struct Work {
    AlignedVector<float> weights;  // rows x keys
    Matrix<float> output, rival_output;
  };

  // The entries of the keys that a row sees; what lies outside becomes 0.
  static std::span<float> visible(MatrixView<float> weights, const Row& row, Index r) {
    const auto all = weights.row(r);
    std::fill(all.begin(), all.begin() + row.keys.begin, 0.0f);
    std::fill(all.begin() + row.keys.end, all.end(), 0.0f);
    return all.subspan(static_cast<std::size_t>(row.keys.begin),
                       static_cast<std::size_t>(row.keys.size()));
  }

  void score(const HeadInput& rival, const Row& row, MatrixView<float> logits, Index r) const {
    const auto query = rival.queries.block(row.query, 1, 0, rival.queries.cols());
    gemm(query, unit_keys_, logits.block(r, 1, 0, logits.cols()), {.col_end = row.keys.end});
    divide_by_query(rival, query.row(0), visible(logits, row, r));
  }

  static double length_of(std::span<const float> row) {
    double square = 0;
    for (const float x : row) square += static_cast<double>(x) * x;
    return std::sqrt(square);
  }

  std::vector<const Exchanges*> exchanges_;
  int heads_;
  std::vector<MetricInfo> metrics_;
  std::vector<HeadInput> rivals_;                 // of the present head
  std::array<int, 4> packed_of_{-1, -1, -1, -1};  // layer, document, kv_head, unit_keys_ too
  PackedMatrix values_, unit_keys_;
  std::vector<Work> work_;
};

}  // namespace

std::unique_ptr<Measure> make_output_change(std::vector<const Exchanges*> exchanges,
                                            const std::string& dimension, const SourceInfo& source,
                                            int slots) {
  return std::make_unique<OutputChange>(std::move(exchanges), dimension, source, slots);
}

}  // namespace headgauge
