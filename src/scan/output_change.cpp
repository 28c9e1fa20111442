#include "scan/output_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/parallel.hpp"
#include "heads/masked_row.hpp"
#include "heads/scores.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {
namespace {

MetricInfo metric(const char* name, const std::string& dimension, const char* formula,
                  const char* meaning) {
  MetricInfo info;
  info.name = name;
  info.group = "counterfactual";
  info.dims = {dimension};
  info.unit = std::string("1");
  info.formula = formula;
  info.source = "docs/mathematics.md 7a";
  info.meaning = meaning;
  return info;
}

class OutputChange final : public Measure {
 public:
  OutputChange(std::vector<const Exchanges*> exchanges, const std::string& dimension,
               const SourceInfo& source, int slots)
      : exchanges_(std::move(exchanges)),
        heads_(source.heads),
        work_(static_cast<std::size_t>(slots)) {
    metrics_.push_back(metric("output_change", dimension,
                              "||o' - o|| / ||o||, o' from the same q, k, v under the rival",
                              "how far the head's output moves"));
    if (dimension != "pattern") return;
    metrics_.push_back(metric("kept_mass", dimension,
                              "sum over the kept keys of p_j, p = a / sum a",
                              "share of the weight that lies on the keys that are left"));
  }

  const std::vector<MetricInfo>& metrics() const override { return metrics_; }
  MeasureNeeds needs() const override { return {.weights = true}; }
  Index dim_size(std::string_view) const override { return rivals() + 1; }
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
      const Exchange& exchange = (*exchanges)[at];
      Rival rival{exchange.changes(), head};
      if (rival.changes) exchange.apply(rival.head);
      unit = unit || takes_unit_norms(rival.head);
      rivals_.push_back(std::move(rival));
    }
    const std::array<int, 4> of{head.layer, head.document, head.kv_head, unit ? 1 : 0};
    if (of == packed_of_) return;
    packed_of_ = of;
    values_.assign_rows(head.values);
    if (unit) pack_keys(head.keys, head.scale, true, unit_keys_);
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
    const MatrixView<float> output = work.output.view().block(0, rows, 0, d);
    for (Index r = 0; r < rows; ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      std::ranges::copy(row.weights, visible(weights, row, r).begin());
    }
    gemm(weights, values_, output);
    for (Index r = 0; r < rows; ++r) {
      if (length_of(output.row(r)) > 0) sink.set(r, 0, 0.0);
      if (metrics_.size() > 1) sink.set(r, rivals() + 1, 1.0);
    }
    for (Index k = 0; k < rivals(); ++k) {
      if (!rivals_[static_cast<std::size_t>(k)].changes) continue;
      weigh(block, k, weights, work, sink);
      const MatrixView<float> changed = work.rival_output.view().block(0, rows, 0, d);
      gemm(weights, values_, changed);
      for (Index r = 0; r < rows; ++r) {
        const double length = length_of(output.row(r));
        if (length > 0) sink.set(r, k + 1, distance(changed.row(r), output.row(r)) / length);
      }
    }
  }

 private:
  static constexpr Index kRows = 64;
  struct Rival {
    bool changes = false;
    HeadInput head;
  };
  struct Work {
    AlignedVector<float> weights;  // rows x keys
    Matrix<float> output, rival_output;
    RangeWorkspace range;
  };

  Index rivals() const { return static_cast<Index>(exchanges_.size()); }

  // The weights of the block's rows under rival `k`, and the mass that it keeps.
  void weigh(const RowBlock& block, Index k, MatrixView<float> weights, Work& work,
             RowSink& sink) const {
    const HeadInput& rival = rivals_[static_cast<std::size_t>(k)].head;
    const bool unit = takes_unit_norms(rival);
    for (Index r = 0; r < weights.rows(); ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      const auto out = visible(weights, row, r);
      if (unit) {
        const auto query = rival.queries.block(row.query, 1, 0, rival.queries.cols());
        gemm(query, unit_keys_, weights.block(r, 1, 0, weights.cols()),
             {.col_begin = row.keys.begin, .col_end = row.keys.end});
        divide_by_length(query.row(0), out);
      } else {
        std::ranges::copy(row.logits, out.begin());
      }
      weigh_range(rival, row.query, row.keys, out, work.range);
      if (metrics_.size() > 1) {
        sink.set(r, rivals() + 1 + k + 1, kept_mass(row, work.range.positions));
      }
    }
  }

  // The entries of the keys that a row sees; what lies outside becomes 0.
  static std::span<float> visible(MatrixView<float> weights, const Row& row, Index r) {
    const auto all = weights.row(r);
    std::fill(all.begin(), all.begin() + row.keys.begin, 0.0f);
    std::fill(all.begin() + row.keys.end, all.end(), 0.0f);
    return all.subspan(static_cast<std::size_t>(row.keys.begin),
                       static_cast<std::size_t>(row.keys.size()));
  }

  static double kept_mass(const Row& row, std::span<const std::uint32_t> kept) {
    double mass = 0;
    for (const std::uint32_t key : kept) {
      mass += std::abs(
          row.weights[static_cast<std::size_t>(key) - static_cast<std::size_t>(row.keys.begin)]);
    }
    return mass / row.sums.abs_mass;
  }

  static double length_of(std::span<const float> row) {
    double square = 0;
    for (const float x : row) square += static_cast<double>(x) * x;
    return std::sqrt(square);
  }
  static double distance(std::span<const float> a, std::span<const float> b) {
    double square = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double difference = static_cast<double>(a[i]) - b[i];
      square += difference * difference;
    }
    return std::sqrt(square);
  }

  std::vector<const Exchanges*> exchanges_;
  int heads_;
  std::vector<MetricInfo> metrics_;
  std::vector<Rival> rivals_;                     // of the present head
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
