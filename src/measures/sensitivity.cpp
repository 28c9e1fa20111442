#include "measures/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "headgauge/results.hpp"
#include "kernels/ridge.hpp"
#include "kernels/sensitivity.hpp"
#include "kernels/sensitivity_direction.hpp"

namespace headgauge {
namespace {

const std::vector<MetricInfo>& sensitivity_metrics() {
  static const std::vector<MetricInfo> all = [] {
    const auto metric = [](std::string name, MetricKind kind, std::vector<std::string> dims,
                           std::string formula, std::string source, std::string meaning) {
      MetricInfo info;
      info.name = std::move(name);
      info.group = "sensitivity";
      info.kind = kind;
      info.dims = std::move(dims);
      info.unit = std::string("1");  // assigning the literal trips a false warning of GCC 12
      info.formula = std::move(formula);
      info.source = std::move(source);
      info.meaning = std::move(meaning);
      return info;
    };
    const std::vector<std::string> grid = {"temperature", "epsilon"};
    const std::vector<std::string> heads = {"layer", "head", "temperature", "epsilon"};
    using enum MetricKind;
    return std::vector<MetricInfo>{
        metric("sensitivity", row_longest, grid,
               "g = ||w((l + eps v)/T) - w(l/T)||_2 / eps, |v|_2 = 1, rows n >= 2",
               "paper A, Algorithm 5; docs/mathematics.md D4.2",
               "how strongly the weights answer to a step of size eps at temperature T"),
        metric("sensitivity_top2", row_longest, {},
               "g at T = 1, eps = 1e-3, v = (e_1 - e_2)/sqrt 2 on the two largest logits",
               "docs/mathematics.md D4.2",
               "the same where it matters most: between the two best keys"),
        metric("jacobian_frobenius", row_mean, {}, "||J||_F = sqrt(Q2 - 2 Q3 + Q2^2), Qk = sum a^k",
               "paper A, Corollary 3; docs/mathematics.md C3",
               "size of the whole gradient of a row"),
        metric("jacobian_spectral", row_mean, {},
               "||J||_2: root of sum a_i/(a_i - lam) = 0 between the two largest weights",
               "docs/mathematics.md D4.1, 7a",
               "the largest change of the weights per unit change of the logits"),
        metric("jacobian_bound", row_mean, {},
               "G min{1/2, 2 max a_i(1 - a_i), max a_i, max a_i sqrt(n) ||a||}",
               "docs/mathematics.md L2v", "valid upper bound on jacobian_spectral"),
        metric("jacobian_bound_paper", row_mean, {}, "max|F'| (1/S + sqrt(n) ||F||_2 / S^2)",
               "paper A, Lemma 2; docs/mathematics.md L2", "the printed bound, as reconstructed"),
        metric("sensitivity_bound", derived, heads, "min{1/(2T), sqrt 2 / eps}",
               "docs/mathematics.md C-7", "valid upper bound on sensitivity"),
        metric("sensitivity_bound_paper", derived, heads, "min{1/(4T), sqrt 2}",
               "paper A, Corollary 3", "the printed bound; does not hold"),
        metric("sensitivity_max", derived, grid, "max over heads of sensitivity",
               "paper A, Algorithm 5", "the most sensitive head at each temperature"),
    };
  }();
  return all;
}

// Far beyond anything of use, and within what float32 can hold.
void require_in_range(const char* option, std::span<const double> values) {
  for (double value : values) {
    if (value >= 1e-9 && value <= 1e9) continue;
    throw UsageError(
        fault(option, "numbers from 1e-9 to 1e9", fmt::format("{}", value), "correct the list"));
  }
}

// The step of sensitivity_top2, at temperature 1.
constexpr double kTop2Epsilon = 1e-3;

// g of a softmax row in direction (e_1 - e_2)/sqrt 2, from its sums alone: with v_1 taken off v,
// e = 0, expm1(-sqrt 2 eps) and, for all other keys, expm1(-eps/sqrt 2); a' - a = a (e - D)/(1 +
// D).
double top2_gain(const Row& row, double epsilon) {
  const WeightSums& sums = row.sums;
  const double first = sums.max, second = two_largest(row.weights).second;
  // The first is one of max_count; the second may be another.
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
        direction_(options.direction),
        seed_(options.seed),
        sampled_(options.sampled_sensitivity),
        work_(static_cast<std::size_t>(slots)) {
    if (temperatures_.empty()) {
      for (int i = 0; i < 31; ++i) temperatures_.push_back(std::pow(10.0, -2 + 0.1 * i));
    }
    require_in_range("MeasureOptions::temperatures", temperatures_);
    require_in_range("MeasureOptions::epsilons", epsilons_);
  }

  const std::vector<MetricInfo>& metrics() const override { return sensitivity_metrics(); }
  MeasureNeeds needs() const override { return {.weights = true}; }
  Index dim_size(std::string_view dim) const override {
    if (dim == "temperature") return static_cast<Index>(temperatures_.size());
    if (dim == "epsilon") return static_cast<Index>(epsilons_.size());
    return 1;
  }

  std::size_t bytes(const SourceInfo&, Index longest) const override {
    return work_.size() * static_cast<std::size_t>(longest) * kBytesPerKey;
  }

  void observe(const RowBlock& block, int slot, RowSink& sink) override {
    Workspace& work = work_[static_cast<std::size_t>(slot)];
    const Normalizer& rule = *block.normalizer;
    Envelope& envelope = work.envelopes[{block.head->layer, block.head->head}];
    envelope.simplex = rule.traits().simplex;
    const auto cells = static_cast<Index>(temperatures_.size() * epsilons_.size());
    work.gains.resize(static_cast<std::size_t>(cells));
    for (Index r = 0; r < static_cast<Index>(block.rows.size()); ++r) {
      const Row& row = block.rows[static_cast<std::size_t>(r)];
      const RowContext context{row.n(), row.query};
      const std::optional<double> scale = rule.softmax_scale(context);
      envelope.lipschitz = std::max(envelope.lipschitz, rule.lipschitz(context));
      const bool sampled = sampled_ || !scale;
      if (sampled) work.sampled = true;
      if (sampled && row.query % kSampledRow != kSampledRow - 1) continue;
      // Cells in the order of metrics().
      const auto norms = rule.jacobian_norms(row.logits, row.weights, row.sums, context);
      sink.set(r, cells + 1, norms.frobenius);
      sink.set(r, cells + 2, norms.spectral);
      sink.set(r, cells + 3, norms.bound);
      sink.set(r, cells + 4, norms.bound_paper);
      if (row.n() < 2) continue;
      const bool softmax = scale.has_value() && *scale > 0;
      const bool plain = softmax && *scale == 1;
      work.direction.resize(row.logits.size());
      if (!plain || direction_ == MeasureOptions::Direction::top2) {
        top2_direction(row.logits, work.direction);
      }
      double top2 = 0;
      if (plain) {
        top2 = top2_gain(row, kTop2Epsilon);
      } else {
        rule_sensitivity(rule, context, row.logits, work.direction, std::array{1.0},
                         std::array{kTop2Epsilon}, {&top2, 1});
      }
      sink.set(r, cells, top2);
      if (direction_ == MeasureOptions::Direction::random) {
        const HeadInput& head = *block.head;
        random_direction(seed_, static_cast<std::uint32_t>(head.layer * 65536 + head.head),
                         static_cast<std::uint32_t>(row.query + (Index{head.document} << 20)),
                         work.direction);
      }
      if (softmax) {
        // softmax(c (l + eps v)/T) is softmax at temperature T/c.
        work.temperatures = temperatures_;
        for (double& t : work.temperatures) t /= *scale;
        softmax_sensitivity(row.logits, work.direction, work.temperatures, epsilons_, work.kernel,
                            work.gains);
      } else {
        rule_sensitivity(rule, context, row.logits, work.direction, temperatures_, epsilons_,
                         work.gains);
      }
      for (Index c = 0; c < cells; ++c) sink.set(r, c, work.gains[static_cast<std::size_t>(c)]);
    }
  }

  void derive(std::span<const LayerStatistics* const>, Results& results) override {
    if (std::ranges::any_of(work_, &Workspace::sampled)) {
      results.notices.push_back(
          "sensitivity and the norms of the Jacobian are those of every 16th row");
    }
    const MetricArray& mean = *results.metric("sensitivity");
    MetricArray& bound = results.add_metric("sensitivity_bound", mean.dims, "1");
    MetricArray& paper = results.add_metric("sensitivity_bound_paper", mean.dims, "1");
    MetricArray& largest = results.add_metric("sensitivity_max", {"temperature", "epsilon"}, "1");
    const std::size_t cells = temperatures_.size() * epsilons_.size();
    const auto layers = results.coord_numbers("layer"), heads = results.coord_numbers("head");
    for (std::size_t i = 0; i < mean.values.size(); ++i) {
      if (std::isnan(mean.values[i])) continue;  // head not measured
      const std::size_t head = i / cells;
      const Envelope envelope = envelope_of(static_cast<int>(layers[head / heads.size()]),
                                            static_cast<int>(heads[head % heads.size()]));
      const double t = temperatures_[i % cells / epsilons_.size()];
      const double eps = epsilons_[i % epsilons_.size()];
      bound.values[i] = envelope.at(t, eps);
      paper.values[i] = std::min(1 / (4 * t), std::numbers::sqrt2);
      // fmax takes the other where one is undefined.
      largest.values[i % cells] = std::fmax(largest.values[i % cells], mean.values[i]);
    }
  }

 private:
  // What bounds the sensitivity of a head, from its rows.
  struct Envelope {
    double lipschitz = 0;  // the largest
    bool simplex = true;
    // min{sup||J||, diameter/eps}: two points of the simplex are at most sqrt 2 apart (math C-7).
    double at(double t, double eps) const {
      const double slope = lipschitz / t;
      const double bound = simplex ? std::min(slope, std::numbers::sqrt2 / eps) : slope;
      return std::isfinite(bound) ? bound : kUndefined;
    }
  };
  struct Workspace {
    SensitivityWorkspace kernel;
    std::vector<double> direction, gains, temperatures;
    std::map<std::pair<int, int>, Envelope> envelopes;  // by layer and head
    bool sampled = false;
  };
  static constexpr std::size_t kBytesPerKey = 64;
  // Rules without a kernel of their own, all but softmax(c l), are measured in float64, on every
  // 16th row.
  static constexpr Index kSampledRow = 16;

  Envelope envelope_of(int layer, int head) const {
    Envelope all;
    for (const Workspace& work : work_) {
      const auto found = work.envelopes.find({layer, head});
      if (found == work.envelopes.end()) continue;
      all.lipschitz = std::max(all.lipschitz, found->second.lipschitz);
      all.simplex = all.simplex && found->second.simplex;
    }
    return all;
  }

  std::vector<double> temperatures_, epsilons_;
  MeasureOptions::Direction direction_;
  std::uint64_t seed_;
  bool sampled_;
  std::vector<Workspace> work_;
};

}  // namespace

std::unique_ptr<Measure> make_sensitivity_measure(const MeasureOptions& options, int slots) {
  return std::make_unique<SensitivityMeasure>(options, slots);
}

void rule_sensitivity(const Normalizer& rule, const RowContext& context,
                      std::span<const float> logits, std::span<const double> v,
                      std::span<const double> temperatures, std::span<const double> epsilons,
                      std::span<double> gains) {
  std::vector<double> scaled(logits.size()), base(logits.size()), moved(logits.size());
  const auto weigh_at = [&](double step, double temperature, std::span<double> out) {
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      scaled[i] = (logits[i] + step * v[i]) / temperature;
    }
    rule.weigh(scaled, context, out);
  };
  std::size_t at = 0;
  for (double temperature : temperatures) {
    weigh_at(0.0, temperature, base);
    for (double epsilon : epsilons) {
      weigh_at(epsilon, temperature, moved);
      double square = 0;
      for (std::size_t i = 0; i < base.size(); ++i) {
        square += (moved[i] - base[i]) * (moved[i] - base[i]);
      }
      gains[at++] = std::sqrt(square) / epsilon;
    }
  }
}

}  // namespace headgauge
