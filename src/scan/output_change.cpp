#include "scan/output_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "heads/batch_means.hpp"
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
  OutputChange(std::vector<const HeadInterventions*> interventions, const std::string& dimension,
               const SourceInfo& source, int slots, std::uint64_t seed)
      : heads_under_(std::move(interventions)),
        heads_(source.heads),
        seed_(seed),
        work_(static_cast<std::size_t>(slots)) {
    metrics_.push_back(metric("output_change", dimension,
                              "||o' - o|| / ||o||, o' from the same q, k, v under the intervention",
                              "how far the head's output moves"));
    if (dimension != "pattern") return;
    metrics_.push_back(metric("kept_mass", dimension,
                              "sum over the kept keys of p_j, p = a / sum a",
                              "share of the weight that lies on the keys that are left"));
    metrics_.push_back(metric("entropy_deficit", dimension, "log n - entropy",
                              "how far the weights are from equal ones"));
    metrics_.push_back(metric("entropy_deficit_random", dimension,
                              "log n - entropy of the original's weights on n keys drawn at random",
                              "what as many keys would give that were not chosen"));
  }

  const std::vector<MetricInfo>& metrics() const override { return metrics_; }
  MeasureNeeds needs() const override { return {.weights = true}; }
  Index dim_size(std::string_view) const override { return interventions() + 1; }
  std::size_t bytes(const SourceInfo& source, Index longest) const override {
    const auto tile = static_cast<std::size_t>(kBlockRows * longest);
    const auto packed = static_cast<std::size_t>(3 * longest * source.head_dim);
    return sizeof(float) * (packed + work_.size() * tile);
  }

  void begin_head(const HeadInput& head, ThreadPool&) override {
    interventions_.clear();
    const auto at = static_cast<std::size_t>(head.layer * heads_ + head.head);
    bool unit = false;
    for (const HeadInterventions* interventions : heads_under_) {
      const HeadIntervention& of_head = (*interventions)[at];
      Intervention intervention{of_head.changes(), head};
      if (intervention.changes) of_head.apply(intervention.head);
      unit = unit || takes_unit_norms(intervention.head);
      interventions_.push_back(std::move(intervention));
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
      work.output = work.changed_output = Matrix<float>(std::max(rows, kBlockRows), d);
    }
    const MatrixView<float> output = work.output.view().block(0, rows, 0, d);
    for (Index r = 0; r < rows; ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      std::ranges::copy(row.weights, visible(weights, row, r).begin());
    }
    gemm(weights, values_, output);
    std::array<double, kBlockRows> lengths{};
    for (Index r = 0; r < rows; ++r) {
      lengths[static_cast<std::size_t>(r)] = length_of(output.row(r));
      if (lengths[static_cast<std::size_t>(r)] > 0) sink.set(r, 0, 0.0);
      if (metrics_.size() > 1) {
        const Row& row = block.rows[static_cast<std::size_t>(r)];
        sink.set(r, interventions() + 1, 1.0);
        const double own = std::log(static_cast<double>(row.n())) - row.sums.entropy;
        sink.set(r, 2 * (interventions() + 1), own);
        sink.set(r, 3 * (interventions() + 1), own);
      }
    }
    for (Index k = 0; k < interventions(); ++k) {
      if (!interventions_[static_cast<std::size_t>(k)].changes) continue;
      weigh(block, k, weights, work, sink);
      const MatrixView<float> changed = work.changed_output.view().block(0, rows, 0, d);
      gemm(weights, values_, changed);
      for (Index r = 0; r < rows; ++r) {
        const double length = lengths[static_cast<std::size_t>(r)];
        if (length > 0) sink.set(r, k + 1, distance(changed.row(r), output.row(r)) / length);
      }
    }
  }

 private:
  struct Intervention {
    bool changes = false;
    HeadInput head;
  };
  struct Work {
    AlignedVector<float> weights;  // rows x keys
    Matrix<float> output, changed_output;
    RangeWorkspace range;
    std::vector<float> drawn;
  };

  Index interventions() const { return static_cast<Index>(heads_under_.size()); }

  // The weights of the block's rows under intervention `k`, and the mass that it keeps.
  void weigh(const RowBlock& block, Index k, MatrixView<float> weights, Work& work,
             RowSink& sink) const {
    const HeadInput& intervention = interventions_[static_cast<std::size_t>(k)].head;
    const bool unit = takes_unit_norms(intervention);
    for (Index r = 0; r < weights.rows(); ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      const auto out = visible(weights, row, r);
      if (unit) {
        const auto query = intervention.queries.block(row.query, 1, 0, intervention.queries.cols());
        gemm(query, unit_keys_, weights.block(r, 1, 0, weights.cols()),
             {.col_begin = row.keys.begin, .col_end = row.keys.end});
        divide_by_length(query.row(0), out);
        soft_cap(out, intervention.softcap);
      } else {
        std::ranges::copy(row.logits, out.begin());
      }
      weigh_range(intervention, row.query, row.keys, out, work.range);
      if (metrics_.size() > 1) {
        sink.set(r, interventions() + 1 + k + 1, kept_mass(row, work.range.positions));
        const std::size_t kept = work.range.positions.size();
        sink.set(r, 2 * (interventions() + 1) + k + 1, deficit(out, kept));
        sink.set(r, 3 * (interventions() + 1) + k + 1,
                 random_deficit(*block.head, row, kept, work.drawn));
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

  // log n - H of a row of weights of which n can be other than 0.
  static double deficit(std::span<const float> weights, std::size_t n) {
    double mass = 0, logs = 0;
    for (const float weight : weights) {
      const double a = std::abs(static_cast<double>(weight));
      mass += a;
      if (a > 0) logs += a * std::log(a);
    }
    if (mass == 0) return kUndefined;
    return std::log(static_cast<double>(n)) - (std::log(mass) - logs / mass);
  }

  // The same of `kept` keys of the row, drawn at random without replacement: the same first ones
  // for every intervention.
  double random_deficit(const HeadInput& head, const Row& row, std::size_t kept,
                        std::vector<float>& drawn) const {
    drawn.assign(row.weights.begin(), row.weights.end());
    const RandomStream random(seed_, RandomDomain::random_keys,
                              static_cast<std::uint32_t>(head.layer * 65536 + head.head),
                              static_cast<std::uint32_t>(row.query + (Index{head.document} << 20)));
    std::array<std::uint32_t, 4> words{};
    for (std::size_t i = 0; i < kept; ++i) {
      if (i % 4 == 0) words = random.block(static_cast<std::uint32_t>(i / 4));
      std::swap(drawn[i], drawn[i + words[i % 4] % (drawn.size() - i)]);
    }
    return deficit(std::span(drawn).first(kept), kept);
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

  std::vector<const HeadInterventions*> heads_under_;
  int heads_;
  std::uint64_t seed_;
  std::vector<MetricInfo> metrics_;
  std::vector<Intervention> interventions_;       // of the present head
  std::array<int, 4> packed_of_{-1, -1, -1, -1};  // layer, document, kv_head, unit_keys_ too
  PackedMatrix values_, unit_keys_;
  std::vector<Work> work_;
};

}  // namespace

std::unique_ptr<Measure> make_output_change(std::vector<const HeadInterventions*> interventions,
                                            const std::string& dimension, const SourceInfo& source,
                                            int slots, std::uint64_t seed) {
  return std::make_unique<OutputChange>(std::move(interventions), dimension, source, slots, seed);
}

}  // namespace headgauge
