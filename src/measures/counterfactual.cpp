#include "measures/counterfactual.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "heads/batch_means.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {
namespace {

// Cells in the order of metrics().
enum Cell : Index { kKeptMass, kOutputChange };

const std::vector<MetricInfo>& counterfactual_metrics() {
  static const std::vector<MetricInfo> all = [] {
    const auto metric = [](std::string name, std::string formula, std::string meaning) {
      MetricInfo info;
      info.name = std::move(name);
      info.group = "counterfactual";
      info.unit = std::string("1");
      info.formula = std::move(formula);
      info.source = "docs/patterns.md";
      info.meaning = std::move(meaning);
      return info;
    };
    return std::vector<MetricInfo>{
        metric("kept_mass", "sum over the kept keys of p_j, p = |a| / sum |a| without the pattern",
               "only with --pattern: share of the weight that lies on the keys it keeps"),
        metric("output_change",
               "||o' - o|| / ||o||, o = sum a_j v_j without the pattern and o' with it",
               "only with --pattern: how far the head's output moves; rows with o = 0 left out"),
    };
  }();
  return all;
}

double length(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

double kept_mass(const Row& row) {
  double all = 0, kept = 0;
  for (const float w : row.unmasked) all += std::abs(static_cast<double>(w));
  for (Index i = 0; i < row.n(); ++i) {
    const Index at = row.key(i) - row.unmasked_keys.begin;
    kept += std::abs(static_cast<double>(row.unmasked[static_cast<std::size_t>(at)]));
  }
  return all > 0 ? kept / all : kUndefined;
}

class CounterfactualMeasure final : public Measure {
 public:
  explicit CounterfactualMeasure(int slots) : work_(static_cast<std::size_t>(slots)) {}

  const std::vector<MetricInfo>& metrics() const override { return counterfactual_metrics(); }
  MeasureNeeds needs() const override { return {.weights = true, .unmasked = true}; }
  Index dim_size(std::string_view) const override { return 1; }

  std::size_t bytes(const SourceInfo& source, Index longest) const override {
    const Index tile = 2 * kBlockRows * (longest + source.head_dim);
    const Index values = longest * (source.head_dim + PackedMatrix::kPanel);
    return sizeof(float) *
           (work_.size() * static_cast<std::size_t>(tile) + static_cast<std::size_t>(values));
  }

  void begin_head(const HeadInput& head, ThreadPool&) override {
    if (head.values.empty()) return;
    // Heads that share values follow one another; one seen again may come with others.
    const std::array<int, 3> values_of{head.layer, head.document, head.kv_head};
    if (values_of != packed_of_ || head.head <= last_head_) values_.assign_rows(head.values);
    packed_of_ = values_of;
    last_head_ = head.head;
  }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    const HeadInput& head = *block.head;
    if (head.visibility.mask() == nullptr) return;
    for (std::size_t r = 0; r < block.rows.size(); ++r) {
      sink.set(static_cast<Index>(r), kKeptMass, kept_mass(block.rows[r]));
    }
    if (!head.values.empty()) measure_change(block, work_[static_cast<std::size_t>(slot)], sink);
  }

 private:
  struct Workspace {
    std::vector<float> weights;  // a, and a' - a in the rows after
    std::vector<float> outputs;  // their products with the values
  };

  void measure_change(const RowBlock& block, Workspace& work, RowSink& sink) const {
    const auto rows = static_cast<Index>(block.rows.size());
    Index begin = block.rows.front().unmasked_keys.begin, end = 0;
    for (const Row& row : block.rows) {
      begin = std::min(begin, row.unmasked_keys.begin);
      end = std::max(end, row.unmasked_keys.end);
    }
    const Index keys = end - begin, d = values_.cols();
    work.weights.assign(static_cast<std::size_t>(2 * rows * keys), 0.0f);
    work.outputs.resize(static_cast<std::size_t>(2 * rows * d));
    const MatrixView<float> weights(work.weights.data(), 2 * rows, keys);
    const MatrixView<float> outputs(work.outputs.data(), 2 * rows, d);
    for (Index r = 0; r < rows; ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      const auto before = weights.row(r), change = weights.row(rows + r);
      const Index first = row.unmasked_keys.begin - begin;
      std::ranges::copy(row.unmasked, before.begin() + first);
      std::ranges::transform(row.unmasked, change.begin() + first, [](float w) { return -w; });
      for (Index i = 0; i < row.n(); ++i) {
        change[static_cast<std::size_t>(row.key(i) - begin)] +=
            row.weights[static_cast<std::size_t>(i)];
      }
    }
    gemm(weights, values_, outputs, {.b_row = begin});
    for (Index r = 0; r < rows; ++r) {
      const double before = length(outputs.row(r));
      if (before > 0) sink.set(r, kOutputChange, length(outputs.row(rows + r)) / before);
    }
  }

  std::array<int, 3> packed_of_{-1, -1, -1};  // layer, document and kv_head of values_
  int last_head_ = -1;
  PackedMatrix values_;
  std::vector<Workspace> work_;
};

}  // namespace

std::unique_ptr<Measure> make_counterfactual_measure(int slots) {
  return std::make_unique<CounterfactualMeasure>(slots);
}

}  // namespace headgauge
