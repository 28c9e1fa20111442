#include "measures/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "headgauge/metric_names.hpp"
#include "headgauge/results.hpp"
#include "kernels/ridge.hpp"
#include "kernels/sensitivity.hpp"
#include "kernels/sensitivity_direction.hpp"

namespace headgauge {
namespace {

// The limits are far above any useful value and within float32.
void require_in_range(const char* option, std::span<const double> values) {
  for (double value : values) {
    if (value >= 1e-9 && value <= 1e9) continue;
    throw UsageError(
        fault(option, "numbers from 1e-9 to 1e9", fmt::format("{}", value), "correct the list"));
  }
}

// The step of sensitivity_top2, at temperature 1.
constexpr double kTop2Epsilon = 1e-3;

// Computes g of a softmax row in direction (e_1 - e_2)/sqrt 2 from its sums only. With v_1
// subtracted from v, e = 0, expm1(-sqrt 2 eps) and, for all other keys, expm1(-eps/sqrt 2); a' - a
// = a (e - D)/(1 + D).
double top2_gain(const Row& row, double epsilon) {
  const WeightSums& sums = row.sums;
  const double first = sums.max, second = two_largest(row.weights).second;
  // The first key is one of max_count; the second may be another of them.
  const auto ties = static_cast<double>(sums.max_count - 1);
  const double rest = std::max(0.0, sums.rest_mass + ties * first - second);
  const double squares = std::max(0.0, sums.rest_square + ties * first * first - second * second);
  const double of_second = std::expm1(-std::numbers::sqrt2 * epsilon);
  const double of_rest = std::expm1(-epsilon / std::numbers::sqrt2);
  const double d = second * of_second + rest * of_rest;
  const double square = first * first * d * d +
                        second * second * (of_second - d) * (of_second - d) +
                        squares * (of_rest - d) * (of_rest - d);
  return std::sqrt(square) / ((1 + d) * epsilon);
}

class SensitivityMeasure final : public Measure {
 public:
  SensitivityMeasure(const MeasureOptions& options, int slots)
      : temperatures_(options.temperatures),
        epsilons_(options.epsilons),
        seed_(options.seed),
        sampled_(options.sampled_sensitivity),
        work_(slots) {
    if (temperatures_.empty()) {
      for (int i = 0; i < 31; ++i) temperatures_.push_back(std::pow(10.0, -2 + 0.1 * i));
    }
    require_in_range("MeasureOptions::temperatures", temperatures_);
    require_in_range("MeasureOptions::epsilons", epsilons_);
  }

  void declare(MetricRegistry& metrics) override {
    metrics.coord("temperature", temperatures_);
    metrics.coord("epsilon", epsilons_);
    sensitivity_ = metrics.add(metric::sensitivity);
    sensitivity_top2_ = metrics.add(metric::sensitivity_top2);
    frobenius_ = metrics.add(metric::jacobian_frobenius);
    spectral_ = metrics.add(metric::jacobian_spectral);
    bound_ = metrics.add(metric::jacobian_bound);
    bound_paper_ = metrics.add(metric::jacobian_bound_paper);
    for (const char* derived :
         {metric::sensitivity_bound, metric::sensitivity_bound_paper, metric::sensitivity_max}) {
      metrics.add(derived);
    }
  }

  MeasureNeeds needs() const override { return {.weights = true}; }

  std::size_t bytes(const SourceInfo&, Index longest) const override {
    return work_.size() * longest * kBytesPerKey;
  }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    Workspace& work = work_[slot];
    const Normalizer& normalizer = *block.normalizer;
    Envelope& envelope = work.envelopes[{block.head->layer, block.head->head}];
    envelope.simplex = normalizer.traits().simplex;
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      const RowContext context{row.n(), row.query};
      envelope.lipschitz = std::max(envelope.lipschitz, normalizer.lipschitz(context));
      const auto norms = normalizer.jacobian_norms(row.logits, row.weights, row.sums, context);
      sink.set(r, frobenius_, norms.frobenius);
      sink.set(r, spectral_, norms.spectral);
      sink.set(r, bound_, norms.bound);
      sink.set(r, bound_paper_, norms.bound_paper);
      const std::optional<double> scale = normalizer.softmax_scale(context);
      const bool every = (scale && !sampled_) || row.n() <= kShortRow;
      if (!every) work.sampled = true;
      const Index stands_for = every ? 1 : drawn(row, *block.head);
      if (stands_for == 0 || row.n() < 2) continue;
      take_steps(block, r, scale, work);
      const auto rows = static_cast<double>(stands_for);
      sink.set(r, sensitivity_top2_, 0, work.top2, rows);
      for (Index c = 0; c < sensitivity_.count; ++c) {
        sink.set(r, sensitivity_, c, work.gains[c], rows);
      }
    }
  }

  void write_part(int, ThreadPool&, ByteWriter& part) override {
    Envelopes present;
    bool sampled = false;
    for (Workspace& work : work_) {
      for (const auto& [head, envelope] : work.envelopes) present[head].add(envelope);
      sampled = sampled || work.sampled;
      work.envelopes.clear();
      work.sampled = false;
    }
    part.put(sampled);
    part.put(static_cast<std::uint64_t>(present.size()));
    for (const auto& [head, envelope] : present) {
      part.put(head.first);
      part.put(head.second);
      part.put(envelope.lipschitz);
      part.put(envelope.simplex);
    }
  }
  void read_part(int, ByteReader& part) override {
    is_sampled_ = part.take<bool>() || is_sampled_;
    for (auto left = part.take<std::uint64_t>(); left > 0; --left) {
      const auto layer = part.take<int>();
      const auto head = part.take<int>();
      const auto lipschitz = part.take<double>();
      envelopes_[{layer, head}].add({lipschitz, part.take<bool>()});
    }
  }

  void derive(std::span<const LayerStatistics* const>, Results& results) override {
    if (is_sampled_) {
      results.notices.push_back(
          fmt::format("in rows of more than {} keys, sensitivity and sensitivity_top2 are measured "
                      "on one random row of each 16 neighbouring rows, which represents all 16",
                      kShortRow));
    }
    const LabelledArray& mean = *results.metric(metric::sensitivity);
    LabelledArray& bound = results.add_metric(metric::sensitivity_bound, mean.dim_names(), "1");
    LabelledArray& paper =
        results.add_metric(metric::sensitivity_bound_paper, mean.dim_names(), "1");
    LabelledArray& largest =
        results.add_metric(metric::sensitivity_max, {"temperature", "epsilon"}, "1");
    const auto layers = results.coord_numbers("layer"), heads = results.coord_numbers("head");
    mean.each([&](std::span<const Index> cell, std::size_t at) {
      if (std::isnan(mean.values[at])) return;  // the head was not measured
      const Envelope& envelope =
          envelopes_[{static_cast<int>(layers[cell[0]]), static_cast<int>(heads[cell[1]])}];
      const double t = temperatures_[cell[2]];
      bound.values[at] = envelope.at(t, epsilons_[cell[3]]);
      paper.values[at] = std::min(1 / (4 * t), std::numbers::sqrt2);
      // fmax returns the other argument if one is undefined.
      double& most = largest({cell[2], cell[3]});
      most = std::fmax(most, mean.values[at]);
    });
  }

 private:
  // Bounds of the sensitivity of a head, from its rows.
  struct Envelope {
    double lipschitz = 0;  // the largest over the rows
    bool simplex = true;
    void add(const Envelope& other) {
      lipschitz = std::max(lipschitz, other.lipschitz);
      simplex = other.simplex && simplex;
    }
    // min{sup||J||, diameter/eps}: two points of the simplex are at most sqrt 2 apart
    // (docs/mathematics.md C-7).
    double at(double t, double eps) const {
      const double slope = lipschitz / t;
      const double bound = simplex ? std::min(slope, std::numbers::sqrt2 / eps) : slope;
      return std::isfinite(bound) ? bound : kUndefined;
    }
  };
  using Envelopes = std::map<std::pair<int, int>, Envelope>;  // by layer and head
  struct Workspace {
    SensitivityWorkspace kernel;
    std::vector<double> direction, gains, temperatures;
    double top2 = 0;
    Envelopes envelopes;  // of the present document
    bool sampled = false;
  };
  static constexpr std::size_t kBytesPerKey = 64;
  // Normalizers other than softmax(c l) have no kernel for the steps, which are then taken in
  // float64. All rows with so few keys together cost less than the rows drawn from the longer ones.
  static constexpr Index kShortRow = 128;

  // Each head has its own draws, which are the same under all normalizers.
  Index drawn(const Row& row, const HeadInput& head) const {
    const auto document = Index{head.document} << 20;
    return drawn_for(row.group, {seed_, RandomDomain::drawn_rows,
                                 static_cast<std::uint32_t>(head.layer * 65536 + head.head),
                                 static_cast<std::uint32_t>(row.group.first + document)});
  }

  // Computes the gains of a row of at least two keys.
  void take_steps(const RowBlock& block, Index r, std::optional<double> scale,
                  Workspace& work) const {
    const Normalizer& normalizer = *block.normalizer;
    const HeadInput& head = *block.head;
    const Row& row = block.rows[r];
    const RowContext context{row.n(), row.query};
    const bool softmax = scale.has_value() && *scale > 0;
    const bool plain = softmax && *scale == 1;
    work.gains.resize(sensitivity_.count);
    work.direction.resize(row.logits.size());
    if (plain) {
      work.top2 = top2_gain(row, kTop2Epsilon);
    } else {
      top2_direction(row.logits, work.direction);
      normalizer_sensitivity(normalizer, context, row.logits, work.direction, std::array{1.0},
                             std::array{kTop2Epsilon}, {&work.top2, 1});
    }
    random_direction(seed_, static_cast<std::uint32_t>(head.layer * 65536 + head.head),
                     static_cast<std::uint32_t>(row.query + (Index{head.document} << 20)),
                     work.direction);
    if (softmax) {
      // softmax(c (l + eps v)/T) is softmax at temperature T/c.
      work.temperatures = temperatures_;
      for (double& t : work.temperatures) t /= *scale;
      softmax_sensitivity(row.logits, work.direction, work.temperatures, epsilons_, work.kernel,
                          work.gains);
    } else {
      normalizer_sensitivity(normalizer, context, row.logits, work.direction, temperatures_,
                             epsilons_, work.gains);
    }
  }

  MetricHandle sensitivity_, sensitivity_top2_, frobenius_, spectral_, bound_, bound_paper_;
  std::vector<double> temperatures_, epsilons_;
  std::uint64_t seed_;
  bool sampled_;
  std::vector<Workspace> work_;
  Envelopes envelopes_;  // of all documents
  bool is_sampled_ = false;
};

}  // namespace

std::unique_ptr<Measure> make_sensitivity_measure(const MeasureOptions& options, int slots) {
  return std::make_unique<SensitivityMeasure>(options, slots);
}

void normalizer_sensitivity(const Normalizer& normalizer, const RowContext& context,
                            std::span<const float> logits, std::span<const double> v,
                            std::span<const double> temperatures, std::span<const double> epsilons,
                            std::span<double> gains) {
  const std::size_t n = logits.size(), per = 1 + epsilons.size();  // rows of one temperature
  const std::size_t together = normalizer.traits().in_blocks ? temperatures.size() : 1;
  std::vector<double> scaled(together * per * n), weights(together * per * n);
  std::vector<ExactRow> rows;
  for (std::size_t first = 0; first < temperatures.size(); first += together) {
    rows.clear();
    for (std::size_t k = 0; k < together * per; ++k) {
      const double step = k % per == 0 ? 0.0 : epsilons[k % per - 1];
      const auto row = std::span(scaled).subspan(k * n, n);
      for (std::size_t i = 0; i < n; ++i) {
        row[i] = (logits[i] + step * v[i]) / temperatures[first + k / per];
      }
      rows.push_back({row, context, std::span(weights).subspan(k * n, n)});
    }
    normalizer.weigh_rows(rows);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (k % per == 0) continue;
      const auto base = rows[k - k % per].weights, moved = rows[k].weights;
      double square = 0;
      for (std::size_t i = 0; i < n; ++i) square += (moved[i] - base[i]) * (moved[i] - base[i]);
      const std::size_t at = (first + k / per) * epsilons.size() + k % per - 1;
      gains[at] = std::sqrt(square) / epsilons[k % per - 1];
    }
  }
}

}  // namespace headgauge
